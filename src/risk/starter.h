/* A policy to begin with, made from what the classifier says. Reads 60 a minute, writes 30, executions 10 and
 * only with their required arguments; what destroys or moves money is refused until somebody decides
 * otherwise; what is not listed is refused. */
#pragma once

#include "base/buf.h"
#include "risk/classify.h"

/* What a starter policy does, in two sentences for people. */
extern const char risk_starter_plan[];

enum risk_dialect { RISK_DIALECT_INTERCEPT, RISK_DIALECT_POLICYLAYER };

/* One classified tool. */
struct risk_entry {
    struct slice name;
    uint32_t node; /* of the tools array's tape */
    uint32_t tokens;
    struct risk_report report;
    bool refuse; /* its definition is poisoned: left out, so the default refuses it */
};

struct risk_starter {
    enum risk_dialect dialect;
    struct slice server; /* for the head line; may be empty */
    const struct tape *t;
    const struct risk_entry *entries;
    size_t count;
};

/* YAML with a comment for each tool, or JSON. Tools whose names are not plain are left out, and the default
 * refuses them; of two tools with one name the worse is written. False when `out` is full. */
bool risk_starter_write(const struct risk_starter *s, struct arena *a, struct buf *out);
/* For a server whose tools are not known: the same plan by class. The gate knows the class of each tool when
 * it lists them. */
void risk_starter_by_class(struct slice server, struct arena *a, struct buf *out);
