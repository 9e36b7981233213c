/* Checks of a server's definitions before anything uses them.
 *
 *   pins     is the definition the one that was accepted? The lock file knows; what is new or has changed is
 * kept back until `sallyport pin accept`. A program that is not the accepted one is not started. poison does
 * a definition, the server's instructions or a result carry what only an attack needs?
 *
 * Both are judged where lists are learned (tools.c), kept with each tool, and enforced in DECIDE and FILTER.
 */
#pragma once

#include "risk/classify.h"
#include "risk/lockfile.h"
#include "server/server.h"
#include "wire/splice.h"

struct call;
struct tool;

enum guard_mode {
    GUARD_OFF,
    GUARD_FLAG,  /* goes on record, nothing else */
    GUARD_STRIP, /* what can be taken out is; a tool that cannot be cleaned is hidden */
    GUARD_HIDE,  /* as if it were not there */
    GUARD_DENY,  /* not listed, and a call is told why */
};

struct guard_config {
    const char *lock;    /* path of the lock file; NULL: nothing is pinned */
    bool ask;            /* a server that the lock does not know waits for `pin accept`; else it is trusted */
    uint64_t max_age_ms; /* of what is known of its tools when a pinned one is called; 0: asked every time */
    enum guard_mode definitions; /* and instructions */
    enum guard_mode results;
};

/* Which lock holds: the one that is named; where none is, the usual one if it exists; none at all for `off`.
 */
const char *guard_lock_path(const char *named, const char *usual);
/* Settings for all servers of this core; the lock is read and watched. May be called again with others. */
int guard_open(struct core *core, const struct guard_config *config, struct err *err);
void guard_close(struct core *core);
/* Are that server's tools pinned? Then definitions must be known before a call is decided or a list is let
 * through. The gate's own servers are part of the program. */
bool guard_pins(const struct core *core, const struct server *server);

/* Calls `each` for every tool and skill that is not as it was accepted. Of skills, only those that somebody
 * asked for are known. -1 where that cannot be told: nothing is pinned, or the tools are not known. */
int guard_diff(const struct core *core, const struct server *server,
               void (*each)(void *ctx, const struct risk_difference *difference), void *ctx, struct err *err);
/* All definitions of a server, in the arena; false where one is too large to have been kept. Of its skills,
 * those that are held. */
bool guard_definitions(const struct core *core, const struct server *server, struct tape *t, struct arena *a,
                       struct risk_lists *ret_lists);
/* The tools and skills as they are now go into the lock: all of them, or one where it is named. */
int guard_accept(struct core *core, struct server *server, struct slice name, struct err *err);

/* ---- inside the room ---- */

/* How old what is known of a server's tools may be when one of them is called. */
uint64_t guard_max_age_ms(const struct core *core, const struct server *server);
/* May the server be started, or reached? server->refused says why not. What is known of its tools is
 * forgotten: it is another process now. */
bool guard_may_open(struct core *core, struct server *server);
/* A page of a list, as it is judged. */
struct guard_page {
    struct core *core;
    struct server *server;
    const struct tape *t;
    struct risk_toolset ctx;
    struct map skeletons; /* of its names */
    struct map others;    /* names of other servers' tools, as far as they are known */
    struct arena scratch;
    struct arena *keep; /* lives as long as the tools */
};
void guard_page_init(struct guard_page *p, struct core *core, struct server *server, const struct tape *t,
                     uint32_t tools, struct arena *keep);
void guard_page_free(struct guard_page *p);
/* Fills in what a definition is judged to be. */
void guard_judge(struct guard_page *p, uint32_t def, struct tool *tool);
/* Are the definitions of a whole list wanted, because the server is used for the first time? */
bool guard_wants_list(const struct core *core, const struct server *server);
/* The whole list, with its definitions: it is accepted and written to the lock. */
void guard_first_use(struct core *core, struct server *server, struct tool_table *table);
/* Why a skill, or the content of one of its files, is not what was accepted; NULL when it is, or nothing is
 * pinned. */
const char *guard_skill_held(struct core *core, const struct server *server, const struct tape *t,
                             uint32_t skill, struct arena *a);
const char *guard_file_held(struct core *core, const struct server *server, struct slice uri,
                            struct slice bytes, struct arena *a);
/* Is that a call about skills? */
bool guard_is_skill_call(const struct call *c);
/* Sets the verdict and says true when the call may not be made. `tool` may be NULL. */
bool guard_refuses(struct call *c, const struct tool *tool);
/* Is the definition poisoned in a way that hides the tool? */
bool guard_is_poisoned(const struct core *core, const struct tool *tool);
enum guard_mode guard_of_definitions(const struct core *core);
enum guard_mode guard_of_results(const struct core *core);
void guard_record(struct core *core, bool deny, struct slice text);
void guard_deny(struct call *c, enum policy_reason reason, struct slice rule, struct slice text);
