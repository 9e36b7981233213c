/* Checks of a server's definitions before anything uses them.
 *
 *   pins     Does the definition match its pin in the lock file? A new or changed one is held until
 *            `sallyport pin accept`. A program that is not the accepted one is not started.
 *   poison   Do definitions, instructions or results contain patterns of an attack?
 *
 * Both are checked when lists are learned (channel/tools.c), stored with each tool, and enforced in DECIDE
 * and FILTER. */
#pragma once

#include "risk/classify.h"
#include "risk/lockfile.h"
#include "server/server.h"
#include "wire/splice.h"

struct call;
struct tool;

enum guard_mode {
    GUARD_OFF,
    GUARD_FLAG,  /* recorded only */
    GUARD_STRIP, /* patterns are removed; a tool that cannot be cleaned is hidden */
    GUARD_HIDE,  /* as if it did not exist */
    GUARD_DENY,  /* not listed, and a call gets the reason */
};

struct guard_config {
    const char *lock;    /* path of the lock file; NULL: nothing is pinned */
    const char *home;    /* where it belongs to a fleet, the pins are those of the fleet; may be NULL */
    bool ask;            /* a server that is not in the lock waits for `pin accept`; else it is trusted */
    uint64_t max_age_ms; /* maximum age of the tool list when a pinned tool is called; 0: the list is always
                            requested */
    enum guard_mode definitions; /* results and instructions */
    enum guard_mode results;
};

/* Which lock applies: the named one; without a name, the default one if it exists; none for `off`. */
const char *guard_lock_path(const char *named, const char *usual);
/* Settings for all servers of this core; reads and watches the lock. May be called again. */
int guard_open(struct core *core, const struct guard_config *config, struct err *err);
void guard_close(struct core *core);
/* Are that server's tools pinned? Then definitions must be known before a call is decided or a list is
 * passed on. The gate's own servers are part of the program. */
bool guard_pins(const struct core *core, const struct server *server);

/* Calls `each` for every tool and skill that differs from its pin. Only skills that were requested are
 * known. -1 when nothing is pinned, or the tools are not known. */
int guard_diff(const struct core *core, const struct server *server,
               void (*each)(void *ctx, const struct risk_difference *difference), void *ctx, struct err *err);
/* All definitions of a server, in the arena; false if one was too large to keep. Of its skills, only the
 * held ones. */
bool guard_definitions(const struct core *core, const struct server *server, struct tape *t, struct arena *a,
                       struct risk_lists *ret_lists);
/* Accepts the current tools and skills, all of them or the named one. What is accepted is settled now, in the
 * arena; NULL with err. Then the lock is written, on any thread, and where that succeeded taken up by the
 * loop. */
struct pins_change;
struct pins_change *guard_accept(struct core *core, const struct server *server, struct slice name,
                                 struct arena *a, struct err *err);
int guard_accept_write(struct pins_change *w, struct arena *a, struct err *err);
void guard_accept_done(struct core *core, struct pins_change *w);

/* ---- inside the room ---- */

/* The maximum age of a server's tool list when one of them is called. */
uint64_t guard_max_age_ms(const struct core *core, const struct server *server);
/* May the server be started, or reached? If not, server->refused is the reason. Its tool list is dropped:
 * it is a new process. */
bool guard_may_open(struct core *core, struct server *server);
/* A page of a list, as it is judged. */
struct guard_page {
    struct core *core;
    struct server *server;
    const struct tape *t;
    struct risk_toolset ctx;
    struct map skeletons; /* number of its names */
    struct map others;    /* names of other servers' tools, as far as known */
    struct arena scratch;
    struct arena *keep; /* lives as long as the tools */
};
void guard_page_init(struct guard_page *p, struct core *core, struct server *server, const struct tape *t,
                     uint32_t tools, struct arena *keep);
void guard_page_free(struct guard_page *p);
/* Sets the findings of a definition. */
void guard_judge(struct guard_page *p, uint32_t def, struct tool *tool);
/* Must the complete list be collected, because the server is used for the first time? */
bool guard_wants_list(const struct core *core, const struct server *server);
/* The complete list with its definitions: accepts it and writes it to the lock. */
void guard_first_use(struct core *core, struct server *server, struct tool_table *table);
/* Is that accepted list being stored for all gates of a fleet? Then it is requested again afterwards. */
bool guard_is_storing(const struct core *core, const struct server *server);
/* Why a skill, or one of its files, differs from its pin; NULL when it does not, or nothing is pinned. */
const char *guard_skill_held(struct core *core, const struct server *server, const struct tape *t,
                             uint32_t skill, struct arena *a);
const char *guard_file_held(struct core *core, const struct server *server, struct slice uri,
                            struct slice bytes, struct arena *a);
/* Is that a call about skills? */
bool guard_is_skill_call(const struct call *c);
/* Returns true and sets the verdict when the call may not be made. `tool` may be NULL. */
bool guard_refuses(struct call *c, const struct tool *tool);
/* Is the definition poisoned in a way that hides the tool? */
bool guard_is_poisoned(const struct core *core, const struct tool *tool);
enum guard_mode guard_of_definitions(const struct core *core);
enum guard_mode guard_of_results(const struct core *core);
void guard_record(struct core *core, bool deny, struct slice text);
void guard_deny(struct call *c, enum policy_reason reason, struct slice rule, struct slice text);
