/* The lock file as a running gate uses it. */
#pragma once

#include "io/watch.h"
#include "risk/lockfile.h"
#include "server/server.h"

struct pins {
    struct core *core;
    char *path;
    bool ask;
    struct risk_lock *lock;
    struct io_watch watch;
    struct io_timer tell; /* clients that their tools are others now */
    /* Tools that were seen changed or new since the lock was read: "server\0tool" -> why. Such a tool stays
     * held back although its server may show the accepted definition again: one that changes its mind is not
     * trusted on its next word. */
    struct map held;
    struct arena arena; /* of `held` */
};

struct pins *pins_open(struct core *core, const char *path, bool ask, struct err *err);
void pins_close(struct pins *p); /* NULL is fine */
/* Is it started as it was when it was accepted? server->refused says why not. */
bool pins_may_start(struct pins *p, struct server *server);
/* Is it used for the first time, and trusted then? */
bool pins_trusts(const struct pins *p, const struct server *server);
/* Why the tool is held back, in the arena; NULL when it is what was accepted. */
const char *pins_judge(struct pins *p, const struct server *server, const struct tape *t, uint32_t def,
                       struct arena *a);
int pins_first_use(struct pins *p, const struct server *server, struct slice elements, struct err *err);
/* See guard.h. `t` is an array of definitions. */
void pins_diff(const struct pins *p, const struct server *server, const struct tape *t, struct arena *a,
               void (*each)(void *ctx, const char *state, struct slice tool, struct slice diff), void *ctx);
int pins_accept(struct pins *p, const struct server *server, const struct tape *t, const struct slice *only,
                struct arena *a, struct err *err);
/* A word of warning about where the server's program comes from: a package without a version, or one with the
 * name of another. For every server that is set up. */
void pins_warn_supply(const struct server *server);
