#include "channel/await.h"

#include "base/mem.h"
#include "call/answer.h"
#include "channel/channel.h"
#include "channel/outbox.h"
#include "server/server.h"

/* Over HTTP the modern era cancels by closing the stream; otherwise a notification is sent. */
void await_cancel(struct call *c, struct slice reason) {
    struct link *link = c->channel ? c->channel->link : NULL;
    if (!link || !c->req.id || c->kind == CALL_INITIALIZE)
        return;
    if (channel_is_modern(c->channel) && link->is_http) {
        link_end(&c->req); /* closing its stream cancels it */
        return;
    }
    channel_cancel(c->channel, c->req.id, reason);
}

static void on_timeout(struct io_timer *timer) {
    struct call *c = container_of(timer, struct call, timer);
    struct slice why = arena_printf(&c->arena, "server `%s` did not answer in time", c->server->up.name);
    call_set_outcome(c, "timeout");
    await_cancel(c, SLICE("timed out"));
    link_end(&c->req);
    answer_fail(c, why.ptr);
}

/* Methods without a time-out. */
static bool waits_forever(const struct call *c) {
    return c->kind == CALL_LISTEN || slice_is(c->method, "tasks/result");
}

void await_touch(struct call *c) {
    if (waits_forever(c))
        return;
    uint64_t age = io_now_ms(c->session->core->up.loop) - c->started_ms;
    uint64_t left = age < CALL_TOTAL_MS ? CALL_TOTAL_MS - age : 0;
    uint64_t own = c->server ? c->server->timeout_ms : 0, silent = own ? own : CALL_IDLE_MS;
    io_timer_arm(c->session->core->up.loop, &c->timer, left < silent ? left : silent, on_timeout);
}

enum call_next await_step(struct call *c) {
    if (c->gather && !c->server) /* it was not sent to a server itself */
        return c->gathering ? CALL_WAIT : CALL_NEXT;
    if (!c->request->rpc.id || c->response)
        return CALL_NEXT;
    if (!c->started_ms) {
        c->started_ms = io_now_ms(c->session->core->up.loop);
        await_touch(c);
    }
    return CALL_WAIT;
}

void await_pause(struct call *c, bool on) {
    struct link *link = c->channel ? c->channel->link : NULL;
    if (!link || !c->req.id)
        return;
    if (link->is_http)
        link_pause(link, &c->req, on);
    else if (!c->session->stateless && c->channel->session == c->session)
        link_pause(link, NULL, on);
}
