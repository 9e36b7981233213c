#include "upstream/reply.h"

#include "base/mem.h"
#include "upstream/bearer.h"

#include <stdio.h>

/* ---- errors ---- */

static bool mentions_session(struct slice text) {
    text = slice_upto(text, UP_ERROR_TEXT_MAX);
    return slice_has_nocase(text, SLICE("session")) || slice_has_nocase(text, SLICE("not initialized"));
}

static void error_take(const struct tape *t, const struct rpc *rpc, struct up_error *out) {
    int64_t id;
    out->is_error = true;
    if (rpc->id) /* an id that is not a number is not one of ours */
        out->id = tape_int(t, rpc->id, &id) ? (uint64_t)id : UINT64_MAX;
    uint32_t code = tape_get_str(t, rpc->body, "code");
    uint32_t message = tape_get_str(t, rpc->body, "message");
    if (code && !tape_int(t, code, &out->code))
        out->code = 0;
    bool of_transport = out->code == -32000 || out->code == -32001 || out->code == RPC_INVALID_REQUEST;
    out->on_session = of_transport && message && mentions_session(tape_raw(t, message));
}

void up_error_read(struct slice body, struct up_error *out) {
    *out = (struct up_error){0};
    struct tape t;
    struct rpc rpc;
    const char *why;
    tape_init(&t);
    if (tape_parse(&t, body, NULL) == TAPE_OK && rpc_read(&t, &rpc, &why) == 0 && rpc.kind == RPC_ERROR)
        error_take(&t, &rpc, out);
    else
        out->on_session = mentions_session(body);
    tape_free(&t);
}

/* The server's text, as one line of plain characters. */
static void plain(struct slice text, char out[UP_ERROR_TEXT_MAX + 1]) {
    text = slice_upto(slice_trim(text), UP_ERROR_TEXT_MAX);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        out[i] = c >= 0x20 && c < 0x7f ? c : c == '\n' || c == '\r' || c == '\t' ? ' ' : '?';
    }
    out[text.len] = '\0';
}

void up_refusal_text(const struct up_server *s, int status, const char *where, struct slice body,
                     char why[UP_WHY_MAX]) {
    char words[UP_ERROR_TEXT_MAX + 1];
    if (status == 401 || status == 403) {
        char command[UP_COMMAND_MAX];
        bool more = status == 403 && s->challenge.insufficient;
        up_challenge_command(s, command);
        snprintf(why, UP_WHY_MAX, "server `%s` %s (HTTP %d)%s%s%s", s->name,
                 more ? "requires a token with more scopes" : "refused our credentials", status,
                 s->challenge.login ? "; run `" : "", s->challenge.login ? command : "",
                 s->challenge.login ? "`" : "");
        return;
    }
    if (status >= 300 && status < 400) {
        plain(slice_str(where), words);
        snprintf(
            why, UP_WHY_MAX,
            "server `%s` answered with a redirect (HTTP %d)%s%s; redirects are not followed: write the URL "
            "that it leads to",
            s->name, status, where ? " to " : "", words);
        return;
    }
    plain(body, words);
    snprintf(why, UP_WHY_MAX, "server `%s` answered HTTP %d%s%s", s->name, status, words[0] ? ": " : "",
             words);
}

/* ---- marks ---- */

void up_mark_note(struct up_mark *m, const struct sse_event *e) {
    m->fruitless = 0;
    if (e->has_retry) {
        m->asked = true;
        m->retry_ms = e->retry_ms < UP_RETRY_ASKED_MAX_MS ? e->retry_ms : UP_RETRY_ASKED_MAX_MS;
    }
    if (!e->has_id)
        return;
    free(m->last_id);
    m->last_id = NULL;
    /* With an id that does not fit into a header the stream cannot be resumed. */
    if (e->id.len && e->id.len <= UP_EVENT_ID_MAX && http_value_ok(e->id))
        m->last_id = mem_dup(e->id.ptr, e->id.len);
}

uint64_t up_mark_delay_ms(const struct up_mark *m) {
    uint64_t first = m->asked ? m->retry_ms : UP_RETRY_MS;
    uint64_t most = first > UP_RETRY_MAX_MS ? first : UP_RETRY_MAX_MS;
    /* A retry time of 0 is accepted once, not repeatedly. */
    uint64_t base = m->fruitless > 1 && first < IO_TIMER_TICK_MS ? IO_TIMER_TICK_MS : first;
    uint64_t delay = base << (m->fruitless > 1 ? (m->fruitless < 16 ? m->fruitless - 1 : 15) : 0);
    return delay < most ? delay : most;
}

void up_mark_free(struct up_mark *m) {
    free(m->last_id);
    *m = (struct up_mark){0};
}
