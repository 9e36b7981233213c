/* A starter policy from the classes of tools. Read tools get 60 calls a minute, Write 30, Execute 10 and
 * only with their required arguments. Destructive and Financial tools are refused until a person allows
 * them; tools that are not listed are refused. */
#pragma once

#include "base/buf.h"
#include "risk/classify.h"

/* Describes a starter policy in two sentences. */
extern const char risk_starter_plan[];

enum risk_dialect { RISK_DIALECT_INTERCEPT, RISK_DIALECT_POLICYLAYER };

/* One classified tool. */
struct risk_entry {
    struct slice name;
    uint32_t node; /* of the tools array's tape */
    uint32_t tokens;
    struct risk_report report;
    bool refuse; /* its definition is poisoned: it is omitted, so the default refuses it */
};

struct risk_starter {
    enum risk_dialect dialect;
    struct slice server; /* for the head line; may be empty */
    const struct tape *t;
    const struct risk_entry *entries;
    size_t count;
};

/* YAML with a comment for each tool, or JSON. Tools whose names are not plain are omitted, and the default
 * refuses them; of two tools with one name the worse is written. False when `out` is full. */
bool risk_starter_write(const struct risk_starter *s, struct arena *a, struct buf *out);
/* For a server whose tools are not known: the same plan by class. The gate classifies each tool when the
 * server lists it. */
void risk_starter_by_class(struct slice server, struct arena *a, struct buf *out);
