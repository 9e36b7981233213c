#include "front/share.h"

#include "base/mem.h"
#include "front/auth.h"
#include "front/front.h"
#include "io/conn.h"

static bool is_whole(const struct front_conn *c) { return c->principal->kind == PRINCIPAL_LOCAL; }

static bool is_of(const struct portion *s, struct slice owner) {
    return slice_eq(slice_of(s->key, s->key_len), owner);
}

/* No more than the settings' ceiling for one owner; 0: there is none. */
static struct portion *take_within(struct map *home, const struct front_conn *c, size_t left, size_t most) {
    struct portion *share = portion_take(home, slice_str(c->principal->id), is_whole(c), left);
    if (share && most && !share->is_whole && share->count > most)
        portion_give(steal(share));
    return share;
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

static void move_to(struct front_conn *c, struct portion *take_share, bool known) {
    const size_t counted = c->body_counted;
    if (c->share)
        front_share_leave(c);
    c->share = take_share;
    c->known = known;
    count_bytes(c, counted);
}

void front_share_leave(struct front_conn *c) {
    front_share_bytes_end(c);
    portion_give(steal(c->share));
}

void front_share_enter(struct front_conn *c) {
    struct slice network = c->has_client ? io_address_network(&c->client) : (struct slice){0};
    if (!c->share || c->known || !is_of(c->share, network))
        move_to(c, portion_take(&c->front->strangers, network, true, 0), false);
}

bool front_share_claim(struct front_conn *c) {
    struct front *f = c->front;
    const struct slice id = slice_str(c->principal->id);
    if (c->known && is_of(c->share, id))
        return true;
    struct portion *share =
        take_within(&f->grants, c, portion_left(FRONT_CONNS_MAX, f->conn_count), f->most.grant_conns);
    if (share) {
        move_to(c, share, true);
        return true;
    }
    c->keep_alive = false;
    front_answer_error(c, 503, RPC_INTERNAL, (struct slice){0},
                       "this grant has too many connections open; close some, or reuse them");
    return false;
}

/* The oldest idle connection that is not authenticated. */
static struct front_conn *oldest_stranger(struct front *f, const struct portion *share,
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
    /* Where authentication is off, every connection would count as unauthenticated. */
    const size_t most = f->most.address_conns ? f->most.address_conns : FRONT_STRANGER_CONNS_MAX;
    const bool crowded = !front_auth_is_open(f) && c->share->key_len && c->share->count > most;
    if (!crowded && f->conn_count <= FRONT_CONNS_MAX)
        return;
    struct front_conn *old = oldest_stranger(f, crowded ? c->share : NULL, c);
    if (old)
        front_conn_close(old);
}

/* ---- bytes ---- */

bool front_share_bytes(struct front_conn *c, size_t total) {
    const size_t most = c->known ? FRONT_BODY_BYTES_MAX : FRONT_STRANGER_BYTES_MAX;
    const size_t left = portion_left(most, *pool_of(c));
    const size_t own = !c->known ? FRONT_STRANGER_SHARE_MAX : c->share->is_whole ? SIZE_MAX : left;
    if (total <= c->body_counted)
        return true;
    const size_t more = total - c->body_counted;
    /* One message never exceeds a grant's share; otherwise a large one could not be sent at all. */
    if (more > left || (c->share->bytes && c->share->bytes + more > own))
        return false;
    count_bytes(c, more);
    return true;
}

/* ---- sessions ---- */

struct portion *front_share_session(struct front_conn *c) {
    struct front *f = c->front;
    return take_within(&f->grant_sessions, c, portion_left(SESSION_MAX, f->core->session_count),
                       f->most.grant_sessions);
}

void front_share_session_end(struct portion *share) {
    if (share)
        portion_give(share);
}
