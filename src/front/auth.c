#include "front/auth.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/file.h"
#include "front/front.h"
#include "front/policies.h"
#include "state/grants.h"

#include <openssl/crypto.h>
#include <pwd.h>

_Static_assert((int)STATE_ROLE_ADMIN == (int)PRINCIPAL_ADMIN &&
                   (int)STATE_ROLE_POLICY_MANAGER == (int)PRINCIPAL_POLICY_MANAGER &&
                   (int)STATE_ROLE_APPROVER == (int)PRINCIPAL_APPROVER &&
                   (int)STATE_ROLE_VIEWER == (int)PRINCIPAL_VIEWER,
               "a grant keeps roles by the same bits");

struct front_auth {
    struct front *front;
    bool open;
    char token[FRONT_TOKEN_MAX]; /* empty: none */
    struct principal *everyone;  /* of an open gate, and of the one token */
    struct state_grants *grants; /* or NULL */
    uint64_t generation;         /* of the grants, as taken in */
    uint64_t used_written_ms;
    struct map by_grant; /* struct holder by name */
    struct io_timer look;
};

/* The principal of a grant as it was at that version. */
struct holder {
    struct principal *principal;
    struct front_policy_place policy;
    uint64_t version;
};

void front_memo_clear(struct front_memo *memo) {
    free(memo->shown);
    principal_unref(memo->principal);
    *memo = (struct front_memo){0};
}

struct principal *front_local_user(void) {
    struct passwd entry, *found = NULL;
    char text[4096], id[256];
    if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) == 0 && found)
        snprintf(id, sizeof(id), "local:%s", found->pw_name);
    else
        snprintf(id, sizeof(id), "local:%u", (unsigned)getuid());
    return principal_new(PRINCIPAL_LOCAL, id);
}

/* ---- grants ---- */

static void holder_drop(struct front_auth *auth, struct holder *h) {
    map_remove(&auth->by_grant, slice_str(h->principal->grant));
    front_policies_unbind(&h->policy);
    h->principal->revoked = true;
    principal_unref(h->principal);
    free(h);
}

static const char *const *dup_list(struct arena *a, const char *const *items, size_t count) {
    const char **list = arena_array(a, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        list[i] = arena_dup(a, slice_str(items[i])).ptr;
    return list;
}

static struct principal *grant_principal(const struct state_grant *g) {
    char id[STATE_GRANT_NAME_MAX + 16];
    snprintf(id, sizeof(id), "grant:%s", g->name);
    struct principal *p = principal_new(PRINCIPAL_GRANT, id);
    p->grant = arena_dup(&p->arena, slice_str(g->name)).ptr;
    p->limits = g->limits[0] ? arena_dup(&p->arena, slice_str(g->limits)).ptr : p->grant;
    p->expires_ms = g->expires_ms;
    p->servers = dup_list(&p->arena, g->servers, g->server_count);
    p->server_count = g->server_count;
    p->tools = dup_list(&p->arena, g->tools, g->tool_count);
    p->tool_count = g->tool_count;
    p->roles = g->roles;
    struct policy_fact *facts = arena_array(&p->arena, struct policy_fact, 1);
    facts[0] = (struct policy_fact){SLICE("grant.label"), arena_dup(&p->arena, slice_str(g->label))};
    p->facts = facts;
    p->fact_count = 1;
    return p;
}

/* NULL when its policy does not load: no other may stand in for it. */
static struct principal *grant_hold(struct front_auth *auth, const struct state_grant *g) {
    struct holder *h = map_get(&auth->by_grant, slice_str(g->name));
    if (h && h->version == g->version)
        return h->principal;
    if (h)
        holder_drop(auth, h);
    h = mem_zalloc(sizeof(*h));
    h->principal = grant_principal(g);
    h->version = g->version;
    struct err err;
    if (g->policy[0] &&
        front_policies_bind(auth->front->policies, g->policy, &h->principal->policy, &h->policy, &err) < 0) {
        log_error("grant `%s` is refused: %s", g->name, err.text);
        principal_unref(h->principal);
        free(h);
        return NULL;
    }
    map_put(&auth->by_grant, slice_str(h->principal->grant), h);
    return h->principal;
}

static void sweep_soon(struct front_auth *auth);

/* Grants that were revoked, rotated or changed in any other way end what they have open. */
static void take_in_changes(struct front_auth *auth) {
    struct err err;
    /* A store that fails keeps the last state known: its grants were good a moment ago. */
    if (state_grants_refresh(auth->grants, &err) < 0) {
        log_error("grants: %s", err.text);
        return;
    }
    auth->generation = state_grants_generation(auth->grants);
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&auth->by_grant, &at))) {
        struct holder *h = e->value;
        const struct state_grant *g = state_grants_by_name(auth->grants, e->key);
        if (g && g->version == h->version)
            continue;
        /* The old token is good for a while: so are the sessions it opened. */
        if (g && !g->revoked_ms && g->grace_ms > clock_wall_ms()) {
            h->version = g->version;
            continue;
        }
        holder_drop(auth, h);
        at = 0;
    }
    sweep_soon(auth);
}

/* ---- looking after them ---- */

static void on_look(struct io_timer *timer) {
    struct front_auth *auth = container_of(timer, struct front_auth, look);
    if (auth->grants && state_grants_stale(auth->grants))
        take_in_changes(auth);
    front_sweep(auth->front);
    uint64_t now_ms = io_now_ms(auth->front->loop);
    if (auth->grants && now_ms - auth->used_written_ms >= STATE_GRANT_USED_MS) {
        auth->used_written_ms = now_ms;
        state_grants_write_used(auth->grants);
    }
    io_timer_arm(auth->front->loop, timer, FRONT_AUTH_LOOK_MS, on_look);
}

/* Not at once: whoever asks may stand in the middle of a request. */
static void sweep_soon(struct front_auth *auth) { io_timer_arm(auth->front->loop, &auth->look, 0, on_look); }

/* ---- requests ---- */

static bool refuse(struct front_conn *c, int status, const char *challenge, const char *message) {
    struct arena *a = &c->front->scratch;
    struct slice line =
        challenge ? arena_printf(a, "WWW-Authenticate: %s\r\n", challenge) : (struct slice){0};
    front_answer(c, status, "application/json", line, call_error_text(a, (struct slice){0}, -32000, message));
    return false;
}

/* The token behind "Bearer ", or empty. */
static struct slice bearer(struct slice shown) {
    if (!slice_eq_nocase(slice_upto(shown, 7), SLICE("Bearer ")))
        return (struct slice){0};
    return slice_trim(slice_from(shown, 7));
}

static bool is_the_token(const struct front_auth *auth, struct slice token) {
    size_t len = strlen(auth->token);
    return len && token.len == len && CRYPTO_memcmp(token.ptr, auth->token, len) == 0;
}

static struct principal *by_grant(struct front_auth *auth, struct slice token, bool *ret_lasting) {
    uint64_t now_ms = clock_wall_ms();
    const struct state_grant *g = auth->grants ? state_grants_by_token(auth->grants, token, now_ms) : NULL;
    if (g)
        state_grants_used(auth->grants, g, now_ms);
    *ret_lasting = g && g->grace_ms <= now_ms; /* an old token of which the end is known is no such */
    return g ? grant_hold(auth, g) : NULL;
}

static void remember(struct front_conn *c, struct slice shown, struct principal *p) {
    front_memo_clear(&c->memo);
    c->memo = (struct front_memo){.shown = mem_dup(shown.ptr, shown.len),
                                  .len = shown.len,
                                  .generation = c->front->auth->generation,
                                  .principal = principal_ref(p)};
}

static bool remembers(const struct front_conn *c, struct slice shown) {
    const struct front_memo *m = &c->memo;
    return m->principal && m->generation == c->front->auth->generation &&
           slice_eq(shown, slice_of(m->shown, m->len)) && !principal_fault(m->principal, clock_wall_ms());
}

bool front_authenticate(struct front_conn *c, const struct http_head *head) {
    struct front_auth *auth = c->front->auth;
    c->principal = auth->everyone;
    if (auth->open)
        return true;
    struct slice shown = http_value(head, "Authorization");
    if (auth->grants && state_grants_generation(auth->grants) != auth->generation)
        take_in_changes(auth);
    if (!remembers(c, shown)) {
        struct slice token = bearer(shown);
        struct principal *p = NULL;
        bool lasting = true;
        if (token.len)
            p = is_the_token(auth, token) ? auth->everyone : by_grant(auth, token, &lasting);
        if (!p)
            return refuse(c, 401, "Bearer", "Unauthorized");
        remember(c, shown, p);
        if (!lasting)
            c->memo.len = SIZE_MAX; /* never the same again, but keeps the principal */
    }
    c->principal = c->memo.principal;
    return true;
}

bool front_may_enter(struct front_conn *c) {
    if (!c->only || principal_may_use(c->principal, slice_str(c->only->up.name)))
        return true;
    return refuse(c, 403, NULL, "this grant is for other servers");
}

/* ---- sessions ---- */

/* The session of the stateless era that a principal has at one endpoint. */
struct stateless {
    const void *key[2];
    struct session *session;
    uint64_t used_ms;
};

/* Nothing is ever said to such a client outside its own requests. */
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

void front_sweep(struct front *f) {
    uint64_t wall_ms = clock_wall_ms(), now_ms = io_now_ms(f->loop);
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&f->sessions, &at))) {
        struct front_session *fs = e->value;
        if (!principal_fault(fs->session->principal, wall_ms))
            continue;
        front_session_close(fs);
        at = 0; /* the map has changed */
    }
    at = 0;
    while ((e = map_next(&f->stateless, &at))) {
        struct stateless *s = e->value;
        bool idle = s->session->call_count == 0 && now_ms - s->used_ms > FRONT_SESSION_IDLE_MS;
        if (!idle && !principal_fault(s->session->principal, wall_ms))
            continue;
        stateless_end(f, s);
        at = 0;
    }
}

/* ---- the start and the end ---- */

static int read_token(struct front_auth *auth, const char *path, struct err *err) {
    cleanup_buf struct buf text;
    if (front_read_file(path, FRONT_TOKEN_MAX - 1, &text, err) < 0)
        return err_wrap(err, "--token-file");
    struct slice token = slice_trim(buf_slice(&text));
    if (token.len < FRONT_TOKEN_MIN)
        return err_set(err, "--token-file `%s`: the token must have at least %d characters", path,
                       FRONT_TOKEN_MIN);
    memcpy(auth->token, token.ptr, token.len);
    return 0;
}

int front_auth_new(struct front *f, const struct front_auth_config *config, struct err *err) {
    struct front_auth *auth = mem_zalloc(sizeof(*auth));
    f->auth = auth;
    auth->front = f;
    auth->open = config->open;
    map_init(&auth->by_grant);
    auth->everyone = principal_new(PRINCIPAL_LOCAL, "local");
    if (config->token_file && read_token(auth, config->token_file, err) < 0)
        return -1;
    if (!config->open && config->home && state_grants_open(config->home, false, &auth->grants, err) < 0)
        return -1;
    if (auth->grants)
        auth->generation = state_grants_generation(auth->grants);
    auth->used_written_ms = io_now_ms(f->loop);
    io_timer_arm(f->loop, &auth->look, FRONT_AUTH_LOOK_MS, on_look);
    return 0;
}

void front_auth_free(struct front *f) {
    struct front_auth *auth = f->auth;
    if (!auth)
        return;
    io_timer_stop(f->loop, &auth->look);
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&auth->by_grant, &at))) {
        holder_drop(auth, e->value);
        at = 0;
    }
    map_free(&auth->by_grant);
    principal_unref(auth->everyone);
    state_grants_close(auth->grants);
    free(auth);
    f->auth = NULL;
}
