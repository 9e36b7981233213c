/* Names of tools of several servers that are shown side by side: which of them are the same, or look it? */
#pragma once

#include "base/arena.h"
#include "base/map.h"

struct risk_named {
    struct slice server, tool;
};

struct risk_names {
    struct map by_skeleton; /* -> struct risk_named */
    struct arena arena;
};

void risk_names_init(struct risk_names *n);
void risk_names_free(struct risk_names *n);
/* NULL when the name is new here; else whose name it is or looks like, in upper or lower case and with
 * look-alike letters. The first owner keeps a name. */
const struct risk_named *risk_names_add(struct risk_names *n, struct slice server, struct slice tool);
