/* The built-in server: runs agents' code in the sandbox and keeps their files, skills and jobs. It supports
 * MCP of both eras, as messages in memory; the owner of a conn transports them, so that to the rest of the
 * gate it is a server like any other.
 *
 *   owner ── code_conn_receive(message, who) ──▶ conn ──▶ tool ──▶ job ──▶ sandbox
 *     ▲  ▲                                        │                 │
 *     │  └── ops->send(answer, notification) ─────┘                 │ a tool called from code
 *     └───── ops->call_tool: an ordinary call, judged like any ◀────┘
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "io/loop.h"
#include "io/spawn.h"
#include "runner/sandbox.h"
#include "wire/emit.h"

struct code_server;
struct code_conn;
struct code_face;
struct filter_scope;

#define CODE_NODE 6

struct code_config {
    struct io_loop *loop;
    struct spawn *spawn;
    const char *home;               /* all data is below HOME/code */
    const char *name;               /* the server's name here: tools.NAME.TOOL in code */
    const struct code_face *face;   /* the profile: its tools with their schemas and texts */
    const struct code_face *common; /* the profile whose tools code can also call */
    const char
        *dir; /* for a single principal: a project directory as its workspace; NULL: one below HOME/code */
    const char *uids;                       /* of the sandboxes; see sandbox.h */
    int min_tier;                           /* of the sandbox; 0: its default */
    struct sandbox_ceiling ceiling;         /* of all runs together; 0: defaults, or none */
    struct sandbox_ceiling grant_ceiling;   /* of the runs of one principal */
    uint32_t memory_mb_max, timeout_ms_max; /* of one run; 0: defaults */
    uint32_t calls_max;                     /* tool calls of one run; 0: default */
    bool bash;                              /* bash is allowed: programs of /usr/bin, in the sandbox */
    const char *packages;                   /* packages that agents may install, one per line; NULL: none */
    const char *const *network_allow;       /* hosts that code may connect to; see egress.h */
    size_t network_allow_count;
    const char *const *network_inject;
    size_t network_inject_count;
    const unsigned char
        *node;        /* CODE_NODE bytes at the end of job ids that identify the process; may be NULL */
    uint64_t wait_ms; /* how long a background run is awaited before the response is its job id; 0: default */
};

/* The server borrows the texts of the config for its life. */
int code_server_open(const struct code_config *config, struct code_server **ret_server, struct err *err);
/* Counters of the sandbox, for /metrics. False if there is no sandbox. */
bool code_server_stats(const struct code_server *s, struct sandbox_stats *ret_stats);
/* Writes the jobs of all principals that `takes` accepts, ordered by id: elements of an array that the caller
 * has opened, without code or output. */
void code_server_list_jobs(struct code_server *s, bool (*takes)(void *ctx, struct slice id), void *ctx,
                           struct emit *e);
/* Writes one of them, with the end of its output; false if there is none. */
bool code_server_write_job(struct code_server *s, struct slice id, struct emit *e);
/* The packages that code may import: {"installed":[...],"allowed":[...]}. */
void code_server_write_packages(struct code_server *s, struct emit *e);
/* The owners close their conns before. */
void code_server_close(struct code_server *s); /* NULL is fine */

/* Is this one of the tools that find and call all others? In a profile without such tools, every tool is. */
bool code_server_leads(const struct code_server *s, struct slice tool);

/* A pending response from another room; embedded in the waiting struct. */
struct code_inner {
    /* Called once: the requested JSON, or (not ok) a JSON-RPC error or a text with the reason. */
    void (*done)(struct code_inner *inner, bool ok, struct slice text);
    void *handle;       /* private to the conn's owner; NULL if nothing is pending */
    struct slice about; /* further content of the audit record; may be empty */
};

struct code_conn_ops {
    /* A message for the client; `about` is the id of the request it belongs to, or 0. */
    void (*send)(void *owner, uint64_t about, struct slice text);
    /* Calls a tool as the conn's principal: through every step, under the tool's own name. done() gets the
     * CallToolResult, possibly before this returns. `parent` is the audit record of the message that caused
     * it. */
    void (*call_tool)(void *owner, struct slice server, struct slice tool, struct slice args, uint64_t parent,
                      struct code_inner *inner);
    /* done() is not called after this. True if its server may have received the call. */
    bool (*drop_tool)(void *owner, struct code_inner *inner);
    /* The tools that the principal may call, on every server including this one: done() gets
     * {"tools":[SERVER,DEFINITION,SERVER,DEFINITION,...],"missing":[SERVER,...]}, the latter for servers that
     * did not respond. NULL: only this server's own tools are known. */
    void (*list_tools)(void *owner, struct code_inner *inner);
    /* Changes whenever that list may have changed. */
    uint64_t (*tools_stamp)(void *owner);
    /* The token scope for sanitize_pii, so that tools on other servers accept its tokens. NULL, as an op or
     * as its result: the principal has its own scope here. */
    struct filter_scope *(*pii_scope)(void *owner);
};

/* `principal` owns the files, jobs and skills that this conn uses. */
struct code_conn *code_conn_new(struct code_server *s, const struct code_conn_ops *ops, void *owner,
                                struct slice principal);
/* Handles one message; `inner`: it comes from code in the sandbox. `record`: its number in the audit log. */
void code_conn_receive(struct code_conn *c, struct slice bytes, bool inner, uint64_t record);
/* Ends the requests of this conn, but not background jobs. No op is called after this. */
void code_conn_close(struct code_conn *c);
