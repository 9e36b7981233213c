/* A test stand for links: a scripted HTTP server and a client that writes down what it is told, both on one
 * loop. The server answers each request with the next reply of its script. */
#pragma once

#include "io/net.h"
#include "upstream/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum stand_mode {
    STAND_LENGTH,  /* with Content-Length */
    STAND_CHUNKED, /* in chunks of `chunk` bytes */
    STAND_CLOSE,   /* up to the end of the connection */
    STAND_RAW,     /* `body` is all that is sent */
    STAND_SILENT,  /* the request is read, nothing is said */
    STAND_HANG_UP, /* the connection is closed immediately */
};

/* In body, `@` stands for the id of the request (of the last one that had an id, for a GET). */
struct stand_reply {
    const char *method; /* the request must have it, when set */
    enum stand_mode mode;
    int status;
    const char *type;    /* Content-Type, when set */
    const char *headers; /* further lines, each with CRLF */
    const char *body;
    const char *tail; /* raw bytes behind the response */
    bool early;       /* sent when the head is there; the request's body is never read */
    size_t chunk;
    size_t split;     /* sent in two parts, the first this long; 0 for one part */
    bool drip;        /* the second part goes byte by byte */
    bool hold_open;   /* of a chunked body: the last chunk is never sent */
    const char *push; /* goes as a chunk to the connection that is held open */
    bool end_held;    /* which is closed then */
    bool hang_up;     /* the connection is closed behind it */
};

#define STAND_REQUESTS_MAX 64

struct stand_request {
    char *head;
    char *body;
    int conn; /* number of the connection it came on, from 1 */
    uint64_t at_ms;
};

#define STAND_KEPT_MAX 512

struct stand_conn;

struct stand {
    struct io_loop loop;
    struct io_listener *listener;
    uint16_t port;
    char url[128];
    const struct stand_reply *script;
    size_t script_len;
    size_t script_at;
    struct stand_request requests[STAND_REQUESTS_MAX];
    size_t request_count;
    uint64_t last_id;
    struct list conns;
    struct stand_conn *held;
    int conns_made;
    int conns_open;
    uv_idle_t ticker; /* sends the second parts */
    /* the client */
    struct up_core core;
    struct up_server server;
    struct link *link;
    int ups;
    int downs;
    int down_status;
    char down_why[512];
    int noises;
    struct buf log; /* messages outside of calls, one a line */
    bool close_in_message;
    /* Messages that were kept, and what they said when they came: the bytes must not change under them. */
    struct msg *kept[STAND_KEPT_MAX];
    char *kept_text[STAND_KEPT_MAX];
    size_t kept_count;
};

struct stand_call {
    struct stand *stand;
    struct link_req req;
    int answers;
    int failures;
    bool retry;
    int status; /* of the message */
    char *answer;
    char why[512];
    struct buf log; /* messages on its own stream, one a line */
    int primed;
    int left;
    int64_t retry_ms;
    bool close_in_answer;
    bool close_in_message;
    bool close_in_failed;
    bool end_in_message;
    struct stand_call *then; /* sent inside the answer */
    const char *then_method;
};

void stand_open(struct stand *t, const char *path, const struct stand_reply *script, size_t len);
void stand_link(struct stand *t); /* opens the link and waits until it is up or down */
void stand_close(struct stand *t);
/* Another script, and the requests so far forgotten. */
void stand_again(struct stand *t, const struct stand_reply *script, size_t len);
/* Turns the loop until the value is true; the test fails when that takes too long. */
void stand_until(struct stand *t, const char *what, bool (*done)(struct stand *t, void *arg), void *arg);
void stand_turn(struct stand *t, int turns);

void stand_call_init(struct stand_call *c, struct stand *t);
void stand_call_free(struct stand_call *c);
/* Sends a request, as "initialize" or of the modern era when the method says so with a leading '+'. */
void stand_send(struct stand_call *c, const char *method);
void stand_send_out(struct stand_call *c, struct link_out *out, const char *params);
void stand_note(struct stand *t, const char *method); /* a notification */
void stand_wait(struct stand_call *c);                /* until it is over */
bool stand_has(const char *text, const char *part);

/* What most tests need: one stand with a few calls on it. */
#define STAND_CALLS 4
extern struct stand stand;
extern struct stand_call calls[STAND_CALLS];
void stand_prepare(const char *path, const struct stand_reply *script, size_t len);
void stand_begin(const char *path, const struct stand_reply *script, size_t len); /* with the link up */
void stand_say(size_t call, const char *method);                                  /* sends and waits */
void stand_end(void);
bool stand_is_down(struct stand *t, void *arg);
bool stand_no_conns(struct stand *t, void *arg); /* the client has none any more */
#define STAND_START(path, ...)                                                                               \
    static const struct stand_reply script_[] = {__VA_ARGS__};                                               \
    stand_begin((path), script_, ARRAY_LEN(script_))

#define STAND_JSON "application/json"
#define STAND_EVENTS "text/event-stream"
#define STAND_RESULT(text) "{\"jsonrpc\":\"2.0\",\"id\":@,\"result\":{\"v\":\"" text "\"}}"
#define STAND_NOTE                                                                                           \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                                       \
    "progress\",\"params\":{\"progressToken\":1,\"progress\":1}}"
