/* The lock file: what each server's tools looked like when somebody last said yes.
 *
 * sallyport.lock is JSON, canonical and indented, so that a review tool shows a changed description as a
 * changed line:
 *
 *   {"servers": {"files": {"command": ["npx", ...], "package": "...", "version": "...", "executable":
 * "sha256:...", "tools": {"read_file": {"class": "Read", "fingerprint": "sha256:...", "definition":
 * {...}}}}}, "version": 1}
 *
 * How a gate uses it. Once per server, and again after every notifications/tools/list_changed:
 *
 *   risk_lock_load(text, &lock, err)                          at start; the text comes from a file
 *   risk_lock_knows(lock, server)                             no: first use, trusted or asked about by
 * setting for each tool of the tools/list result (struct tape): risk_lock_check(lock, server, t, tool, arena,
 * &v)     RISK_PIN_OK: serve NEW, CHANGED: hide, and deny calls with v.reason risk_lock_accept(lock, &who, t,
 * tools, NULL, arena, &out, err)   the new text of the file, to be written by the caller (write beside it,
 * rename)
 *
 * A call's tool must be checked against the definition that is served at that moment, so a changed mind is
 * caught at the call after the change; and because the file outlives the process, across restarts. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "risk/fingerprint.h"

#define RISK_LOCK_NAME "sallyport.lock" /* where it is looked for, unless somebody says otherwise */

enum risk_pin {
    RISK_PIN_OK,
    RISK_PIN_NEW,     /* the server is known, the tool is not */
    RISK_PIN_CHANGED, /* the definition is another one */
    RISK_PIN_FAULT,   /* no usable definition */
};

struct risk_pin_verdict {
    enum risk_pin pin;
    struct slice reason; /* for people and for the denial; in the arena; empty when OK */
};

struct risk_lock; /* owns its text */

/* What else is pinned about a server; empty slices and NULL are left out. */
struct risk_server_facts {
    struct slice name;
    const struct slice *command; /* program and arguments */
    size_t command_count;
    struct slice package;
    struct slice version;
    struct slice executable; /* "sha256:..." of the program's file */
};

/* An empty text is a lock that knows nobody. */
int risk_lock_load(struct slice text, struct risk_lock **ret_lock, struct err *err);
void risk_lock_free(struct risk_lock *lock); /* NULL is fine */
static inline void risk_lock_cleanup(struct risk_lock **lock) { risk_lock_free(*lock); }
#define cleanup_lock __attribute__((cleanup(risk_lock_cleanup)))

bool risk_lock_knows(const struct risk_lock *lock, struct slice server);
void risk_lock_check(const struct risk_lock *lock, struct slice server, const struct tape *t, uint32_t tool,
                     struct arena *a, struct risk_pin_verdict *ret_verdict);
/* Is the server started as it was when it was pinned? The reason says what differs. Nothing pinned: true. */
bool risk_lock_same_start(const struct risk_lock *lock, const struct risk_server_facts *now, struct arena *a,
                          struct slice *ret_reason);
/* Names of pinned tools that the list no longer has, by calling `gone` for each. */
void risk_lock_gone(const struct risk_lock *lock, struct slice server, const struct tape *t, uint32_t tools,
                    struct arena *a, void (*gone)(void *ctx, struct slice name), void *ctx);
/* What changed in a definition, a line each: "~ description: "old" -> "new"", "+ inputSchema.properties.bcc:
 * ...". */
void risk_lock_diff(const struct risk_lock *lock, struct slice server, const struct tape *t, uint32_t tool,
                    struct arena *a, struct buf *out);
/* The text of a lock in which `who` has the tools of the array as they are now. `only`: that tool alone, the
 * others as they were; NULL: all of them, and tools that are gone are forgotten. */
int risk_lock_accept(const struct risk_lock *lock, const struct risk_server_facts *who, const struct tape *t,
                     uint32_t tools, const struct slice *only, struct arena *a, struct buf *out,
                     struct err *err);
/* Walks: calls `each` for every pinned tool, in order of the file. */
struct risk_pinned {
    struct slice server, tool, cls, fingerprint;
};
void risk_lock_each(const struct risk_lock *lock, struct arena *a,
                    void (*each)(void *ctx, const struct risk_pinned *pinned), void *ctx);
