/* The data that every step works with: the core that all sessions of one loop share, the session of one
 * client, and messages to that client. A higher room keeps its own state behind a pointer here; only that
 * room dereferences it. */
#pragma once

#include "audit/audit.h"
#include "base/list.h"
#include "base/map.h"
#include "base/text.h"
#include "call/limits.h"
#include "upstream/link.h"

struct approvals;
struct call;
struct call_sink;
struct call_walk;
struct channel;
struct channels;
struct code_server;
struct decisions;
struct guard;
struct many;
struct metrics;
struct parks;
struct policy;
struct principal;
struct privacy;
struct recorder;
struct request_state;
struct server;
struct session;
struct span_exporter;
struct state_store;
struct state_stops;
struct stops;
struct task_owners;
struct trail_slot;
struct vault;

enum server_prefix_mode { SERVER_PREFIX_ALWAYS, SERVER_PREFIX_MANY, SERVER_PREFIX_NEVER };

/* A policy file in use. */
struct core_policy {
    const char *path;
    struct policy *policy; /* the policy in force */
    const char *fault;     /* why the current file is not in force, or NULL */
};

/* The gate's configuration files, for the console and the admin API. */
struct core_files {
    void (*each_policy)(void *owner, void (*each)(void *ctx, const struct core_policy *one), void *ctx);
    /* This file was just written: reloads it immediately. */
    void (*policy_written)(void *owner, const char *path);
    const char *(*settings_path)(void *owner); /* NULL: there is none */
    void (*settings_written)(void *owner);
    /* Would these settings be accepted? Changes nothing. */
    int (*settings_try)(void *owner, struct slice text, struct err *err);
    void *owner;
};

/* Shared by all sessions of one loop. */
struct core {
    struct up_core up;
    const struct call_walk *walk;   /* the steps of a call; session/steps.c has them */
    struct map trails;              /* identity → struct trail: flow labels; trail.c */
    uint64_t flow_window_ms;        /* how long a label lasts */
    struct trail_slot *trail_slots; /* flow labels shared with other processes; trail.h. NULL: none */
    struct list sessions;
    uint32_t session_count;
    struct call *free_calls;
    uint32_t free_call_count;
    uint32_t calls_under_way;
    uint32_t calls_lingering; /* cancelled calls that their servers still work on; see call_cancel() */
    bool draining;
    struct buf scratch;    /* of one step */
    struct policy *policy; /* the current default; calls take their own reference */
    struct state_store *state;
    struct audit *audit;
    struct ship *ship;               /* NULL: the log is not shipped */
    enum audit_args_mode audit_args; /* which part of arguments is recorded; tokenized needs `privacy` */
    bool audit_hash_needed;          /* arguments are hashed only for approvals */
    bool many_servers;               /* there may be several servers: counters are kept per server */
    /* server/ */
    struct server **servers; /* by slot; NULL where one was removed */
    size_t server_count;
    uint64_t list_serial;           /* the newest serial of a tool list */
    enum server_prefix_mode prefix; /* when tool names get the server's prefix */
    struct policy *no_policy;       /* for principals without a policy; made at first use */
    struct task_owners *task_owners;
    /* the other rooms, from the lowest floor up */
    struct guard *guard;     /* NULL: nothing is pinned, no definition is checked for poison */
    struct privacy *privacy; /* NULL: personal data and secrets are not treated */
    struct recorder *recorder;
    struct metrics *metrics;
    struct span_exporter *spans; /* NULL: nothing is traced */
    struct channels *channels;
    struct decisions *decisions;
    struct stops *stops;            /* the kill switch; NULL: nothing can be stopped */
    struct state_stops *stop_store; /* the stops' store; NULL like it */
    struct approvals *approvals;    /* NULL: approvals are off */
    struct parks *parks;
    struct request_state
        *request_state;    /* keys for data that clients keep for the gate between two requests */
    unsigned char node[8]; /* id of this process among those with the same keys */
    struct many *many;
    struct code_server *code; /* the built-in server; NULL: there is none */
    /* The front's: */
    char *restart_settings; /* owned: names of settings that have changed and need a restart; NULL: none */
    char *settings_fault;   /* owned: why the newest settings are not in force, or NULL */
    char *console; /* "http://127.0.0.1:8640/ui": the console's address, owned; NULL: there is no console */
    struct core_files files;                 /* all zero: not available */
    bool (*refresh_principals)(void *owner); /* re-reads revoked grants; false: that failed. May be NULL */
    /* The principal of the grant with this name, or NULL; borrowed until the next refresh. */
    struct principal *(*principal_of)(void *owner, struct slice grant);
    void *principals_owner;
    /* The tools that clients may see have changed: notifies every client. Set by session/. */
    void (*tools_changed)(struct core *core);
    /* The last call of a closed session has ended. Set by session/. */
    void (*session_over)(struct session *s);
};

/* A message on its way to a client. */
struct session_out {
    const struct splice *text;
    struct msg *msg; /* the message that text->src belongs to, or NULL when the text lives in an arena */
    int http_status; /* for a final answer over HTTP; 0: 200 */
    bool is_request; /* the server waits for the client's answer */
    uint64_t record; /* audit number of the answered call; 0: none */
};

struct session_front {
    /* A message outside of calls. False when it can never reach the client. */
    bool (*deliver)(struct session *s, const struct session_out *out);
    /* Pause (or resume) reading from this client: its server is too slow. May be NULL. */
    void (*hold)(struct session *s, bool on);
    /* The server of a session ended on its own. May be NULL. */
    void (*server_ended)(struct session *s, const char *why, int exit_status);
};

/* One client, or one principal's stateless requests at one endpoint. */
struct session {
    uint32_t magic;
    struct core *core;
    const struct session_front *front;
    void *owner; /* the front's */
    struct principal *principal;
    struct server *only; /* NULL: every server that the principal may use */
    struct list node;
    struct list pool_node;
    bool pool;      /* has no client: it owns the channels that the sessions of its principal share */
    bool console;   /* of a person who uses the console */
    bool stateless; /* shared by unrelated requests: their ids may be equal */
    bool closed;
    bool lingers;               /* closed, but some of its calls still wait for their servers */
    struct io_timer over_timer; /* called when the last of them has ended */
    void (*over)(void *arg);    /* session_close_then() */
    void *over_arg;
    char name[SESSION_NAME_MAX]; /* for policy and audit */
    struct list calls;
    uint32_t call_count;
    struct map by_id;  /* calls under way by the client's id */
    struct slots asks; /* requests at the client; client_ask.c */
    /* How a legacy client described itself in its handshake; client.c. */
    char version[SESSION_VERSION_MAX]; /* negotiated by initialize; empty before */
    struct text init_params;           /* raw: to repeat initialize after a restart */
    bool init_done;                    /* initialize was answered */
    bool initialized;                  /* the client has sent notifications/initialized */
    bool listening;                    /* the client wants standing streams */
    char log_level[SESSION_LEVEL_MAX]; /* set by logging/setLevel; empty before */
    /* The same for modern servers, made from init_params when it is needed; client_set_meta(). */
    struct text client_meta;      /* its description in each request */
    struct text client_task_meta; /* the same for calls that may become tasks */
    uint32_t client_bits;         /* translate_client_bits */
    /* channel/ */
    struct channel **channels; /* by the server's slot; NULL before the first use */
    size_t channel_count;
    /* privacy/ */
    struct vault *vault; /* for its tokens; NULL before the first, or with a wider scope */
    /* era/ */
    struct list tasks; /* tasks of servers of the other era */
    uint32_t task_count;
    size_t task_bytes;
};

/* Does it have many servers? */
static inline bool session_has_many(const struct session *s) { return !s->only; }
