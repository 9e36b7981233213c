/* Credentials of the gate itself at a server that can change: a header whose value comes from a file, from a
 * program, or from a login. Values are kept in memory only and never appear in an error or in the log.
 *
 *   link opens ── all values there? ──▶ start
 *                     └─ no ─▶ wait ── fetched ──▶ start
 *   401 ── up_secrets_renew ──▶ wait ──▶ the request is sent once more
 */
#pragma once

#include "base/list.h"
#include "base/slice.h"
#include "io/spawn.h"
#include "io/watch.h"

struct buf;
struct up_server;
struct up_secret;

struct up_secret_ops {
    void (*fetch)(struct up_secret *s); /* ends with up_secret_set or up_secret_fail, now or later */
    void (*free)(struct up_secret *s);
    bool (*changed)(struct up_secret *s); /* is there another value than the current one? Or NULL */
};

struct up_secret { /* first member of every kind */
    const struct up_secret_ops *ops;
    struct up_server *server;
    struct list node;   /* in the server */
    const char *header; /* its name; owned by the settings */
    const char *prefix; /* in front of the value: "Bearer " */
    char *value;        /* NULL before */
    bool fetching;
    bool none;  /* there is no value, and none is needed */
    bool stale; /* the server rejected it */
};

struct up_wait {
    struct list node;
    void (*done)(struct up_wait *w, const char *fault); /* fault NULL: every value is available */
};

/* A file's first line; read again when it changes. `take` texts outlive the server. */
struct up_secret *up_secret_file(struct up_server *server, const char *header, const char *prefix,
                                 const char *path);
/* The first line that a program prints; run again after ttl_ms (0: only when the server refuses the value).
 */
struct up_secret *up_secret_command(struct up_server *server, const char *header, const char *prefix,
                                    const char *const *argv, const char *const *envp, uint64_t ttl_ms);

bool up_secrets_ready(const struct up_server *s);
/* Waits for missing or stale values; `done` comes later, once, unless it is cancelled. */
void up_secrets_wait(struct up_server *s, struct up_wait *w);
void up_secrets_unwait(struct up_wait *w); /* fine on one that does not wait */
/* The server answered 401: can another value be fetched? Then wait. */
bool up_secrets_renew(struct up_server *s);
/* The same after a refusal that a renewal does not fix: only if there is already another value. */
bool up_secrets_replace(struct up_server *s);
/* The header lines. */
void up_secrets_put(const struct up_server *s, struct buf *out);
void up_secrets_free(struct up_server *s); /* wipes them */

/* ---- for the kinds ---- */
void up_secret_add(struct up_server *server, struct up_secret *s);
void up_secret_set(struct up_secret *s, struct slice value);
void up_secret_none(struct up_secret *s);
void up_secret_fail(struct up_secret *s, const char *why); /* `why` contains no value */
