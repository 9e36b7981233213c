#include "front/share.h"

#include "base/mem.h"
#include "front/auth.h"
#include "front/front.h"
#include "io/conn.h"

static struct front_share *share_ref(struct map *home, struct slice key) {
    struct front_share *s = map_get(home, key);
    if (!s) {
        s = mem_zalloc(sizeof(*s) + key.len);
        s->home = home;
        s->key_len = key.len;
        if (key.len) /* a client on a Unix socket has no network */
            memcpy(s->key, key.ptr, key.len);
        map_put(home, slice_of(s->key, s->key_len), s);
    }
    s->refs++;
    return s;
}

static void share_unref(struct front_share *s) {
    if (--s->refs)
        return;
    map_remove(s->home, slice_of(s->key, s->key_len));
    free(s);
}

static struct front_share *share_of(struct front_conn *c) {
    struct front_share *s = share_ref(&c->front->grants, slice_str(c->principal->id));
    s->is_whole = c->principal->kind == PRINCIPAL_LOCAL;
    return s;
}

/* ---- connections ---- */

static size_t *pool_of(struct front_conn *c) {
    return c->known ? &c->front->body_bytes : &c->front->stranger_bytes;
}

static void count_bytes(struct front_conn *c, size_t more) {
    *pool_of(c) += more;
    c->share->bytes += more;
    c->body_counted += more;
}

void front_share_bytes_end(struct front_conn *c) {
    *pool_of(c) -= c->body_counted;
    c->share->bytes -= c->body_counted;
    c->body_counted = 0;
}

static void move_to(struct front_conn *c, struct front_share *take_share, bool known) {
    const size_t counted = c->body_counted;
    if (c->share)
        front_share_leave(c);
    c->share = take_share;
    c->known = known;
    take_share->conns++;
    count_bytes(c, counted);
}

void front_share_leave(struct front_conn *c) {
    front_share_bytes_end(c);
    c->share->conns--;
    share_unref(steal(c->share));
}

void front_share_enter(struct front_conn *c) {
    struct slice network = c->has_client ? io_address_network(&c->client) : (struct slice){0};
    struct front_share *share = share_ref(&c->front->strangers, network);
    if (c->share == share)
        share_unref(share);
    else
        move_to(c, share, false);
}

bool front_share_claim(struct front_conn *c) {
    struct front *f = c->front;
    struct front_share *share = share_of(c);
    if (c->known && c->share == share) {
        share_unref(share);
        return true;
    }
    if (share->is_whole || share->conns < FRONT_CONNS_MAX - f->conn_count) {
        move_to(c, share, true);
        return true;
    }
    share_unref(share);
    c->keep_alive = false;
    front_answer_error(c, 503, RPC_INTERNAL, (struct slice){0},
                       "this grant has too many connections open; close some, or reuse them");
    return false;
}

/* The oldest connection without authentication that waits for a request. */
static struct front_conn *oldest_stranger(struct front *f, const struct front_share *share,
                                          const struct front_conn *but) {
    LIST_FOR (n, &f->conns) {
        struct front_conn *c = container_of(n, struct front_conn, node);
        if (c != but && !c->known && c->state == FRONT_READING && (!share || c->share == share))
            return c;
    }
    return NULL;
}

void front_share_make_room(struct front_conn *c) {
    struct front *f = c->front;
    /* Without authentication every connection would count as a stranger's. */
    const bool crowded =
        !front_auth_is_open(f) && c->share->key_len && c->share->conns > FRONT_STRANGER_CONNS_MAX;
    if (!crowded && f->conn_count <= FRONT_CONNS_MAX)
        return;
    struct front_conn *old = oldest_stranger(f, crowded ? c->share : NULL, c);
    if (old)
        front_conn_close(old);
}

/* ---- bytes ---- */

bool front_share_bytes(struct front_conn *c, size_t total) {
    const size_t most = c->known ? FRONT_BODY_BYTES_MAX : FRONT_STRANGER_BYTES_MAX, used = *pool_of(c);
    const size_t left = used < most ? most - used : 0;
    const size_t own = !c->known ? FRONT_STRANGER_SHARE_MAX : c->share->is_whole ? SIZE_MAX : left;
    if (total <= c->body_counted)
        return true;
    const size_t more = total - c->body_counted;
    /* One message is never more than a grant's share, or a large one could not be sent at all. */
    if (more > left || (c->share->bytes && c->share->bytes + more > own))
        return false;
    count_bytes(c, more);
    return true;
}

/* ---- sessions ---- */

struct front_share *front_share_session(struct front_conn *c) {
    struct front_share *share = share_of(c);
    const uint32_t free = SESSION_MAX - c->front->core->session_count;
    if (!share->is_whole && share->sessions >= free) {
        share_unref(share);
        return NULL;
    }
    share->sessions++;
    return share;
}

void front_share_session_end(struct front_share *share) {
    if (!share)
        return;
    share->sessions--;
    share_unref(share);
}
