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
    const char *home;               /* everything kept lies below HOME/code */
    const char *name;               /* what the server is called here: tools.NAME.TOOL in code */
    const struct code_face *face;   /* the profile: which tools are shown, with what schemas and texts */
    const struct code_face *common; /* the profile whose tools code can call as well */
    const char *dir; /* of the one principal: a project that is its workspace; NULL: one below HOME/code */
    int min_tier;    /* of the sandbox; 0: its default */
    struct sandbox_ceiling ceiling;         /* of all runs together; 0: defaults, or none */
    struct sandbox_ceiling grant_ceiling;   /* of those of one principal */
    uint32_t memory_mb_max, timeout_ms_max; /* of one run; 0: defaults */
    uint32_t calls_max;                     /* tool calls of one run; 0: default */
    bool bash;                              /* may be run: programs of /usr/bin, in the sandbox */
    const char *packages;                   /* that agents may install, a line each; NULL: none */
    const char *const *network_allow;       /* where code may connect to; see egress.h */
    size_t network_allow_count;
    const char *const *network_inject;
    size_t network_inject_count;
    const unsigned char
        *node;        /* CODE_NODE bytes that ids of jobs end with: the process that has them; may be NULL */
    uint64_t wait_ms; /* how long a background run is waited for before its job id is answered; 0: default */
};

/* Texts of the config are borrowed for the server's life. */
int code_server_open(const struct code_config *config, struct code_server **ret_server, struct err *err);
/* What the sandbox has done so far, for /metrics. False when there is none. */
bool code_server_stats(const struct code_server *s, struct sandbox_stats *ret_stats);
/* Jobs of all principals that `takes` wants, by their ids: elements of an array that the caller has opened,
 * without code or output. */
void code_server_list_jobs(struct code_server *s, bool (*takes)(void *ctx, struct slice id), void *ctx,
                           struct emit *e);
/* One of them, with the end of its output; false: there is none. */
bool code_server_write_job(struct code_server *s, struct slice id, struct emit *e);
/* The packages that code may import: {"installed":[...],"allowed":[...]}. */
void code_server_write_packages(struct code_server *s, struct emit *e);
/* Conns are closed by their owners before. */
void code_server_close(struct code_server *s); /* NULL is fine */

/* Is that one of the tools by which all others are found and called? Of a profile without any, each is. */
bool code_server_leads(const struct code_server *s, struct slice tool);

/* An answer from elsewhere that something here waits for; lives in the one who waits. */
struct code_inner {
    /* Once: the requested JSON, or (not ok) a JSON-RPC error or a text with the reason. */
    void (*done)(struct code_inner *inner, bool ok, struct slice text);
    void *handle;       /* the conn owner's own; NULL when nothing is under way */
    struct slice about; /* what the record contains beside its name; may be empty */
};

struct code_conn_ops {
    /* A message for the client; `about` is the id of the request it belongs to, or 0. */
    void (*send)(void *owner, uint64_t about, struct slice text);
    /* Calls a tool as the conn's principal would: through every step, under the tool's own name. done() gets
     * the CallToolResult, perhaps before this returns. `parent` is the record of the message that it is for.
     */
    void (*call_tool)(void *owner, struct slice server, struct slice tool, struct slice args, uint64_t parent,
                      struct code_inner *inner);
    /* No done() after this. True when its server may have seen the call. */
    bool (*drop_tool)(void *owner, struct code_inner *inner);
    /* The tools that the principal may call, on every server and on this one: done() gets
     * {"tools":[SERVER,DEFINITION,SERVER,DEFINITION,...],"missing":[SERVER,...]}, the latter of servers that
     * did not answer. NULL: only this server's own are known. */
    void (*list_tools)(void *owner, struct code_inner *inner);
    /* Another number whenever that list may be another one. */
    uint64_t (*tools_stamp)(void *owner);
    /* Whose tokens sanitize_pii makes: the ones that tools elsewhere can be given. NULL, as an op or as its
     * answer: the principal has some of its own here. */
    struct filter_scope *(*pii_scope)(void *owner);
};

/* `principal` owns the files, jobs and skills that it uses. */
struct code_conn *code_conn_new(struct code_server *s, const struct code_conn_ops *ops, void *owner,
                                struct slice principal);
/* One message; `inner`: it comes from code that runs in the sandbox. `record`: its number in the audit log.
 */
void code_conn_receive(struct code_conn *c, struct slice bytes, bool inner, uint64_t record);
/* Ends what was asked for over it, but not background jobs. No op is called after this. */
void code_conn_close(struct code_conn *c);
