/* What every step of a call works with: the core that all sessions of one loop share, the client's session,
 * and messages on their way to the client. Each room keeps its own state behind the pointers here. */
#pragma once

#include "audit/audit.h"
#include "base/list.h"
#include "base/map.h"
#include "base/text.h"
#include "call/limits.h"
#include "record/metrics.h"
#include "upstream/link.h"

struct approvals;
struct call;
struct call_sink;
struct channel;
struct code_server;
struct guard;
struct policy;
struct principal;
struct privacy;
struct request_state;
struct server;
struct session;
struct span_exporter;
struct state_store;
struct vault;

/* When the names of a server's tools carry the server's: see names.h. */
enum session_prefix { SESSION_PREFIX_ALWAYS, SESSION_PREFIX_MANY, SESSION_PREFIX_NEVER };

/* What of many servers' tools a list shows: see discovery.h. */
enum session_discovery { SESSION_DISCOVERY_ALL, SESSION_DISCOVERY_LAZY, SESSION_DISCOVERY_HYBRID };

/* What all sessions of one loop share. */
struct core {
    struct up_core up;
    struct server **servers; /* by slot; NULL where one was removed */
    size_t server_count;
    struct policy *policy;    /* the present default; calls take their own reference */
    struct policy *no_policy; /* for those who have none; made at first use */
    struct guard *guard;      /* pins and poison; NULL: neither */
    struct state_store *state;
    struct audit *audit;
    struct metrics metrics;
    struct span_exporter *spans; /* see trace.h; NULL: nothing is traced */
    struct approvals *approvals; /* see approve.h; NULL: nobody can approve */
    struct list log_waiting;     /* calls, until the log has room */
    struct io_timer log_timer;
    struct list hash_waiting; /* calls, until the loop's turn is over */
    struct io_timer hash_timer;
    uint64_t list_serial;                /* of lists of tools, as they are learned */
    enum audit_args_mode audit_args;     /* what is recorded of arguments; tokenized needs `pii` */
    struct code_server *code;            /* the built-in server; NULL: there is none */
    struct privacy *privacy;             /* NULL: personal data and secrets pass as they are */
    struct slots parks;                  /* park, by number */
    struct request_state *request_state; /* keys for what clients keep for us; see keep.h */
    unsigned char node[8];               /* this process among all that have the key */
    struct buf scratch;                  /* of one step */
    struct list sessions;
    uint32_t session_count;
    struct call *free_calls;
    uint32_t free_call_count;
    uint32_t calls_under_way;
    bool draining;
    void (*idle)(struct core *core); /* draining, and the last call is over */
    bool many;                       /* several servers may stand behind this gate: counters are kept apart */
    enum session_prefix prefix;
    enum session_discovery discovery;
    uint32_t discovery_keep; /* tools of other servers that a hybrid list shows */
    unsigned char seal_key[32];
    struct arena claims_arena; /* see many.h: names that need no prefix */
    struct map claims;
    struct list task_list; /* tasks and who started them, the oldest first */
    struct map tasks;
    struct io_timer sweep;
    uint64_t health_clock_ms; /* see health.c: stands still while the gate does */
    uint64_t health_seen_ms;
    char *for_start;      /* owned: names of settings that have changed and take a new start; NULL: none */
    char *settings_fault; /* owned: why the newest settings are not in force, or NULL */
    struct list pools;    /* of shared servers: sessions that no client has, one a principal */
    /* Takes in at once what has become of those who were let in; NULL: nothing can become of them. */
    void (*refresh_principals)(void *owner);
    void *principals_owner;
};

/* A message on its way to a client. */
struct session_out {
    const struct splice *text;
    struct msg *msg; /* that text->src belongs to, or NULL when the text lives in an arena */
    int http_status; /* for a final answer over HTTP; 0: 200 */
    bool is_request; /* the server waits for the client's answer */
};

struct session_front {
    /* A message that belongs to no call. False when it cannot reach the client, now or later. */
    bool (*deliver)(struct session *s, const struct session_out *out);
    /* Stop (or go on) reading from this client: its server is not keeping up. May be NULL. */
    void (*hold)(struct session *s, bool on);
    /* The server behind a session ended by itself. May be NULL. */
    void (*server_ended)(struct session *s, const char *why, int exit_status);
};

struct session {
    uint32_t magic;
    struct core *core;
    const struct session_front *front;
    void *owner; /* the front's */
    struct principal *principal;
    struct server *only; /* NULL: every server that the principal may use */
    struct list node;
    struct list pool_node;
    bool pool;      /* no client's: it has the links that the sessions of its principal share */
    bool stateless; /* shared by requests that have nothing to do with each other: their ids may be equal */
    bool closed;
    char name[SESSION_NAME_MAX];       /* for policy and audit */
    uint32_t flow;                     /* labels gathered by allowed calls */
    uint32_t *pii_most;                /* of each kind in one result, last of all together; NULL: none */
    char version[SESSION_VERSION_MAX]; /* as negotiated by initialize; empty before */
    struct text init_params;           /* raw: to repeat initialize with a restarted server */
    bool init_done;                    /* the client has been answered */
    bool initialized;                  /* and has said notifications/initialized */
    bool listening;                    /* standing streams are wanted */
    /* Of a client of the older era, for servers of the newer one; read from init_params. */
    struct text client_meta;           /* what each of its requests says of it; made when needed */
    struct text client_task_meta;      /* the same for calls that may become tasks */
    uint32_t client_bits;              /* translate_client_bits; with client_meta */
    char log_level[SESSION_LEVEL_MAX]; /* as it asked for by logging/setLevel; empty before */
    struct list calls;
    uint32_t call_count;
    struct map by_id; /* calls under way by the client's id */
    struct slots asks;
    struct list tasks; /* of servers of the other era; see task.h */
    uint32_t task_count;
    size_t task_bytes;
    struct vault *vault;    /* of its tokens; NULL before the first, or when the scope is wider */
    struct channel **links; /* by the server's slot; NULL before the first use */
    size_t link_count;
};
