/* The lock file: the definitions of each server's tools when they were last accepted.
 *
 * sallyport.lock is JSON, canonical and indented, so that a review tool shows a changed description as a
 * changed line:
 *
 *   {"servers": {"files": {"command": ["npx", ...], "package": "...", "version": "...", "executable":
 * "sha256:...", "tools": {"read_file": {"class": "Read", "fingerprint": "sha256:...", "definition":
 * {...}}}, "skills": {"skill://pdf/SKILL.md": {"fingerprint": "sha256:...", "definition": {...}}}}},
 * "version": 1}
 *
 * The definition of a skill is its entry in skills/list, which has a digest of each of its files.
 *
 * How a gate uses it. Once per server, and again after every notifications/tools/list_changed:
 *
 *   risk_lock_load(text, &lock, err)                          at start; the text comes from a file
 *   risk_lock_knows(lock, server)                             no: first use, trusted or asked about by
 * setting
 *   risk_lock_check(lock, RISK_PIN_TOOL, server, t, tool, arena, &v)   for each tool of a tools/list result.
 * RISK_PIN_OK: serve; NEW, CHANGED: hide, and deny calls with v.reason
 *   risk_lock_accept(lock, &who, &lists, NULL, arena, &out, err)   the new text of the file, to be written by
 * the caller (write beside it, rename)
 *
 * A call's tool must be checked against the definition that is served at that moment, so a changed mind is
 * caught at the call after the change; and because the file outlives the process, across restarts. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "risk/fingerprint.h"

#define RISK_LOCK_NAME "sallyport.lock" /* its default name */

enum risk_pin_kind { RISK_PIN_TOOL, RISK_PIN_SKILL };
#define RISK_PIN_KINDS 2

enum risk_pin {
    RISK_PIN_OK,
    RISK_PIN_NEW,     /* the server is known, the tool or skill is not */
    RISK_PIN_CHANGED, /* the definition changed */
    RISK_PIN_FAULT,   /* no usable definition */
};

struct risk_pin_verdict {
    enum risk_pin pin;
    struct slice reason; /* for people and for the denial; in the arena; empty when OK */
};

struct risk_lock; /* owns its text */

/* Other pinned facts about a server; empty slices and NULL are omitted. */
struct risk_server_facts {
    struct slice name;
    const struct slice *command; /* program and arguments */
    size_t command_count;
    struct slice package;
    struct slice version;
    struct slice executable; /* "sha256:..." of the program's file */
};

/* An empty text is a lock without servers. */
int risk_lock_load(struct slice text, struct risk_lock **ret_lock, struct err *err);
void risk_lock_free(struct risk_lock *lock); /* NULL is fine */
static inline void risk_lock_cleanup(struct risk_lock **lock) { risk_lock_free(*lock); }
#define cleanup_lock __attribute__((cleanup(risk_lock_cleanup)))

/* The lists of a server: arrays of one tape. */
struct risk_lists {
    const struct tape *t;
    uint32_t tools;
    uint32_t skills;  /* 0: not known; those of the lock stay */
    bool skills_some; /* incomplete: skills of the lock that are not listed stay */
};

bool risk_lock_knows(const struct risk_lock *lock, struct slice server);
/* "tool", "skill". */
const char *risk_pin_kind_name(enum risk_pin_kind kind);
/* The name of a tool, or the URI of a skill; the key in the lock. Empty when it has none. */
struct slice risk_pin_name(enum risk_pin_kind kind, const struct tape *t, uint32_t def, struct arena *a);
void risk_lock_check(const struct risk_lock *lock, enum risk_pin_kind kind, struct slice server,
                     const struct tape *t, uint32_t def, struct arena *a,
                     struct risk_pin_verdict *ret_verdict);
/* Does the content of a skill's file match the digest in the accepted entry? */
void risk_lock_check_file(const struct risk_lock *lock, struct slice server, struct slice uri,
                          struct slice bytes, struct arena *a, struct risk_pin_verdict *ret_verdict);
/* Is the server started with the pinned command, package and file? The reason names the difference. True
 * when nothing is pinned. */
bool risk_lock_same_start(const struct risk_lock *lock, const struct risk_server_facts *now, struct arena *a,
                          struct slice *ret_reason);
/* Calls `each` for every entry that differs from the accepted one: "new", "changed", "unreadable" or "gone",
 * with the lines that differ: "~ description: "old" -> "new"", "+ inputSchema.properties.bcc: ...". Entries
 * that are not in `lists` are gone, unless the list is incomplete. */
struct risk_difference {
    enum risk_pin_kind kind;
    const char *state;
    struct slice name, diff;
};
void risk_lock_compare(const struct risk_lock *lock, struct slice server, const struct risk_lists *lists,
                       struct arena *a, void (*each)(void *ctx, const struct risk_difference *difference),
                       void *ctx);
/* The text of a lock in which `who` has the entries of the lists. `only`: accept the tool or skill of that
 * name alone; NULL: accept all, and remove entries that are gone. */
int risk_lock_accept(const struct risk_lock *lock, const struct risk_server_facts *who,
                     const struct risk_lists *lists, const struct slice *only, struct arena *a,
                     struct buf *out, struct err *err);
/* Calls `each` for every pin, in order of the file, tools before skills. */
struct risk_pinned {
    enum risk_pin_kind kind;
    struct slice server, name, cls, fingerprint; /* a skill has no class */
    struct slice definition;                     /* JSON, borrowed from the lock; empty when it has none */
};
void risk_lock_each(const struct risk_lock *lock, struct arena *a,
                    void (*each)(void *ctx, const struct risk_pinned *pinned), void *ctx);
