/* Instructions where only a description belongs. Twelve detectors, each a plain rule, over every string of a
 * definition (names of parameters, enums, defaults and titles included), over a server's instructions and
 * over results. A finding names the detector, the place and the text that set it off.
 *
 * Most of them also fire on honest servers now and then, so alone they only flag. What no honest definition
 * needs is denied by default: invisible or control characters, a name that is not plain, a pseudo tag or a
 * sensitive path together with an instruction to the model. */
#pragma once

#include "base/map.h"
#include "risk/classify.h"

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
    RISK_BAD_NAME,      /* d12: not [A-Za-z0-9_.-]{1,128} */
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

/* What a definition is compared with; all optional. */
struct risk_neighbours {
    const struct map
        *skeletons;           /* skeleton of a name -> the name (const struct slice *), of all known tools */
    const struct map *others; /* names of other servers' tools -> anything */
};

const char *risk_detector_id(enum risk_detector d);   /* "d1" ... */
const char *risk_detector_name(enum risk_detector d); /* "invisible" ... */

/* One definition. Findings are added to those that are there. */
void risk_poison_tool(const struct risk_context *ctx, const struct risk_neighbours *near,
                      const struct tape *t, uint32_t tool, struct arena *a, struct risk_findings *f);
/* Any JSON value, every string in it: a result, a prompt. `where` names it. */
void risk_poison_value(const struct risk_context *ctx, const struct risk_neighbours *near,
                       const struct tape *t, uint32_t node, const char *where, struct arena *a,
                       struct risk_findings *f);
/* Calls `each` for every string below the node, names of members included (`key`), with the place where it
 * stands. Members in `skip` (NULL-terminated, or NULL) are left out. */
void risk_strings_each(
    const struct tape *t, uint32_t node, const char *where, const char *const *skip, struct arena *a,
    void (*each)(void *ctx, uint32_t node, bool key, struct slice text, struct slice where), void *ctx);
/* A result of a call: only what no honest result needs (d1 to d5), and nothing inside `data` and `blob`,
 * which hold encoded bytes. */
void risk_poison_result(const struct tape *t, uint32_t node, struct arena *a, struct risk_findings *f);
/* One text: a server's instructions. */
void risk_poison_text(const struct risk_context *ctx, const struct risk_neighbours *near, struct slice text,
                      struct slice where, struct arena *a, struct risk_findings *f);
/* "d3 pseudo-tag in description: <important>": the first of those that count for a denial, else the first.
 * Empty without findings. In the arena. */
struct slice risk_findings_text(const struct risk_findings *f, struct arena *a);
/* Do the findings together deserve a denial without being asked? */
bool risk_findings_deny(const struct risk_findings *f);
/* Plain by d12's rule? */
bool risk_name_plain(struct slice name);
/* For struct risk_neighbours: adds the names of a tools array to a map of skeletons; the slices live in the
 * arena. A name that is there already stays with its first owner. */
void risk_skeletons_add(struct map *skeletons, const struct tape *t, uint32_t tools, struct arena *a);
