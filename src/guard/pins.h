/* The lock file as a running gate uses it; in a fleet, the store that the gates share takes its place, and
 * the file is read at the start only. */
#pragma once

#include "guard/pins_shared.h"
#include "io/watch.h"
#include "risk/lockfile.h"
#include "server/server.h"

struct pins_fleet;

struct pins_config {
    const char *path; /* of the lock file */
    const char *home; /* where it belongs to a fleet, the pins are those of the fleet; may be NULL */
    bool ask;         /* a server without pins waits for a person */
};

struct pins {
    struct core *core;
    char *path;
    bool ask;
    struct risk_lock *lock;
    struct io_watch watch;
    struct io_timer notify; /* notifies clients that their tools have changed */
    /* Tools and skills that were new or changed since the lock was read: "server\0name" -> reason. Such a
     * tool stays held even if its server shows the accepted definition again: a server that alternates is
     * not trusted. */
    struct map held;
    struct map skills;        /* held skills, to be shown and accepted: "server\0uri" -> the entry */
    struct arena arena;       /* of both */
    struct pins_fleet *fleet; /* NULL: the lock is a file */
};

/* In a fleet, the open store and what is known of it pass from `old` (may be NULL) to the new one: the loop
 * does not wait. */
struct pins *pins_open(struct core *core, const struct pins_config *config, struct pins *old,
                       struct err *err);
void pins_close(struct pins *p); /* NULL is fine */
/* Is its command the accepted one? If not, server->refused is the reason. */
bool pins_may_start(struct pins *p, struct server *server);
/* Is this its first use, and is it trusted then? */
bool pins_trusts(const struct pins *p, const struct server *server);
/* Why the tool or skill is held, in the arena; NULL when it matches its pin. */
const char *pins_judge(struct pins *p, enum risk_pin_kind kind, const struct server *server,
                       const struct tape *t, uint32_t def, struct arena *a);
/* The same for a file of a skill. */
const char *pins_judge_file(struct pins *p, const struct server *server, struct slice uri, struct slice bytes,
                            struct arena *a);
/* The current elements of both lists. */
int pins_first_use(struct pins *p, const struct server *server, struct slice tools, struct slice skills,
                   struct err *err);
/* Is its first use being stored for all gates? */
bool pins_is_storing(const struct pins *p, const struct server *server);
/* The entries of its held skills, separated by commas. */
void pins_put_skills(const struct pins *p, const struct server *server, struct buf *out);
/* See guard.h. */
void pins_diff(const struct pins *p, const struct server *server, const struct risk_lists *lists,
               struct arena *a, void (*each)(void *ctx, const struct risk_difference *difference), void *ctx);
struct pins_change;
struct pins_change *pins_accept(const struct pins *p, const struct server *server,
                                const struct risk_lists *lists, struct slice only, struct arena *a);
int pins_accept_write(struct pins_change *w, struct arena *a, struct err *err);
void pins_accept_done(struct pins *p, struct pins_change *w);
/* Logs a warning about the origin of the server's program: a package without a version, or one whose name
 * resembles another. For every configured server. */
void pins_warn_supply(const struct server *server);
