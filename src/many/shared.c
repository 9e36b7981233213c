#include "many/shared.h"

#include "base/clock.h"
#include "base/mem.h"
#include "call/client.h"
#include "call/principal.h"
#include "channel/channel.h"

/* Such a server gets no client's capabilities: its questions could not be assigned to a client. */
static const char pool_init[] =
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":"
    "\"sallyport\",\"version\":\"" SALLYPORT_VERSION "\"}}";

/* Its list notifications go to all sessions that use it; other messages cannot be assigned to one of them. */
static bool pool_deliver(struct session *pool, const struct session_out *out) {
    bool lists =
        out->msg ? tape_path(&out->msg->tape, 0, "method", NULL) &&
                       slice_ends(tape_raw(&out->msg->tape, out->msg->rpc.method), SLICE("list_changed\""))
                 : true;
    if (!lists || out->is_request)
        return false;
    LIST_FOR (n, &pool->core->sessions) {
        struct session *s = container_of(n, struct session, node);
        if (s != pool && s->principal == pool->principal && !s->stateless && s->initialized)
            s->front->deliver(s, out);
    }
    return true;
}

static const struct session_front pool_front = {.deliver = pool_deliver};

struct session *shared_session_of(struct session *s) {
    struct core *core = s->core;
    LIST_FOR (n, &core->many->pools) {
        struct session *pool = container_of(n, struct session, pool_node);
        if (pool->principal == s->principal)
            return pool;
    }
    struct session *pool = core->many->sessions->open(core, &pool_front, NULL, s->principal, NULL, false);
    pool->pool = pool->initialized = true;
    client_keep_initialize(pool, SLICE(pool_init));
    list_push(&core->many->pools, &pool->pool_node);
    return pool;
}

/* A pool without links is created again when it is needed. */
void shared_sweep(struct core *core) {
    LIST_FOR_SAFE (n, next, &core->many->pools) {
        struct session *pool = container_of(n, struct session, pool_node);
        bool used = false;
        for (size_t i = 0; i < pool->channel_count; i++) {
            const struct channel *ch = pool->channels[i];
            bool up = ch && ch->state != CHANNEL_DOWN;
            bool busy = ch && (ch->users || !list_empty(&ch->waiting) || (ch->link && ch->link->reqs.used));
            used |= busy || (up && !principal_fault(pool->principal, clock_wall_ms()));
        }
        if (!used)
            core->many->sessions->close(pool);
    }
}
