/* What the fronts of one gate share. Not for other rooms: they see gate.h. */
#pragma once

#include "call/call.h"
#include "call/principal.h"
#include "front/limits.h"
#include "front/policies.h"
#include "io/net.h"
#include "io/netmask.h"
#include "server/server.h"
#include "session/web.h"

struct front_conn;
struct front_relay;
struct front_files;
struct front_nodes;
struct front_share;
struct io_tls_ctx;
struct settings;

/* How clients reach the gate when something stands in front of it; proxy.c. */
struct front_public {
    struct io_netmask *proxies; /* that are believed */
    size_t proxy_count;
    struct slice origin; /* https://gate.example.com, or empty */
    struct slice host;   /* of it, with its port unless that is the usual one */
    bool https;
};

struct gate_worker;

struct front {
    struct core *core;
    struct io_loop *loop;
    struct io_listener *listener;
    uint16_t port;
    const char *bind;
    const struct gate_worker *worker; /* NULL: this gate is one process */
    bool loopback;
    char host[64]; /* the last one that was found to name it, so that most need no second look */
    size_t host_len;
    struct front_public public;
    bool not_ready; /* about to end, and still accepting */
    bool leaving;   /* another process takes new connections: those here end after their answer */
    bool draining;
    struct front_auth *auth;
    struct io_tls_ctx *tls;          /* NULL: plain HTTP */
    struct front_files *secure;      /* its certificate */
    const struct web_site *site;     /* what is served beside MCP, or NULL */
    struct front_policies *policies; /* of grants; the gate's */
    uint32_t conn_count;
    size_t body_bytes;       /* of requests that are arriving, from clients that are known */
    size_t stranger_bytes;   /* and from others */
    char tag[FRONT_TAG + 1]; /* this process among its peers; peers.c */
    char *peer_dir;          /* where they are found; NULL: nowhere */
    struct io_listener *peer_listener;
    struct front_nodes *nodes;  /* the gates of the fleet, or NULL; nodes.c */
    struct http_head peer_head; /* scratch: of an answer from a peer */
    uint64_t forwarded_count;   /* requests sent to peers */
    uint32_t relay_count;       /* of them, without an answer yet */
    uint32_t web_count;         /* requests to the site that it answers later */
    uint32_t peer_count;        /* connections from peers, in conn_count too */
    struct map grants;          /* front_share by the principal's id */
    struct map strangers;       /* by network */
    struct list conns;
    size_t unsent_max; /* bytes that all clients together may leave unread */
    struct io_timer unsent_timer;
    uint64_t session_idle_ms;
    struct map sessions;   /* front_session by id */
    struct map stateless;  /* sessions of the modern era: one a principal and endpoint */
    struct server *only;   /* that the endpoint leads to; NULL: many, each with an endpoint of its own */
    struct fleet *fleet;   /* those many, or NULL */
    struct http_head head; /* scratch: a head is read and answered in one turn */
    struct arena scratch;  /* of one turn */
    struct buf out;        /* scratch: the head of an answer */
    char date[40];
    uint64_t date_at_ms;
    char usual[160]; /* with that date: what nearly every answer begins with */
    size_t usual_len;
};

/* ---- http.c: connections ---- */

/* What a connection showed last: clients show the same with every request. */
struct front_memo {
    char *shown; /* the Authorization header */
    size_t len;
    uint64_t epoch;
    const struct server *only; /* the endpoint it was shown at */
    struct principal *principal;
};

enum front_conn_state { FRONT_READING, FRONT_ANSWERING, FRONT_STREAMING };

struct front_conn {
    uint32_t magic;
    struct front *front;
    struct io_conn *io;
    struct list node;
    enum front_conn_state state;
    bool keep_alive;
    bool http10;
    bool head_only;
    bool got_bytes; /* of the request being read */
    bool told_continue;
    bool chunked_on; /* the answer under way is sent in chunks */
    /* a chunked request body in the making */
    struct block *head_copy;
    size_t head_len;
    struct block *body;
    size_t body_len;
    size_t body_counted; /* in front->body_bytes or stranger_bytes */
    bool known;          /* a request of it was authenticated */
    struct front_share *share;
    struct http_chunked chunked;
    struct io_timer timer;
    bool peer;                 /* from another process of this gate, or of the fleet; peers.c */
    bool from_node;            /* from another gate: this one's processes may have what it asks for */
    struct front_relay *relay; /* to one, or NULL */
    /* who is really at the other end; proxy.c */
    bool trusted;     /* a proxy that is believed */
    bool look_v2;     /* its first bytes may be a header of the PROXY protocol */
    bool v2;          /* and were */
    bool v2_secure;   /* the client spoke TLS to the proxy */
    bool forwarded;   /* the request came through a proxy */
    bool secure;      /* and its client speaks TLS */
    bool public_host; /* it names us by our public name */
    bool has_client;  /* `client` is known */
    struct io_address client;
    struct io_address v2_client;
    /* the handler that is answering: called when the connection closes or can take more */
    void (*gone)(void *owner);
    void (*drained)(void *owner);
    void (*alive)(void *owner); /* every FRONT_KEEPALIVE_MS while answering */
    void *owner;
    /* of the request being answered */
    struct principal *principal;
    uint64_t ends_ms;    /* wall clock: when the token that it showed ends before its grant; 0: with it */
    struct server *only; /* the server of its endpoint, NULL for all that the principal may use */
    struct slice cookie; /* of the console, where that is how the principal is known; in the head */
    bool console;        /* the request may be known by it */
    struct front_memo memo;
    /* while it waits for the keys of an issuer */
    struct list waiting;
    bool waited;
    struct block *held;
    struct slice held_head;
    struct slice held_body;
};

/* The body of a request is over the ceiling and will not be read. */
void front_refuse_large(struct front_conn *c, const struct http_head *head);
/* Before a body is read that is not here yet: may this client send it? False: answered. */
bool front_admit_body(struct front_conn *c, const struct http_head *head, size_t len);
/* One complete request; answers now or takes the connection over (front_conn_take). */
void front_request(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);

/* A whole answer. The body may be empty; type NULL for none. `extra` are complete header lines. */
void front_answer(struct front_conn *c, int status, const char *type, struct slice extra, struct slice body);
void front_answer_error(struct front_conn *c, int status, int code, struct slice id_raw, const char *message);
/* The same for pages and the admin API: {"error": TEXT}. */
void front_answer_fault(struct front_conn *c, int status, struct slice extra, const char *message);
/* A body that is not a message, or not one for this endpoint: recorded, and answered with 400. `session` may
 * be NULL. */
void front_refuse_message(struct front_conn *c, const struct session *session, int code, struct slice id_raw,
                          const char *why);
void front_record_refusal(struct front_conn *c, const struct session *session, const char *why);
/* An answer whose body is a message, gathered from its pieces. */
void front_answer_message(struct front_conn *c, int status, struct slice extra,
                          const struct session_out *out);
/* Event stream: head now, events as they come, then the end. */
void front_events_begin(struct front_conn *c, struct slice extra);
void front_events_put(struct front_conn *c, struct slice type, struct slice id,
                      const struct session_out *out);
void front_events_text(struct front_conn *c, struct slice text); /* comments, retry, stored events */
void front_events_end(struct front_conn *c);
void front_conn_take(struct front_conn *c, void *owner, void (*gone)(void *), void (*drained)(void *),
                     void (*alive)(void *));
void front_conn_close(struct front_conn *c);
/* A connection from another process of this gate. */
void front_conn_from_peer(struct io_listener *l, void *owner, int take_fd);
/* The same from another gate of the fleet; it must show the fleet's certificate. */
void front_conn_from_node(struct front *f, int take_fd, struct io_tls_ctx *tls);
/* The answer of another process: its head, its body in pieces, its end. */
void front_relay_begin(struct front_conn *c, const struct http_head *answer);
void front_relay_body(struct front_conn *c, struct slice bytes);
void front_relay_end(struct front_conn *c);
/* Keeps the request, to be processed again after front_conn_release(); the connection has been taken. */
void front_conn_hold(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body);
void front_conn_release(struct front_conn *c);

struct gate_config;
int front_http_start(struct front *f, const struct gate_config *config, struct err *err);
void front_http_hush(struct front *f);  /* no new connections */
void front_http_drain(struct front *f); /* and no new work */
void front_http_end(struct front *f);   /* sessions and streams end in good order; what is queued is sent */
void front_http_stop(struct front *f);

/* ---- proxy.c: what stands in front of the gate ---- */
void front_public_set(struct front *f, const struct settings *s); /* texts of the settings stay in use */
void front_public_free(struct front *f);
/* A new connection: is its peer a proxy that is believed? */
void front_proxy_enter(struct front_conn *c);
/* The first bytes of such a connection. >= 0: so many are a header; -1: more are needed; -2: it is malformed.
 */
ptrdiff_t front_proxy_v2(struct front_conn *c, const char *ptr, size_t len);
/* Each request, once its head has arrived: determines the client's address. */
void front_proxy_request(struct front_conn *c, const struct http_head *head);
/* Is this request from this machine, and addressed to it? */
bool front_is_local(const struct front_conn *c);
bool front_is_public_host(const struct front *f, struct slice host);

/* ---- secure.c: HTTPS. The paths outlive the front; half-made is fine for freeing. ---- */
int front_secure_new(struct front *f, const char *cert, const char *key, const char *client_ca,
                     struct err *err);
void front_secure_free(struct front *f);

/* ---- mcp.c: Streamable HTTP of both eras; sse.c: the older transport ---- */
struct front_session;

struct front_stream { /* one event stream of a session; outlives its connections */
    struct list node;
    struct front_session *session;
    uint32_t number;
    uint64_t next_seq;
    uint64_t sent_seq; /* the last one written to a connection */
    struct list events;
    uint32_t event_count;
    size_t event_bytes;
    struct front_conn *conn; /* attached, or NULL */
    struct call_sink *sink;  /* the call it carries, or NULL */
    bool done;
    uint64_t done_ms;
};

struct front_session {
    struct session *session;
    struct front *front;
    char id[FRONT_SESSION_ID + 1];
    bool sse;   /* HTTP+SSE: everything goes over one stream that cannot be resumed */
    bool known; /* in the map: the client knows its id */
    struct front_stream standing;
    struct list streams;
    uint32_t stream_count;
    uint32_t last_number;
    struct call_sink sse_sink;
    struct front_share *share; /* of its principal */
    struct io_timer idle;
};

/* Of the connection's principal, at the endpoint it came to. */
struct front_session *front_session_new(struct front_conn *c, bool sse);
void front_session_close(struct front_session *fs);
void front_session_touch(struct front_session *fs);
/* NULL also when it belongs to another principal, or to another endpoint. */
struct front_session *front_session_find(struct front_conn *c, struct slice id);
/* The session of the modern era; NULL when there are too many. */
struct session *front_stateless(struct front_conn *c);
/* The server is going away: sessions that led to it alone end. */
void front_forget_server(struct front *f, const struct server *server);
/* Ends what principals have open that may do nothing any more, and unused stateless sessions. */
void front_sweep(struct front *f);
void front_stateless_close(struct front *f);

struct front_stream *front_stream_new(struct front_session *fs);
/* The connection carries the stream from now on; events after that number are sent again. */
void front_stream_attach(struct front_stream *st, struct front_conn *c, uint64_t after_seq,
                         struct slice extra);
bool front_stream_put(struct front_stream *st, const struct session_out *out);
void front_stream_prime(struct front_stream *st);
/* Tells the client after what time (-1: not known) to resume the stream; left: the connection is closed now,
 * and the stream continues. */
void front_stream_retry(struct front_stream *st, int64_t retry_ms, bool left);
void front_stream_finish(struct front_stream *st); /* the last event is out */

void front_mcp(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);
void front_sse_open(struct front_conn *c, struct http_head *head);
void front_sse_post(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);

/* Reads a client's message. A refusal is answered here, on the stream of the older transport where `sse` is
 * given, and returns NULL. */
struct msg *front_read_message(struct front_conn *c, struct block *b, struct slice body,
                               struct call_sink *sse);
bool front_is_modern_version(struct slice version);
bool front_is_known_version(struct slice version);

/* ---- web.c ---- */
/* Pages of the site; false when the path is none of its. */
bool front_web(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);

/* ---- plain.c: the servers' tools for programs without MCP ---- */
void front_plain_servers(struct front_conn *c);
void front_plain_tools(struct front_conn *c);
void front_plain_call(struct front_conn *c, struct slice body);

/* ---- stdio.c ---- */
struct front_stdio;
struct front_stdio *front_stdio_start(struct core *core, struct principal *principal, struct server *only,
                                      void (*ended)(void *owner, int status), void *owner);
/* End of input or a signal: lets calls and the child finish, then `ended`. */
void front_stdio_finish(struct front_stdio *s, int signal);
void front_stdio_free(struct front_stdio *s);
