/* A live association with one MCP server: a child process on pipes, a Streamable HTTP endpoint, or the older
 * HTTP+SSE. Whatever the transport, a link sends messages, gives out the ids under which requests travel,
 * and hands back responses to their requests and everything else to its owner.
 *
 *      session ── link_begin / link_send ──▶ link ──▶ child | http | sse | builtin
 *         ▲                                   │
 *         └── link_events: answer, failed, message, up, down
 */
#pragma once

#include "base/slots.h"
#include "upstream/era.h"
#include "upstream/server.h"
#include "wire/splice.h"

struct link;

void up_server_init(struct up_server *s, struct up_core *core);
int up_server_set_url(struct up_server *s, const char *url, struct err *err);
/* Frees all connections, including those that only carry the DELETE of a session; owners close their links
 * first. A closed link may still wait for its child to end: `unused` (may be NULL) is called when none is
 * left, now or later. */
void up_server_close(struct up_server *s, void (*unused)(struct up_server *s));

/* A request that is under way; lives inside its call. */
struct link_req {
    uint64_t id; /* 0 when not under way */
    struct link *link;
    void *call;
    void *exchange; /* the transport's own */
    bool opens;     /* it is initialize */
    int status;     /* when it failed: the HTTP status of the failure, 0 when there was none */
};

/* A message on its way to the server. */
struct link_out {
    const struct splice *text;
    struct block *block;        /* holds text->src, or NULL when that must be copied */
    struct slice method;        /* decoded; empty for responses */
    struct slice name;          /* decoded tool, prompt or URI, for the mirrored header; empty for none */
    struct slice extra_headers; /* complete lines, each with CRLF */
    bool modern;                /* mirrored headers, no session */
    bool opens;                 /* initialize: starts a new session with the server */
    bool inner;                 /* made inside the gate, by code in the sandbox */
    uint64_t record;            /* the call's number in the audit log, or 0 */
};

struct link_events {
    /* The response to a request; the request is over. */
    void (*answer)(void *call, struct msg *m);
    /* There will be no response; the request is over. retry: a repetition is safe, because the server has
     * not executed it or its method has no side effects. If link->is_up, the link still works; else `down`
     * follows when the other requests have failed, too. */
    void (*failed)(void *call, const char *why, bool retry);
    /* The server opened a stream for this request, and may close it (retry_ms, or -1) to be resumed later. */
    void (*streaming)(void *call, int64_t retry_ms, bool left);
    /* A notification or request of the server; `call` when it came on that request's own stream. */
    void (*message)(void *owner, void *call, struct msg *m);
    void (*up)(void *owner);
    /* The link is unusable; close it. Its requests have already failed. */
    void (*down)(void *owner, const char *why, int exit_status);
    void (*drained)(void *owner);                                    /* it was busy and is not any more */
    void (*noise)(void *owner, const char *what, struct slice text); /* for the log */
    void (*malformed)(void *owner, const char *why,
                      struct slice text); /* it sent something that is not a message */
};

struct link_ops {
    void (*start)(struct link *l);
    bool (*send)(struct link *l, const struct link_out *out, struct link_req *req);
    void (*abandon)(struct link *l, struct link_req *req); /* the request was cancelled: closes its stream */
    void (*listen)(struct link *l);                        /* open the standing stream, where there is one */
    void (*pause)(struct link *l, struct link_req *req, bool on);
    bool (*busy)(const struct link *l);
    /* No more messages will be sent: lets the server finish; `down` follows. NULL: immediately. */
    void (*finish)(struct link *l);
    void (*signal)(struct link *l, int signal); /* to a child; NULL for others */
    void (*close)(struct link *l);              /* frees the link, now or when the transport is gone */
};

struct link {
    uint32_t magic;
    const struct link_ops *ops;
    struct up_server *server;
    const struct link_events *events;
    void *owner; /* NULL once closed */
    struct slots reqs;
    bool is_up;
    bool closed;
    bool paused;             /* reading from it is paused; over HTTP: outside requests */
    uint32_t received;       /* number of received messages */
    int pid;                 /* of a child that has started, else 0 */
    struct portion *process; /* the owner of its child; NULL: it is not counted */
    /* Streams show which request a message belongs to (HTTP); pipes do not. */
    bool is_http;
    char version[16]; /* negotiated protocol version, for the header; empty before */
};

#define LINK_MAGIC 0x11440b1e

/* What `down` reports in place of a child's exit status. */
#define LINK_LOST (-1)       /* the server is reachable, but has lost our session: open a new link */
#define LINK_FAILED (1 << 8) /* the server cannot be reached */

/* Chooses the transport by the server's settings. `up` or `down` follows, never before this returns. */
struct link *link_open(struct up_server *server, const struct link_events *events, void *owner);
/* Its child process counts as that owner's until it has exited. */
void link_count_process(struct link *l, struct slice owner);
/* Registers the request and gives it its id; false when too many are under way. */
bool link_begin(struct link *l, struct link_req *req, void *call);
/* req NULL for notifications and responses. False: not sent (and the request not failed yet). */
bool link_send(struct link *l, const struct link_out *out, struct link_req *req);
/* Forgets a request; its late answer is dropped. Has no effect on one that is over. */
void link_end(struct link_req *req);
/* The request continues with another owner. */
void link_move(struct link_req *from, struct link_req *to, void *call);
/* The request of that id, or NULL: for progress tokens and subscription ids. */
struct link_req *link_find(struct link *l, uint64_t id);
static inline bool link_busy(const struct link *l) { return l->ops->busy(l); }
static inline void link_pause(struct link *l, struct link_req *req, bool on) {
    l->paused = req ? l->paused : on;
    l->ops->pause(l, req, on);
}
static inline void link_listen(struct link *l) { l->ops->listen(l); }
/* False when there is nothing to wait for. */
bool link_finish(struct link *l);
bool link_signal(struct link *l, int signal);
/* The server does not respond: kills a child, fails requests; `down` follows immediately. */
void link_give_up(struct link *l, const char *why);
void link_close(struct link *l); /* no event comes after this; NULL is fine */

/* ---- for the transports ---- */
extern const struct link_ops link_child_ops;
extern const struct link_ops link_http_ops;
extern const struct link_ops link_sse_ops;
extern const struct link_ops link_builtin_ops;
struct link *link_child_new(void);
struct link *link_http_new(void);
struct link *link_sse_new(void);
struct link *link_builtin_new(void);
/* A complete message arrived; `from` is the request on whose own stream it came, or NULL. */
void link_received(struct link *l, struct block *b, struct slice bytes, struct link_req *from,
                   int http_status);
void link_fail_req(struct link_req *req, const char *why, bool retry);
void link_fail_all(struct link *l, const char *why);
void link_free_base(struct link *l);
