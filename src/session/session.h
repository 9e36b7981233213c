/* A client's side of things: its MCP session of either era, the links to the servers behind it, and the
 * requests that go both ways. Fronts make sessions and hand them messages; call.c walks each message through
 * its steps; what servers say on their own account is delivered from here.
 *
 *   front ── session_receive ──▶ session ── call.c ──▶ link ──▶ server
 *     ▲                            │  ▲                  │
 *     └── deliver / call_sink ─────┘  └──── answers, messages, asks
 */
#pragma once

#include "audit/audit.h"
#include "base/list.h"
#include "base/map.h"
#include "session/limits.h"
#include "session/metrics.h"
#include "upstream/link.h"

struct call;
struct call_sink;
struct audit;
struct session_approvals;
struct session_trace;
struct policy;
struct principal;
struct session_listen;
struct session_park;
struct session;
struct session_pii;
struct session_server;
struct session_vault;
struct state_store;

/* A request of the gate's own: it stands where otherwise a call does. */
struct session_own {
    uint32_t magic;
    void (*answer)(struct session_own *own, struct msg *m);
    void (*failed)(struct session_own *own, const char *why);
    /* A message of the server about it, or NULL when none is expected. */
    void (*message)(struct session_own *own, struct msg *m);
};

/* When the names of a server's tools carry the server's: see names.h. */
enum session_prefix { SESSION_PREFIX_ALWAYS, SESSION_PREFIX_MANY, SESSION_PREFIX_NEVER };

/* What of many servers' tools a list shows: see discovery.h. */
enum session_discovery { SESSION_DISCOVERY_ALL, SESSION_DISCOVERY_LAZY, SESSION_DISCOVERY_HYBRID };

/* What all sessions of one loop share. */
struct session_core {
    struct up_core up;
    struct session_server **servers; /* by slot; NULL where one was removed */
    size_t server_count;
    struct policy *policy;       /* the present default; calls take their own reference */
    struct policy *no_policy;    /* for those who have none; made at first use */
    struct session_guard *guard; /* pins and poison; NULL: neither */
    struct state_store *state;
    struct audit *audit;
    struct session_metrics metrics;
    struct session_trace *trace;         /* see trace.h; NULL: nothing is traced */
    struct session_approvals *approvals; /* see approve.h; NULL: nobody can approve */
    struct list log_waiting;             /* calls, until the log has room */
    struct io_timer log_timer;
    struct list hash_waiting; /* calls, until the loop's turn is over */
    struct io_timer hash_timer;
    uint64_t list_serial;            /* of lists of tools, as they are learned */
    enum audit_args_mode audit_args; /* what is recorded of arguments; tokenized needs `pii` */
    struct code_server *code;        /* the built-in server; NULL: there is none */
    struct session_pii *pii;         /* NULL: personal data and secrets pass as they are */
    struct slots parks;              /* session_park, by number */
    struct session_keep *keep;       /* keys for what clients keep for us; see keep.h */
    unsigned char node[8];           /* this process among all that have the key */
    struct buf scratch;              /* of one step */
    struct list sessions;
    uint32_t session_count;
    struct call *free_calls;
    uint32_t free_call_count;
    uint32_t calls_under_way;
    bool draining;
    void (*idle)(struct session_core *core); /* draining, and the last call is over */
    bool many; /* several servers may stand behind this gate: counters are kept apart */
    enum session_prefix prefix;
    enum session_discovery discovery;
    uint32_t discovery_keep; /* tools of other servers that a hybrid list shows */
    unsigned char seal_key[32];
    struct arena claims_arena; /* see many.h: names that need no prefix */
    struct map claims;
    struct list task_list; /* tasks and who started them, the oldest first */
    struct map tasks;
    struct io_timer sweep;
    uint64_t life_clock_ms; /* see health.c: stands still while the gate does */
    uint64_t life_seen_ms;
    char *for_start;      /* owned: names of settings that have changed and take a new start; NULL: none */
    char *settings_fault; /* owned: why the newest settings are not in force, or NULL */
    struct list pools;    /* of shared servers: sessions that no client has, one a principal */
    /* Takes in at once what has become of those who were let in; NULL: nothing can become of them. */
    void (*look_at_principals)(void *owner);
    void *principals_owner;
};

void session_core_init(struct session_core *core, struct io_loop *loop, struct spawn *spawn);
/* Sessions and servers too. */
void session_core_free(struct session_core *core);

/* Why whoever is behind the session may do nothing any more, as of this moment, or NULL. */
const char *session_fault(const struct session *s);

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

enum session_link_state {
    SESSION_LINK_DOWN,
    SESSION_LINK_OPENING,
    SESSION_LINK_PROBE, /* being asked which era it speaks */
    SESSION_LINK_INIT,
    SESSION_LINK_READY,
};

/* The era that is spoken on a link; the client's own may be the other one. */
enum session_era { SESSION_ERA_UNKNOWN, SESSION_ERA_LEGACY, SESSION_ERA_MODERN };

/* What is known of a link's signs of life; see health.h. */
struct session_watch {
    struct session_life *life; /* it has been asked for one, or NULL */
    uint64_t since_ms;         /* when its state or what it said last changed */
    uint64_t tell_ms;          /* before which clients are not told again that it is back */
    uint32_t heard;            /* messages then */
    int state;                 /* and the state; enum session_link_state */
    uint8_t tells;
    bool doubt; /* to be asked at the next sweep */
    bool again; /* because the question before broke off */
};

struct session_link {
    uint32_t magic;
    struct session *session;
    struct session_server *server;
    struct link *link;
    enum session_link_state state;
    enum session_era era;
    struct slice hello; /* owned: the result of initialize or server/discover, where the gate knows it */
    struct slice server_info; /* in hello, raw */
    uint32_t server_bits;     /* translate_server_bits */
    struct list waiting;      /* calls, until it is ready */
    struct up_era_wait era_wait;
    struct io_timer probe_timer;
    /* Several links to one server, see lane.c. The first one: */
    struct list lanes; /* the others */
    uint32_t lane_count;
    struct list crowd; /* calls that wait for a lane of their own */
    /* every one: */
    struct session_link *first;
    struct list lane_node;
    struct slice own_init;    /* owned: the params of our own initialize for clients of the stateless era */
    struct slice client_caps; /* owned: the capabilities that it was made from, as the client wrote them */
    uint32_t users;           /* calls that have chosen it */
    struct call *holder;      /* the only one that a question can belong to, or NULL */
    struct session_park *parked; /* the same for one whose client is being asked */
    int log_rank;                /* what the server was told of logging/setLevel; -1 before */
    struct io_timer idle;
    struct list notes;     /* small requests of our own: levels and subscriptions */
    bool level_pending;    /* one of them that calls wait for */
    struct map subscribed; /* URIs that a client of the older era wants to hear of, owned */
    /* For such a client and a server of the newer era; see listen.c: */
    struct session_listen *listen;
    struct io_timer listen_timer;
    struct session_own init_own; /* our own initialize or server/discover */
    struct link_req init;
    struct session_own tools_own; /* our own tools/list */
    struct link_req tools_req;
    struct arena tools_page;
    uint32_t tools_pages;
    struct session_tools *tools_fresh; /* what the answers add up to; shown to nobody before the last one */
    uint32_t tools_changes;            /* of the server, when it was asked */
    uint32_t tools_again;
    uint32_t tools_loads; /* answers that were had here */
    struct io_timer tools_timer;
    uint32_t failures;
    uint64_t opened_ms;
    struct io_timer backoff;
    uint64_t used_ms; /* when a call last ended here */
    bool missing;     /* the client has had a list without this server's part, or from a process
                         that is no more */
    struct session_watch watch;
};

struct session {
    uint32_t magic;
    struct session_core *core;
    const struct session_front *front;
    void *owner; /* the front's */
    struct principal *principal;
    struct session_server *only; /* NULL: every server that the principal may use */
    struct list node;
    struct list pool_node;
    bool pool;      /* no client's: it has the links that the sessions of its principal share */
    bool stateless; /* shared by requests that have nothing to do with each other: their ids may be equal */
    bool closed;
    char name[SESSION_NAME_MAX];       /* for policy and audit */
    uint32_t flow;                     /* labels gathered by allowed calls */
    uint32_t *pii_most;                /* of each kind in one result, last of all together; NULL: none */
    char version[SESSION_VERSION_MAX]; /* as negotiated by initialize; empty before */
    struct slice init_params;          /* raw, owned: to repeat initialize with a restarted server */
    bool init_done;                    /* the client has been answered */
    bool initialized;                  /* and has said notifications/initialized */
    bool listening;                    /* standing streams are wanted */
    /* Of a client of the older era, for servers of the newer one; read from init_params. */
    struct slice client_meta;          /* owned: what each of its requests says of it; made when needed */
    struct slice client_task_meta;     /* the same for calls that may become tasks */
    uint32_t client_bits;              /* translate_client_bits; with client_meta */
    char log_level[SESSION_LEVEL_MAX]; /* as it asked for by logging/setLevel; empty before */
    struct list calls;
    uint32_t call_count;
    struct map by_id; /* calls under way by the client's id */
    struct slots asks;
    struct list tasks; /* of servers of the other era; see task.h */
    uint32_t task_count;
    size_t task_bytes;
    struct session_vault *vault; /* of its tokens; NULL before the first, or when the scope is wider */
    struct session_link **links; /* by the server's slot; NULL before the first use */
    size_t link_count;
};

/* Takes a reference to the principal. */
struct session *session_new(struct session_core *core, const struct session_front *front, void *owner,
                            struct principal *principal, struct session_server *only, bool stateless);
void session_close(struct session *s); /* cancels its calls, closes its links, frees it; NULL is fine */

/* A message from the client: takes a reference. `sink` gets the answer of a request (required for those). */
void session_receive(struct session *s, struct msg *m, struct call_sink *sink);
/* Starts its one server now instead of at the first message. */
void session_start(struct session *s);
/* From now on the client listens outside calls too. */
void session_listen(struct session *s);
/* The client is slow (or no longer): stop (go on) reading what its servers send. */
void session_pause(struct session *s, bool on);

/* ---- for call.c ---- */
struct session_link *session_link_of(struct session *s, struct session_server *server);
/* The link, ready, or NULL when the call must wait: it is then in the waiting list and call_resume() follows.
 */
struct session_link *session_link_for(struct session *s, struct session_server *server, struct call *call);
/* Starts it (again) now, or after its back-off, without a call that waits for it. */
void session_revive(struct session_link *sl);
/* Nobody needs it at present: ended, to be started again by the next call. */
void session_rest(struct session_link *sl);
/* The server is going away: first all calls that wait for it or are under way there fail, whosever link they
 * are on; then its links close. */
void session_fail_calls(struct session *s, const struct session_server *server);
void session_drop_link(struct session *s, struct session_server *server);
/* The most specific one: the principal's own, else the server's, else the default. */
struct policy *session_policy(const struct session *s, const struct session_server *server);
/* initialize has been answered: what the client said holds for every server and for their restarts. */
void session_keep_initialize(struct session *s, struct slice params);
/* logging/setLevel: later requests to servers of the newer era say so. */
void session_set_level(struct session *s, struct slice level);
/* What a server wants of a client is decided and recorded like a call: NULL, or why not (in the arena). */
const char *session_judge_ask(struct session_link *sl, struct slice method, const struct tape *t,
                              uint32_t params, struct arena *a);
/* May the client hear this notification of a server? */
bool session_may_hear(struct session_link *sl, struct slice method, const struct msg *m, struct arena *a);
void session_refuse_ask(struct session_link *sl, struct slice server_id, int code, const char *why);
/* A message of the server to that call's client, or outside calls (NULL). False when it cannot be reached. */
bool session_deliver(struct session_link *sl, struct call *call, const struct session_out *out);
void session_cancel(struct session *s, struct msg *m);
/* Asks the client something on behalf of the call, on the call's own stream: call_asked() gets the answer.
 * *ret_id is set before anything is sent; false when the client cannot be asked. */
bool session_ask(struct call *c, struct slice method, struct slice params, uint64_t *ret_id);
/* Nobody waits for the answer any more; the client is told. */
void session_ask_forget(struct session *s, uint64_t id);
/* Waits for what its link is doing; call_resume() follows. */
void session_wait(struct session_link *sl, struct call *call);
void session_wake(struct session_link *sl);
/* The server's standing stream, if the client listens and it has been initialised. */
void session_listen_again(struct session_link *sl);
void session_drop_asks(struct session *s, const struct session_link *from); /* from NULL: all of them */
extern const struct link_events session_link_events;
#define SESSION_OWN_MAGIC 0x0e4e0e4e
#define SESSION_LINK_MAGIC 0x5e5511c4
/* A message of the gate's own. */
void session_send_own(struct session_link *sl, struct slice text, struct slice method, struct link_req *req);
/* The server need not work on this request of ours any more. */
void session_cancel_own(struct session_link *sl, uint64_t id, struct slice reason);
/* A message that is refused before a policy can judge it. It is on record as a denial. */
struct session_refusal {
    enum {
        SESSION_MALFORMED,        /* by the client: it is no message, or not one for this place */
        SESSION_SERVER_MALFORMED, /* by the server */
        SESSION_REFUSED,          /* a request that leads nowhere */
    } kind;
    const struct principal *who;
    const struct session *session;       /* NULL: it came to none */
    const struct session_server *server; /* NULL: not known, or none */
    struct slice method, tool;           /* as far as they are known */
    uint64_t parent;                     /* as in struct call */
    struct slice why;
};
void session_record_refusal(struct session_core *core, const struct session_refusal *r);
/* Key of an id in by_id: the decoded text behind a quote, or the digits. */
struct slice session_id_key(const struct tape *t, uint32_t id, struct arena *a);
