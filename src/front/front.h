/* What the fronts of one gate share. Private to this room: other rooms use gate.h. */
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
struct portion;
struct io_tls_ctx;
struct settings;

/* How clients reach the gate through a proxy; proxy.c. */
struct front_public {
    struct io_netmask *proxies; /* trusted */
    size_t proxy_count;
    struct slice origin; /* https://gate.example.com, or empty */
    struct slice host;   /* host of the origin; with the port unless it is the default one */
    bool https;
};

struct gate_worker;

struct front {
    struct core *core;
    struct io_loop *loop;
    struct io_listener *listener;
    uint16_t port;
    const char *bind;
    const struct gate_worker *worker; /* NULL: a gate of one process */
    bool loopback;
    char host[64]; /* the last Host value that was accepted, so that the next equal one needs no check */
    size_t host_len;
    struct front_public public;
    bool not_ready; /* reports not ready, and still accepts */
    bool leaving;   /* another process takes new connections; those here close after their response */
    bool draining;
    struct front_auth *auth;
    struct io_tls_ctx *tls;          /* NULL: plain HTTP */
    struct front_files *secure;      /* the certificate of tls */
    const struct web_site *site;     /* pages and API besides MCP, or NULL */
    struct front_policies *policies; /* for grants; owned by the gate */
    uint32_t conn_count;
    size_t body_bytes;       /* bytes of requests being received from authenticated clients */
    size_t stranger_bytes;   /* the same from unauthenticated clients */
    char tag[FRONT_TAG + 1]; /* identifies this process among its peers; peers.c */
    char *peer_dir;          /* directory of the peers' sockets; NULL: none */
    struct io_listener *peer_listener;
    struct front_nodes *nodes;  /* the gates of the fleet, or NULL; nodes.c */
    struct http_head peer_head; /* scratch: the head of a peer's response */
    uint64_t forwarded_count;   /* requests sent to peers */
    uint32_t relay_count;       /* of them, without an answer yet */
    uint32_t web_count;         /* requests to the site that it answers later */
    uint32_t peer_count;        /* connections from peers, in conn_count too */
    struct map grants;          /* connections by the principal's id: portions */
    struct map grant_sessions;  /* sessions, the same */
    struct map strangers;       /* connections by network */
    struct {                    /* of settings; 0: the default */
        size_t grant_sessions, grant_conns, address_conns;
    } most;
    struct list conns;
    size_t unsent_max; /* ceiling for bytes that all clients together have not read yet */
    struct io_timer unsent_timer;
    uint64_t session_idle_ms;
    struct map sessions;  /* front_session by id */
    struct map stateless; /* sessions of the modern era, one per principal and endpoint */
    struct server
        *only; /* the one server of every endpoint; NULL: many servers, each with its own endpoint */
    struct fleet *fleet;   /* the servers where there are many, or NULL */
    struct http_head head; /* scratch: a head is read and answered in one turn of the loop */
    struct arena scratch;  /* for one turn of the loop */
    struct buf out;        /* scratch: the head of a response */
    char date[40];
    uint64_t date_at_ms;
    char usual[160]; /* the usual first bytes of a response, with that date */
    size_t usual_len;
};

/* ---- http.c: connections ---- */

/* The last credentials of a connection. Clients send the same ones with every request. */
struct front_memo {
    char *shown; /* the Authorization header */
    size_t len;
    uint64_t epoch;
    const struct server *only; /* the endpoint that they were sent to */
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
    bool got_bytes; /* of the current request */
    bool sent_continue;
    bool chunked_on; /* the current response is sent in chunks */
    /* a chunked request body being received */
    struct block *head_copy;
    size_t head_len;
    struct block *body;
    size_t body_len;
    size_t body_counted; /* in front->body_bytes or stranger_bytes */
    bool known;          /* a request of it was authenticated */
    struct portion *share;
    struct http_chunked chunked;
    struct io_timer timer;
    bool peer;      /* from another process of this gate, or of the fleet; peers.c */
    bool from_node; /* from another gate of the fleet; the session may be in another process of this one */
    struct front_relay *relay; /* to another process or gate, or NULL */
    /* the client behind a proxy; proxy.c */
    bool trusted;         /* the peer is a trusted proxy */
    bool expect_proxy_v2; /* its first bytes may be a PROXY protocol header */
    bool v2;              /* it sent a PROXY protocol header */
    bool v2_secure;       /* the client uses TLS to the proxy */
    bool forwarded;       /* the request came through a proxy */
    bool secure;          /* its client uses TLS */
    bool public_host;     /* its Host is the public name */
    bool has_client;      /* `client` is set */
    struct io_address client;
    struct io_address v2_client;
    /* the handler that answers: called when the connection closes or can take more */
    void (*gone)(void *owner);
    void (*drained)(void *owner);
    void (*alive)(void *owner); /* every FRONT_KEEPALIVE_MS while answering */
    void *owner;
    /* of the current request */
    struct principal *principal;
    uint64_t ends_ms;    /* wall clock: when its token expires, if before its grant; 0: together with it */
    struct server *only; /* the server of its endpoint; NULL: all that the principal may use */
    struct slice cookie; /* the console's cookie, if the principal was authenticated by it; in the head */
    bool console;        /* the console's cookie is accepted for this request */
    struct front_memo memo;
    /* while it waits for an issuer's keys, or for the store of sign-ins */
    struct list waiting;
    bool waited;
    bool cookie_waited;
    int cookie_found; /* what the store said */
    struct block *held;
    struct slice held_head;
    struct slice held_body;
};

/* The body of a request exceeds the ceiling and will not be read. */
void front_refuse_large(struct front_conn *c, const struct http_head *head);
/* Called before a body is received: may this client send it? Returns false after responding. */
bool front_admit_body(struct front_conn *c, const struct http_head *head, size_t len);
/* Handles one complete request: responds now, or takes over the connection (front_conn_take). */
void front_request(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);

/* Sends a complete response. The body may be empty; type NULL for none. `extra` are complete header lines. */
void front_answer(struct front_conn *c, int status, const char *type, struct slice extra, struct slice body);
void front_answer_error(struct front_conn *c, int status, int code, struct slice id_raw, const char *message);
/* The same for pages and the admin API: {"error": TEXT}. */
void front_answer_fault(struct front_conn *c, int status, struct slice extra, const char *message);
/* For a body that is not a message, or not one for this endpoint: records it and responds with 400.
 * `session` may be NULL. */
void front_refuse_message(struct front_conn *c, const struct session *session, int code, struct slice id_raw,
                          const char *why);
void front_record_refusal(struct front_conn *c, const struct session *session, const char *why);
/* A response whose body is a message, gathered from its pieces. */
void front_answer_message(struct front_conn *c, int status, struct slice extra,
                          const struct session_out *out);
/* Event stream: head now, events as they occur, then the end. */
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
/* Relays the response of another process: its head, its body in pieces, its end. */
void front_relay_begin(struct front_conn *c, const struct http_head *answer);
void front_relay_body(struct front_conn *c, struct slice bytes);
void front_relay_end(struct front_conn *c);
/* Keeps the request to process it again after front_conn_release(). */
void front_conn_hold(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body);
void front_conn_release(struct front_conn *c);

struct gate_config;
int front_http_start(struct front *f, const struct gate_config *config, struct err *err);
void front_http_hush(struct front *f);  /* accepts no new connections */
void front_http_drain(struct front *f); /* accepts no new work */
void front_http_end(struct front *f);   /* closes sessions and streams in order; what is queued is sent */
void front_http_stop(struct front *f);

/* ---- proxy.c: proxies in front of the gate ---- */
void front_public_set(struct front *f,
                      const struct settings *s); /* texts of the settings must outlive the front */
void front_public_free(struct front *f);
/* A new connection: determines whether its peer is a trusted proxy. */
void front_proxy_enter(struct front_conn *c);
/* The first bytes of such a connection. >= 0: that many bytes are a header; -1: more are needed; -2:
 * malformed. */
ptrdiff_t front_proxy_v2(struct front_conn *c, const char *ptr, size_t len);
/* Called for each request once its head has arrived: determines the client's address. */
void front_proxy_request(struct front_conn *c, const struct http_head *head);
/* Was this request sent from this machine, and to a name of this machine? */
bool front_is_local(const struct front_conn *c);
bool front_is_public_host(const struct front *f, struct slice host);

/* ---- secure.c: HTTPS. The paths must outlive the front; freeing accepts a partly built struct. ---- */
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
    uint64_t sent_seq; /* the last event written to a connection */
    struct list events;
    uint32_t event_count;
    size_t event_bytes;
    struct front_conn *conn; /* the attached connection, or NULL */
    struct call_sink *sink;  /* the call whose answer it carries, or NULL */
    bool done;
    uint64_t done_ms;
};

struct front_session {
    struct session *session;
    struct front *front;
    char id[FRONT_SESSION_ID + 1];
    bool sse;   /* HTTP+SSE: everything goes over one stream that cannot be resumed */
    bool known; /* in the map; the client knows its id */
    struct front_stream standing;
    struct list streams;
    uint32_t stream_count;
    uint32_t last_number;
    struct call_sink sse_sink;
    struct portion *share; /* of its principal */
    struct io_timer idle;
};

/* For the connection's principal, at the endpoint of its request. */
struct front_session *front_session_new(struct front_conn *c, bool sse);
void front_session_close(struct front_session *fs);
void front_session_touch(struct front_session *fs);
/* Also NULL if the session belongs to another principal or another endpoint. */
struct front_session *front_session_find(struct front_conn *c, struct slice id);
/* The session of the modern era; NULL if there are too many. */
struct session *front_stateless(struct front_conn *c);
/* The server is being removed: ends the sessions that lead to it alone. */
void front_forget_server(struct front *f, const struct server *server);
/* Ends what revoked and expired principals have open, and unused stateless sessions. */
void front_sweep(struct front *f);
void front_stateless_close(struct front *f);

struct front_stream *front_stream_new(struct front_session *fs);
/* Attaches the stream to the connection; resends the events after that number. */
void front_stream_attach(struct front_stream *st, struct front_conn *c, uint64_t after_seq,
                         struct slice extra);
bool front_stream_put(struct front_stream *st, const struct session_out *out);
void front_stream_prime(struct front_stream *st);
/* Sends the time after which the client should resume the stream (-1: not known). `left`: the connection
 * is closed now, and the stream continues. */
void front_stream_retry(struct front_stream *st, int64_t retry_ms, bool left);
void front_stream_finish(struct front_stream *st); /* the last event was sent */

void front_mcp(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);
void front_sse_open(struct front_conn *c, struct http_head *head);
void front_sse_post(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);

/* Reads a client's message of that session, if it names one. On a refusal responds here (on the stream of the
 * older transport if the session has one) and returns NULL. */
struct msg *front_read_message(struct front_conn *c, struct block *b, struct slice body,
                               struct slice session_id);
bool front_is_modern_version(struct slice version);
bool front_is_known_version(struct slice version);

/* ---- web.c ---- */
/* Pages of the site; false if the path is not one of them. */
bool front_web(struct front_conn *c, struct http_head *head, struct block *b, struct slice body);

/* ---- plain.c: tools of the servers for programs without MCP ---- */
void front_plain_servers(struct front_conn *c);
void front_plain_tools(struct front_conn *c);
void front_plain_call(struct front_conn *c, struct slice body);

/* ---- stdio.c ---- */
struct front_stdio;
struct front_stdio *front_stdio_start(struct core *core, struct principal *principal, struct server *only,
                                      void (*ended)(void *owner, int status), void *owner);
/* End of input or a signal: lets calls and the child finish, then calls `ended`. */
void front_stdio_finish(struct front_stdio *s, int signal);
void front_stdio_free(struct front_stdio *s);
