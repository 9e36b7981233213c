/* What the detectors of poisoned definitions report: which detector, where, and the text that set it off. */
#pragma once

#include "base/arena.h"
#include "risk/limits.h"

enum risk_detector {
    RISK_INVISIBLE = 1, /* d1: invisible, bidirectional, tag and misplaced variation code points */
    RISK_CONTROL,       /* d2: C0, C1, escape sequences */
    RISK_PSEUDO_TAG,    /* d3: <important>, </system>, comments, in prose */
    RISK_IMPERATIVE,    /* d4: "ignore previous instructions", "do not tell the user" */
    RISK_SENSITIVE,     /* d5: ~/.ssh, .env, mcp.json */
    RISK_OTHER_TOOL,    /* d6: a tool of another server is named */
    RISK_FOREIGN_HOST,  /* d7: an address that is not the server's own */
    RISK_BLOB,          /* d8: a long run of base64 or hex */
    RISK_LONG,          /* d9: much longer than it should be */
    RISK_EXFIL_PARAM,   /* d10: a required parameter that asks for the conversation */
    RISK_LOOKALIKE,     /* d11: looks like another tool's name, or is it */
    RISK_BAD_NAME,      /* d12: unreadable, or letters that pretend to be others */
};
#define RISK_DETECTORS 13

struct risk_finding {
    enum risk_detector detector;
    struct slice where; /* "inputSchema.properties.x.description"; in the arena */
    struct slice text;  /* printable, short; in the arena */
};

struct risk_findings {
    struct risk_finding
        items[RISK_FINDINGS_MAX]; /* the first of each detector and place; more are not kept */
    size_t count;
    uint32_t seen; /* bit 1 << detector */
};

const char *risk_detector_id(enum risk_detector d);   /* "d1" ... */
const char *risk_detector_name(enum risk_detector d); /* "invisible" ... */

/* Keeps the first finding of a detector at a place; the texts are copied into the arena. */
void risk_finding_add(struct risk_findings *f, enum risk_detector d, struct slice where, struct slice text,
                      struct arena *a);
/* "d3 pseudo-tag in description: <important>": the first of those that count for a denial, else the first.
 * Empty without findings. In the arena. */
struct slice risk_findings_text(const struct risk_findings *f, struct arena *a);
/* Do the findings together deserve a denial without being asked? */
bool risk_findings_deny(const struct risk_findings *f);
