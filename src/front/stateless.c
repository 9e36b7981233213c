/* Sessions of the modern era, one per principal and endpoint. Also ends sessions whose principal is
 * revoked or expired. */
#include "base/clock.h"
#include "base/mem.h"
#include "front/front.h"
#include "session/session.h"

/* The modern session of a principal at one endpoint. */
struct stateless {
    const void *key[2];
    struct session *session;
    uint64_t used_ms;
};

/* Such a client receives nothing outside its own requests. */
static const struct session_front stateless_front = {0};

struct session *front_stateless(struct front_conn *c) {
    struct front *f = c->front;
    const void *key[2] = {c->principal, c->only};
    struct stateless *s = map_get(&f->stateless, slice_of((const char *)key, sizeof(key)));
    if (!s && f->core->session_count >= SESSION_MAX)
        return NULL;
    if (!s) {
        s = mem_zalloc(sizeof(*s));
        memcpy(s->key, key, sizeof(key));
        s->session = session_new(f->core, &stateless_front, f, c->principal, c->only, true);
        map_put(&f->stateless, slice_of((const char *)s->key, sizeof(s->key)), s);
    }
    s->used_ms = io_now_ms(f->loop);
    return s->session;
}

static void stateless_end(struct front *f, struct stateless *s) {
    map_remove(&f->stateless, slice_of((const char *)s->key, sizeof(s->key)));
    session_close(s->session);
    free(s);
}

void front_stateless_close(struct front *f) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&f->stateless, &at))) {
        stateless_end(f, e->value);
        at = 0;
    }
    map_free(&f->stateless);
}

static struct front_conn *overdue_stream(struct front *f, uint64_t wall_ms) {
    LIST_FOR (n, &f->conns) {
        struct front_conn *c = container_of(n, struct front_conn, node);
        bool over =
            c->ends_ms ? c->ends_ms <= wall_ms : c->principal && principal_fault(c->principal, wall_ms);
        if (c->state == FRONT_STREAMING && over)
            return c;
    }
    return NULL;
}

/* After a 401 a client knows that its token has expired, gets a new one and continues. */
static bool may_be_refreshed(const struct principal *p, uint64_t wall_ms) {
    return p->kind == PRINCIPAL_TOKEN && !p->revoked && wall_ms < p->expires_ms + FRONT_REFRESH_MS;
}

/* Why sessions end: their principal was revoked or has expired, or their server was removed. */
struct ending {
    uint64_t wall_ms, now_ms, idle_ms;
    const struct server *server; /* NULL: check the principals */
};

static bool session_ends(const struct session *s, const struct ending *why) {
    if (why->server)
        return s->only == why->server;
    return principal_fault(s->principal, why->wall_ms) && !may_be_refreshed(s->principal, why->wall_ms);
}

static bool stateless_ends(const struct stateless *s, const struct ending *why) {
    if (why->server)
        return s->session->only == why->server;
    return principal_fault(s->session->principal, why->wall_ms) ||
           (s->session->call_count == 0 && why->now_ms - s->used_ms > why->idle_ms);
}

/* Closing one changes the map, so the iteration restarts. */
static void end_sessions(struct front *f, const struct ending *why) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&f->sessions, &at))) {
        struct front_session *fs = e->value;
        if (!session_ends(fs->session, why))
            continue;
        front_session_close(fs);
        at = 0;
    }
    at = 0;
    while ((e = map_next(&f->stateless, &at))) {
        struct stateless *s = e->value;
        if (!stateless_ends(s, why))
            continue;
        stateless_end(f, s);
        at = 0;
    }
}

void front_sweep(struct front *f) {
    struct ending why = {
        .wall_ms = clock_wall_ms(), .now_ms = io_now_ms(f->loop), .idle_ms = f->session_idle_ms};
    /* Only streams can outlive a client's token. Ending one may end others. */
    for (struct front_conn *c; (c = overdue_stream(f, why.wall_ms));)
        front_conn_close(c);
    end_sessions(f, &why);
}

void front_forget_server(struct front *f, const struct server *server) {
    end_sessions(f, &(struct ending){.server = server});
}
