/* The structs of the built-in server: the server, its principals, connections and requests, and the tables of
 * a profile. Only `profiles` includes this; other rooms include code.h. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/text.h"
#include "code/code.h"
#include "code/limits.h"
#include "discovery/registry.h"
#include "runner/sandbox.h"
#include "wire/emit.h"
#include "wire/rpc.h"

struct code_job;
struct code_req;
struct code_tool;
struct egress;
struct package_work;
struct filter_memory;
struct filter_scope;
struct pii_engine;
struct policy_schema;

struct code_server {
    struct code_config config;
    struct sandbox *sandbox;
    char sandbox_fault[ERR_TEXT_MAX]; /* why there is no sandbox */
    bool ready;                       /* the capabilities of the sandbox are known */
    int root_fd;                      /* HOME/code */
    int shared_skills_fd; /* skills for all principals, maintained by the operator; -1 if there are none */
    const struct code_face *face;           /* the profile's */
    struct policy_schema **schemas;         /* of face->tools, compiled at first use */
    struct map owners;                      /* by principal */
    char packages_dir[CODE_OWNER_PATH_MAX]; /* see package.h */
    const struct code_tool *package_tool;   /* install_package, for faces without one */
    struct package_work *package_work;      /* the running installation, or NULL */
    struct list conns;
    struct list parked;   /* requests that wait for the capabilities of the sandbox */
    struct list listings; /* the most recently used one last */
    struct pii_engine *pii;
    struct egress *egress; /* outgoing connections; NULL: none */
};

/* The tools that one principal may call: see listing.h. */
struct listing {
    struct code_owner *owner;
    struct list node; /* in server->listings */
    struct registry *registry;
    uint64_t stamp;
    uint64_t made_ms; /* by the loop's clock */
};

struct listing_wait {
    struct code_conn *conn;
    struct code_owner *owner;
    struct list node; /* in owner->listing_waits */
    struct code_inner inner;
    void (*done)(struct listing_wait *w, struct registry *registry);
};

/* One principal. Its data is private. */
struct code_owner {
    struct code_server *server;
    struct text id;
    char dir[CODE_OWNER_DIR_MAX];
    char path[CODE_OWNER_PATH_MAX]; /* of the workspace, for the sandbox */
    int workspace_fd;
    int skills_fd;
    struct list jobs;
    uint32_t job_count;
    uint32_t active_count;
    struct list sessions;
    struct list asks; /* connections of its code that wait for a verdict */
    uint32_t session_count;
    struct listing *listing;   /* the tools that it may call; NULL before the first request */
    struct list listing_waits; /* calls that wait for them */
    uint64_t listing_stamp;    /* of the list that is being fetched */
    struct map shapes;         /* observed results of tools: JSON Schemas by server and tool */
    struct arena shape_arena;
    struct list journals;        /* of unfinished runs */
    struct filter_memory *vault; /* of sanitize_pii */
    struct filter_scope *scope;
    uint64_t runs, failures; /* since the start */
};

struct code_conn {
    uint32_t magic;
    struct code_server *server;
    const struct code_conn_ops *ops;
    void *owner; /* of the conn */
    struct text principal;
    struct list node;
    struct list reqs;
    struct list jobs; /* jobs whose tool calls use it */
    uint32_t req_count;
    char version[16];  /* negotiated by initialize; empty before */
    uint32_t listens;  /* active subscriptions/listen */
    uint32_t log_rank; /* of a legacy client, see code_log.h */
};

/* A pending request. */
struct code_req {
    uint32_t magic;
    struct code_conn *conn;
    struct code_owner *owner;
    struct list node;
    struct list wait; /* in server->parked */
    struct arena arena;
    struct tape tape;
    struct rpc rpc;
    struct text bytes; /* a copy */
    struct slice method;
    struct slice id;    /* raw */
    uint64_t about;     /* the id as a number */
    uint64_t record;    /* in the audit log */
    struct slice token; /* raw progress token; empty: none */
    uint32_t log_rank;  /* of a modern client, see code_log.h */
    bool modern;
    bool inner;
    bool takes_tasks; /* the client accepts a task as a response */
    bool wants_task;  /* and requested one (2025-11-25) */
    const struct code_tool *tool;
    uint32_t args;                      /* node of the arguments, or 0 */
    struct code_job *job;               /* the job that it waits for */
    struct list on_job;                 /* in job->waiters */
    bool starts_job;                    /* it started that job: leaving it ends the job */
    void (*resume)(struct code_req *r); /* the job has ended, or has taken too long */
    struct io_timer timer;
    struct code_inner inner_call;
    struct listing_wait tools; /* the list that it waits for */
};

#define CODE_CONN_MAGIC 0xc0dec044
#define CODE_REQ_MAGIC 0xc0de4e90

/* The result of a tool: members of a CallToolResult. */
struct code_answer {
    struct buf content;    /* elements of the array, separated by commas */
    struct buf structured; /* an object, or empty */
    bool is_error;
};

/* ---- tools ---- */

struct code_tool {
    const char *name;
    const char *title;
    const char *description;
    const char *input;    /* JSON Schema */
    const char *output;   /* JSON Schema, or NULL */
    const char *hints;    /* annotations, a JSON object */
    const char *category; /* for list_tool_categories */
    void (*run)(struct code_req *r);
    bool packages; /* has the argument `packages`: see package.h */
    bool executes; /* runs code: may become a task, and is not called from code */
    bool hidden;   /* only called from code or by its old name */
    bool leads;    /* is part of a list that shows only how to find and call others */
};

struct code_prompt {
    const char *name, *description, *arguments; /* arguments: JSON array */
    const char *text;                           /* ${name} is replaced by an argument */
};

/* A profile. */
struct code_face {
    const char *server_name;
    const char *server_version; /* NULL: ours */
    const char *instructions;
    const struct code_tool *tools;
    size_t tool_count;
    const struct code_prompt *prompts;
    size_t prompt_count;
    uint32_t languages; /* a bit for each language that its tools run; 0: any */
    bool structured;    /* results also as structuredContent, with outputSchema; failures as isError */
    bool files;         /* workspace files and skills as resources */
    bool exact;         /* results have exactly the fields of the model */
    /* Its own resources; NULL if there are none. */
    void (*list_resources)(struct code_req *r, struct emit *e);
    void (*list_templates)(struct code_req *r, struct emit *e);
    bool (*read_resource)(struct code_req *r, struct slice uri); /* false: not one of them */
    /* Tools beyond the table; NULL if there are none. */
    void (*list_more)(struct code_req *r, struct emit *e);
    bool (*call_more)(struct code_req *r, struct slice name); /* false: not one of them */
};
