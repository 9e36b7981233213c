#include "many/sweep.h"

#include "base/log.h"
#include "base/mem.h"
#include "channel/channel.h"
#include "channel/health.h"
#include "channel/limits.h"
#include "many/shared.h"
#include "server/server.h"

static void sweep_session(struct session *s, uint64_t now) {
    for (size_t i = 0; i < s->channel_count; i++) {
        struct channel *ch = s->channels[i];
        if (!ch || ch->state != CHANNEL_READY || !ch->server->idle_ms || ch->subscribed.count)
            continue;
        if (ch->users || ch->link->reqs.used || !list_empty(&ch->waiting) ||
            now - ch->used_ms < ch->server->idle_ms)
            continue;
        log_server(LOG_INFO, ch->server->up.name, "server `%s` is idle: ended until it is needed",
                   ch->server->up.name);
        channel_rest(ch);
    }
}

static void on_sweep(struct io_timer *timer) {
    struct many *many = container_of(timer, struct many, sweep);
    struct core *core = many->core;
    uint64_t now = io_now_ms(core->up.loop);
    health_sweep(core);
    shared_sweep(core);
    LIST_FOR (n, &core->sessions) {
        sweep_session(container_of(n, struct session, node), now);
    }
    io_timer_arm(core->up.loop, timer, SWEEP_MS, on_sweep);
}

void sweep_start(struct core *core) {
    health_start(core);
    io_timer_arm(core->up.loop, &core->many->sweep, SWEEP_MS, on_sweep);
}
