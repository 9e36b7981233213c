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
    /* Tools and skills that were seen changed or new since the lock was read: "server\0name" -> why. Such a
     * tool stays held back although its server may show the accepted definition again: one that changes its
     * mind is not trusted on its next word. */
    struct map held;
    struct map skills;  /* those that are held, to be shown and accepted: "server\0uri" -> the entry */
    struct arena arena; /* of both */
};

struct pins *pins_open(struct core *core, const char *path, bool ask, struct err *err);
void pins_close(struct pins *p); /* NULL is fine */
/* Is it started as it was when it was accepted? server->refused says why not. */
bool pins_may_start(struct pins *p, struct server *server);
/* Is it used for the first time, and trusted then? */
bool pins_trusts(const struct pins *p, const struct server *server);
/* Why the tool or skill is held back, in the arena; NULL when it is what was accepted. */
const char *pins_judge(struct pins *p, enum risk_pin_kind kind, const struct server *server,
                       const struct tape *t, uint32_t def, struct arena *a);
/* The same of a file of a skill. */
const char *pins_judge_file(struct pins *p, const struct server *server, struct slice uri, struct slice bytes,
                            struct arena *a);
/* The elements of both lists as they are now. */
int pins_first_use(struct pins *p, const struct server *server, struct slice tools, struct slice skills,
                   struct err *err);
/* The entries of its skills that are held, with commas between them. */
void pins_put_skills(const struct pins *p, const struct server *server, struct buf *out);
/* See guard.h. */
void pins_diff(const struct pins *p, const struct server *server, const struct risk_lists *lists,
               struct arena *a, void (*each)(void *ctx, const struct risk_difference *difference), void *ctx);
int pins_accept(struct pins *p, const struct server *server, const struct risk_lists *lists,
                const struct slice *only, struct arena *a, struct err *err);
/* Logs a warning about where the server's program comes from: a package without a version, or one with the
 * name of another. For every server that is set up. */
void pins_warn_supply(const struct server *server);
