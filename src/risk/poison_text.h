/* The detectors that examine one string. */
#pragma once

#include "base/map.h"
#include "risk/finding.h"
#include "risk/toolset.h"

/* Names that a definition is compared with; all optional. */
struct risk_neighbours {
    const struct map
        *skeletons;           /* skeleton of a name -> the name (const struct slice *), of all known tools */
    const struct map *others; /* names of other servers' tools -> anything */
};

/* Examines one text: a server's instructions. */
void risk_poison_text(const struct risk_toolset *ctx, const struct risk_neighbours *near, struct slice text,
                      struct slice where, struct arena *a, struct risk_findings *f);
/* Whether risk_detect_result could find anything in this JSON text. Fast: most results have nothing. */
bool risk_suspects_result(struct slice json);
/* Runs the detectors for results. */
void risk_detect_result(struct slice text, struct slice where, struct arena *a, struct risk_findings *f);
