/* Findings of the detectors of poisoned definitions: the detector, the place, and the text that matched. */
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
    RISK_FOREIGN_HOST,  /* d7: a host that is not the server's own */
    RISK_BLOB,          /* d8: a long run of base64 or hex */
    RISK_LONG,          /* d9: much longer than usual */
    RISK_EXFIL_PARAM,   /* d10: a required parameter that asks for the conversation */
    RISK_LOOKALIKE,     /* d11: the name of another tool, or one that looks like it */
    RISK_BAD_NAME,      /* d12: not plain, or with look-alike letters */
};
#define RISK_DETECTORS 13

struct risk_finding {
    enum risk_detector detector;
    struct slice where; /* "inputSchema.properties.x.description"; in the arena */
    struct slice text;  /* printable, short; in the arena */
};

struct risk_findings {
    struct risk_finding
        items[RISK_FINDINGS_MAX]; /* the first finding of each detector and place; further ones are dropped */
    size_t count;
    uint32_t seen; /* bit 1 << detector */
};

const char *risk_detector_id(enum risk_detector d);   /* "d1" ... */
const char *risk_detector_name(enum risk_detector d); /* "invisible" ... */

/* Keeps the first finding of a detector at a place; copies the texts into the arena. */
void risk_finding_add(struct risk_findings *f, enum risk_detector d, struct slice where, struct slice text,
                      struct arena *a);
/* "d3 pseudo-tag in description: <important>": the first finding that causes a denial, else the first. Empty
 * without findings. In the arena. */
struct slice risk_findings_text(const struct risk_findings *f, struct arena *a);
/* Do the findings together cause a denial by default? */
bool risk_findings_deny(const struct risk_findings *f);
