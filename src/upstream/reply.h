/* Interprets a server's response, beyond the message in it. */
#pragma once

#include "upstream/server.h"
#include "wire/sse.h"

#define UP_WHY_MAX (512 + UP_COMMAND_MAX)

/* The body of an error, as far as the transport needs it. */
struct up_error {
    bool is_error; /* a JSON-RPC error; only then id and code are set */
    uint64_t id;   /* 0 when it names none */
    int64_t code;
    bool on_session; /* the error is about a missing session */
};
void up_error_read(struct slice body, struct up_error *out);

/* Why a response with that status is unusable, as text; `where` is its Location, or NULL. */
void up_refusal_text(const struct up_server *s, int status, const char *where, struct slice body,
                     char why[UP_WHY_MAX]);

/* The position in a stream, so that it can be resumed. All-zero is a new stream. */
struct up_mark {
    char *last_id;
    bool asked; /* retry_ms is the server's value */
    uint64_t retry_ms;
    uint32_t fruitless; /* consecutive attempts without an event */
};
void up_mark_note(struct up_mark *m, const struct sse_event *e);
/* How long to wait before the next attempt. */
uint64_t up_mark_delay_ms(const struct up_mark *m);
static inline int64_t up_mark_retry_ms(const struct up_mark *m) {
    return m->asked ? (int64_t)m->retry_ms : -1;
}
void up_mark_free(struct up_mark *m);
