/* The subject of a page: a server with its tools, from the catalogue or from a scan. */
#pragma once

#include "risk/catalogue.h"
#include "risk/survey.h"

struct subject_tool {
    struct slice name;
    enum risk_class cls;
    uint8_t confidence; /* percent */
    bool review, mismatch, destructive_hint, poisoned;
    uint32_t tags, tokens, properties;
    uint32_t findings; /* bit 1 << detector */
    struct slice freeform;
    struct slice evidence[RISK_EVIDENCE_MAX]; /* "name:delete" */
    size_t evidence_count;
    uint64_t full;            /* 0: not known */
    struct slice description; /* only from a scan; the catalogue has none */
    uint32_t node;            /* of a scan */
};

struct subject {
    struct slice title, name, version;
    bool published; /* the catalogue contains it: the members below are set */
    struct risk_published known;
    size_t server;               /* its index in the catalogue */
    const struct tape *t;        /* of a scan; NULL */
    const struct slice *command; /* from a scan: its command; NULL when unknown */
    size_t command_count;
    struct slice url; /* from a scan: its URL; may be empty */
    struct subject_tool *tools;
    size_t count;
    size_t by_class[RISK_CLASSES];
    uint64_t tokens;
};

/* One version of a published server. Memory comes from the arena. */
void subject_from_catalogue(size_t server, struct arena *a, struct subject *ret_subject);
/* The survey and its tape must outlive the subject. The caller may set how the server is reached. */
void subject_from_survey(const struct risk_survey *s, struct arena *a, struct subject *ret_subject);
size_t subject_changing(const struct subject *s); /* number of tools that do more than read */
enum risk_severity subject_risk(const struct subject *s);
/* "server:npm/NAME", "tool:npm/NAME#TOOL"; empty for a scan. */
struct slice subject_target(const struct subject *s, struct arena *a);
struct slice subject_tool_target(const struct risk_known *known, struct arena *a);
/* A policy for all tools, or for the one at `only` (SIZE_MAX: all). */
void subject_policy(const struct subject *s, size_t only, enum risk_dialect dialect, struct arena *a,
                    struct buf *out);
/* Servers that share most of their tools' names with it; returns their number. */
size_t subject_similar(const struct subject *s, struct arena *a, size_t *ret_servers, size_t max);
/* The server of that name: "npm/NAME", a name, a title or a repository. */
bool subject_find(struct slice name, size_t *ret_server);
