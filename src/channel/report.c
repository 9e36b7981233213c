#include "channel/report.h"

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "call/limits.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/outbox.h"
#include "record/record.h"
#include "server/server.h"

#include <stdio.h>

/* ---- about one request ---- */

static void on_answer(void *call, struct msg *m) {
    struct own_request *own = channel_as_own(call);
    if (own)
        own->answer(own, m);
    else
        call_answer(call, m);
}

static void on_call_failed(struct call *c, const char *why, bool retry) {
    if (!retry || c->lingers || c->tries >= CALL_TRIES_MAX) {
        channel_doubt(c->channel);
        call_set_sent(c, !retry);
        answer_fail(c, why);
        return;
    }
    /* The server has not received it: retry. If the link itself is down, `down` follows and opens another. */
    call_set_sent(c, false);
    if (c->channel->link->is_up) {
        call_resend(c);
    } else {
        call_rewind(c);
        channel_wait(c->channel, c);
    }
}

static void on_failed(void *call, const char *why, bool retry) {
    struct own_request *own = channel_as_own(call);
    if (own)
        own->failed(own, why);
    else
        on_call_failed(call, why, retry);
}

static void on_streaming(void *call, int64_t retry_ms, bool left) {
    if (!channel_as_own(call))
        call_streaming(call, retry_ms, left);
}

static void on_message(void *owner, void *call, struct msg *m) {
    struct channel *ch = owner;
    CHECK_MAGIC(ch, CHANNEL_MAGIC);
    struct own_request *own = call ? channel_as_own(call) : NULL;
    if (own && own->message && !tape_eq(&m->tape, m->rpc.method, SLICE("ping")))
        own->message(own, m);
    else
        ch->session->core->channels->events->message(ch, own ? NULL : call, m);
}

static void on_drained(void *owner) {
    struct channel *ch = owner;
    if (ch->session->front->hold && !ch->link->is_http)
        ch->session->front->hold(ch->session, false);
    channel_wake(ch);
}

/* ---- about the server ---- */

static void put_noise(const struct channel *ch, const char *what, struct slice text) {
    server_put_log(ch->server, text);
    if (what)
        log_server(LOG_WARN, ch->server->up.name, "server `%s`: %s: %.*s", ch->server->up.name, what,
                   SLICE_FMT(text));
    else
        log_server(LOG_INFO, ch->server->up.name, "[%s] %.*s", ch->server->up.name, SLICE_FMT(text));
}

static void log_dropped(const struct up_server *s, const struct up_noise *n, const char *what) {
    log_server(LOG_WARN, s->name, "server `%s`: %llu more %s (%llu bytes) within a second were not written",
               s->name, (unsigned long long)n->missed_lines, what, (unsigned long long)n->missed_bytes);
}

static void log_noise(struct up_noise *n) {
    log_dropped(container_of(n, struct up_server, noise), n, "lines of its own");
}

/* On record as one, with their number. */
static void log_junk(struct up_noise *n) {
    static const struct principal itself = {.id = "server", .grant = ""};
    const struct up_server *s = container_of(n, struct up_server, junk);
    char why[128];
    log_dropped(s, n, "lines that are no messages");
    snprintf(why, sizeof(why), "%llu more that were not recorded one by one",
             (unsigned long long)n->missed_lines);
    record_refusal(container_of(s->core, struct core, up),
                   &(struct refusal){.kind = REFUSAL_SERVER_MALFORMED,
                                     .who = &itself,
                                     .server = container_of(s, const struct server, up),
                                     .why = slice_str(why)});
}

static uint32_t most_lines(const struct up_server *s) {
    return s->core->noise_lines ? s->core->noise_lines : UP_NOISE_LINES;
}

static void on_noise(void *owner, const char *what, struct slice text) {
    struct channel *ch = owner;
    struct up_server *s = &ch->server->up;
    if (up_noise_take(&s->noise, s->core->loop, most_lines(s), text.len, log_noise))
        put_noise(ch, what, text);
}

static void on_malformed(void *owner, const char *why, struct slice text) {
    struct channel *ch = owner;
    struct up_server *s = &ch->server->up;
    if (!up_noise_take(&s->junk, s->core->loop, most_lines(s), text.len, log_junk))
        return;
    put_noise(ch, why, text);
    record_refusal(ch->session->core, &(struct refusal){.kind = REFUSAL_SERVER_MALFORMED,
                                                        .who = ch->session->principal,
                                                        .session = ch->session,
                                                        .server = ch->server,
                                                        .why = slice_str(why)});
}

const struct link_events report_events = {
    .answer = on_answer,
    .failed = on_failed,
    .streaming = on_streaming,
    .message = on_message,
    .up = channel_up,
    .down = channel_down,
    .drained = on_drained,
    .noise = on_noise,
    .malformed = on_malformed,
};
