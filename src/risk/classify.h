/* Which class a tool belongs to, and why. Deterministic: the same definition gives the same class in every
 * build. Evidence is used in this order:
 *
 *   name          the verb of the name, without the words that all of the server's tools share
 *   description   the verb that opens the description, and verbs coordinated with it
 *   object        the object of the verb: money, media, a process, a report
 *   enum          the values of an operation parameter; the worst one counts
 *   parameter     code, command, sql
 *   context       what the server's other tools do: a browser, a till
 *   hint          the server's own annotations, which may raise a class and never lower it
 *
 * Without evidence the class is Write with a low confidence. */
#pragma once

#include "risk/class.h"
#include "risk/toolset.h"

struct risk_evidence {
    const char *kind;  /* "name", "description", "enum", ... */
    struct slice text; /* the word that decided; in the arena or static */
};

struct risk_report {
    enum risk_class cls;
    enum risk_severity severity;
    uint8_t confidence;    /* percent */
    bool review;           /* little or contradicting evidence: a person should review it */
    bool hint_mismatch;    /* readOnlyHint on a tool that does not only read */
    bool hint_destructive; /* destructiveHint of the server; many servers set it for every update, so it does
                              not affect the class */
    uint32_t tags;         /* enum risk_tag bits */
    uint32_t properties;   /* of the input schema */
    struct slice freeform; /* the property that takes code, a command or a statement; empty without one */
    struct risk_evidence evidence[RISK_EVIDENCE_MAX];
    size_t evidence_count;
};

/* `tool` is one element of the array of a tools/list result; a value that is not an object counts as a tool
 * without a name. */
void risk_classify(const struct risk_toolset *ctx, const struct tape *t, uint32_t tool, struct arena *a,
                   struct risk_report *ret_report);
