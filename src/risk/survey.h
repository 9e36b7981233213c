/* All results of this room for one server's tools, in one pass: classes, findings, fingerprints, matches in
 * the catalogue and the lock. The writers below produce the formats that other programs read. */
#pragma once

#include "risk/catalogue.h"
#include "risk/lockfile.h"
#include "risk/lookalike.h"
#include "risk/poison.h"
#include "risk/starter.h"

struct risk_survey_input {
    const struct tape *t;
    uint32_t tools;                                      /* the array */
    uint32_t skills;                                     /* the same; 0: none are known */
    struct slice server, package, version, instructions; /* each may be empty */
    enum risk_registry registry;                         /* of the package */
    const struct risk_lock *lock;                        /* NULL: nothing is pinned */
    const struct map *others;                            /* names of other servers' tools; may be NULL */
};

struct risk_surveyed {
    struct risk_entry entry;
    struct risk_findings findings;
    struct risk_fingerprint print;
    bool printed;        /* the fingerprint is there */
    bool exact, similar; /* the catalogue knows the definition, or one of its shape */
    bool differs;        /* the catalogue has this package and version with another definition */
    struct risk_known known;
    struct risk_pin_verdict pin; /* OK without a lock, and for a server that is not in it */
};

struct risk_surveyed_skill {
    struct slice uri;
    struct risk_findings findings;
    struct risk_pin_verdict pin;
};

struct risk_survey {
    struct risk_survey_input in;
    struct risk_toolset context;
    struct risk_surveyed *tools;
    size_t count;
    struct risk_surveyed_skill *skills;
    size_t skill_count;
    size_t by_class[RISK_CLASSES];
    uint64_t tokens;
    struct risk_findings instructions;
    struct risk_lookalike impostor; /* the package that this one imitates */
    bool pinned;                    /* the server is in the lock */
    size_t drifted;                 /* tools and skills that are new, changed, or differ from the catalogue */
    size_t poisoned;                /* tools, skills (and instructions) that are denied by default */
};

/* Memory comes from the arena, which must outlive the survey, like the tape. */
void risk_survey_run(const struct risk_survey_input *in, struct arena *a, struct risk_survey *ret_survey);
/* An array of objects: tool, category, severity, confidence, evidence, tags, findings, tokens, fingerprint,
 * shape; of a skill: skill and findings. */
void risk_survey_json(const struct risk_survey *s, struct arena *a, struct buf *out);
/* SARIF 2.1.0, one run for all of them. `uri` names the file that was read. */
void risk_sarif_write(const struct risk_survey *const *surveys, size_t count, const char *version,
                      struct slice uri, struct arena *a, struct buf *out);
bool risk_survey_policy(const struct risk_survey *s, enum risk_dialect dialect, struct arena *a,
                        struct buf *out);
/* "name:delete". */
struct slice risk_evidence_text(const struct risk_evidence *e, struct arena *a);
