/* The built-in code server among the servers of the settings. */
#pragma once

#include "base/buf.h"
#include "front/follow.h"

struct builtin;

struct gate_code {
    struct builtin *builtin; /* NULL: there is none */
    struct buf packages;     /* one per line */
};

/* Added under its own name, unless the settings turn it off. */
int gate_code_open(struct gate_code *code, struct follow *f, const struct settings *s, struct err *err);
/* A server of the settings has that name. */
int gate_code_taken(struct err *err);
void gate_code_close(struct gate_code *code); /* all zero is fine */
