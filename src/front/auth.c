#include "front/auth.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "front/cookies.h"
#include "front/front.h"
#include "front/identity.h"
#include "front/issuer.h"
#include "front/peers.h"
#include "front/settings.h"
#include "io/file.h"
#include "io/tls.h"
#include "state/grants.h"
#include "state/logins.h"
#include "state/stops.h"
#include "wire/base64.h"

#include <pwd.h>

_Static_assert((int)STATE_ROLE_ADMIN == (int)PRINCIPAL_ADMIN &&
                   (int)STATE_ROLE_POLICY_MANAGER == (int)PRINCIPAL_POLICY_MANAGER &&
                   (int)STATE_ROLE_APPROVER == (int)PRINCIPAL_APPROVER &&
                   (int)STATE_ROLE_VIEWER == (int)PRINCIPAL_VIEWER,
               "a grant keeps roles by the same bits");

struct front_auth {
    struct front *front;
    const struct settings *settings; /* NULL: only grants and the one token */
    bool open;
    char token[FRONT_TOKEN_MAX];   /* empty: not configured */
    struct principal *everyone;    /* of all clients where authentication is off, and of the one token */
    struct state_grants *grants;   /* or NULL */
    struct front_cookies *cookies; /* sessions of the console, or NULL */
    uint64_t generation;           /* of the grants, as last read */
    uint64_t epoch;                /* incremented whenever a credential may have become invalid */
    uint64_t used_written_ms;
    bool outdated;          /* the grants are too old to trust, and the log says so */
    struct map by_grant;    /* struct holder by name */
    struct map by_identity; /* struct holder by a fingerprint of the identity */
    struct front_issuer **issuers;
    size_t issuer_count;
    struct list waiting; /* connections that wait for an issuer's keys */
    struct io_timer sweep_timer;
    struct io_timer again;
};

/* The principal of a grant at that version, or of an identity. */
struct holder {
    struct principal *principal;
    struct front_policy_place policy;
    uint64_t version;
    struct slice key; /* its key in the map */
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

static void holder_drop(struct map *from, struct holder *h) {
    map_remove(from, h->key);
    front_policies_unbind(&h->policy);
    h->principal->revoked = true;
    principal_unref(h->principal);
    free(h);
}

static void holders_drop(struct map *from) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(from, &at))) {
        holder_drop(from, e->value);
        at = 0;
    }
}

/* Takes the principal. Returns NULL when its policy does not load: no other policy replaces it. */
static struct principal *holder_add(struct front_auth *auth, struct map *to, struct slice key,
                                    struct principal *take_p, uint64_t version, const char *policy) {
    struct holder *h = mem_zalloc(sizeof(*h));
    h->principal = take_p;
    h->version = version;
    h->key = arena_dup(&take_p->arena, key);
    struct err err;
    if (policy && policy[0] &&
        front_policies_bind(auth->front->policies, policy, &take_p->policy, &h->policy, &err) < 0) {
        log_about(LOG_ERROR, &(const struct log_field){"identity", slice_str(take_p->id)}, 1,
                  "%s is refused: %s", take_p->id, err.text);
        principal_unref(take_p);
        free(h);
        return NULL;
    }
    map_put(to, h->key, h);
    return take_p;
}

static struct principal *grant_principal(const struct state_grant *g) {
    char id[STATE_GRANT_NAME_MAX + 16];
    snprintf(id, sizeof(id), "grant:%s", g->name);
    struct principal *p = principal_new(PRINCIPAL_GRANT, id);
    p->grant = arena_dup(&p->arena, slice_str(g->name)).ptr;
    p->limits = g->limits[0] ? arena_dup(&p->arena, slice_str(g->limits)).ptr : p->grant;
    p->expires_ms = g->expires_ms;
    p->servers = arena_dup_list(&p->arena, g->servers, g->server_count);
    p->server_count = g->server_count;
    p->tools = arena_dup_list(&p->arena, g->tools, g->tool_count);
    p->tool_count = g->tool_count;
    p->roles = g->roles;
    struct policy_fact *facts = arena_array(&p->arena, struct policy_fact, 1);
    facts[0] = (struct policy_fact){SLICE("grant.label"), arena_dup(&p->arena, slice_str(g->label))};
    p->facts = facts;
    p->fact_count = 1;
    return p;
}

static struct principal *grant_hold(struct front_auth *auth, const struct state_grant *g) {
    struct holder *h = map_get(&auth->by_grant, slice_str(g->name));
    if (h && h->version == g->version)
        return h->principal;
    if (h)
        holder_drop(&auth->by_grant, h);
    return holder_add(auth, &auth->by_grant, slice_str(g->name), grant_principal(g), g->version, g->policy);
}

static struct principal *principal_of(void *owner, struct slice name) {
    struct front_auth *auth = owner;
    const struct state_grant *g = auth->grants ? state_grants_by_name(auth->grants, name) : NULL;
    bool holds = g && !g->revoked_ms && (!g->expires_ms || g->expires_ms > clock_wall_ms());
    return holds ? grant_hold(auth, g) : NULL;
}

static void sweep_soon(struct front_auth *auth);
static void identities_check(struct front_auth *auth);

/* Open streams were opened with the old token and end with it. A session can continue with the new token. */
static void streams_end_at(struct front *f, const struct principal *p, uint64_t ends_ms) {
    LIST_FOR (n, &f->conns) {
        struct front_conn *c = container_of(n, struct front_conn, node);
        if (c->principal == p && !c->ends_ms)
            c->ends_ms = ends_ms;
    }
}

/* Closes the streams and sessions of grants that were revoked, rotated or changed. */
static void take_in_changes(struct front_auth *auth) {
    struct err err;
    /* When the store fails, the grants last read stay valid. */
    if (state_grants_refresh(auth->grants, &err) < 0) {
        log_error("grants: %s", err.text);
        return;
    }
    auth->generation = state_grants_seen(
        auth->grants); /* the generation that was read; a newer one is read by the next call */
    auth->epoch++;
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&auth->by_grant, &at))) {
        struct holder *h = e->value;
        const struct state_grant *g = state_grants_by_name(auth->grants, e->key);
        if (g && g->version == h->version)
            continue;
        /* The old token stays valid for a grace period, and so do the sessions and streams opened with it. */
        if (g && !g->revoked_ms && g->grace_ms > clock_wall_ms()) {
            h->version = g->version;
            streams_end_at(auth->front, h->principal, g->grace_ms);
            continue;
        }
        holder_drop(&auth->by_grant, h);
        at = 0;
    }
    identities_check(auth);
    sweep_soon(auth);
}

static bool known_are_current(struct front_auth *auth) {
    /* Both come from one database, over two connections. Grants that are current must not authenticate a
     * client while its stop is not known yet. */
    const struct state_stops *stops = auth->front->core->stop_store;
    struct err err = {0};
    bool current = !auth->grants || (state_grants_reachable(auth->grants, &err) &&
                                     (!stops || state_stops_reachable(stops, &err)));
    if (!current && !auth->outdated)
        log_error("grants are refused until the database answers: %s", err.text);
    else if (current && auth->outdated)
        log_info("the database answers: grants are accepted again");
    auth->outdated = !current;
    return current;
}

/* Costs one load when nothing has changed. Returns false when the known grants are too old to trust. */
static bool refresh_grants(void *owner) {
    struct front_auth *auth = owner;
    if (auth->grants && state_grants_generation(auth->grants) != auth->generation)
        take_in_changes(auth);
    return known_are_current(auth);
}

/* ---- identities ---- */

/* An identity with the rights of a grant loses them when the grant ends. */
static void identities_check(struct front_auth *auth) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&auth->by_identity, &at))) {
        struct holder *h = e->value;
        const struct state_grant *g =
            h->version ? state_grants_by_name(auth->grants, slice_str(h->principal->grant)) : NULL;
        if (!h->version || (g && g->version == h->version))
            continue;
        holder_drop(&auth->by_identity, h);
        at = 0;
    }
}

/* Only the map refers to them. They are created again at their next request. */
static void identities_forget(struct front_auth *auth) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&auth->by_identity, &at))) {
        struct holder *h = e->value;
        if (h->principal->refs > 1)
            continue;
        holder_drop(&auth->by_identity, h);
        at = 0;
    }
}

/* Copies the permissions of the grant to this principal, except those that the rule narrows. */
static void lend_grant(struct principal *p, const struct state_grant *g) {
    p->grant = arena_dup(&p->arena, slice_str(g->name)).ptr;
    p->limits = arena_dup(&p->arena, slice_str(g->limits[0] ? g->limits : g->name)).ptr;
    if (!p->server_count) {
        p->servers = arena_dup_list(&p->arena, g->servers, g->server_count);
        p->server_count = g->server_count;
    }
    if (!p->tool_count) {
        p->tools = arena_dup_list(&p->arena, g->tools, g->tool_count);
        p->tool_count = g->tool_count;
    }
    p->roles |= g->roles;
}

static const char *identity_refusal(const struct identity *who) {
    return who->excess ? "this identity has more claims than the gate can hold, so no rule can be "
                         "applied safely"
           : who->kind == PRINCIPAL_TOKEN ? "no entry of auth.rules matches this identity"
                                          : "no entry of auth.rules matches this certificate";
}

/* Returns NULL when no rule admits the identity. */
static struct principal *identity_hold(struct front_auth *auth, const struct identity *who,
                                       uint64_t expires_ms) {
    const struct settings *s = auth->settings;
    const struct settings_rule *rule = identity_rule(who, s->auth.rules, s->auth.rule_count);
    if (s->auth.rule_count && !rule)
        return NULL;
    struct slice key = identity_key(who, rule, &auth->front->scratch);
    struct holder *h = map_get(&auth->by_identity, key);
    if (h) { /* the same identity with a newer token */
        if (expires_ms > h->principal->expires_ms)
            h->principal->expires_ms = expires_ms;
        return h->principal;
    }
    const struct state_grant *g = NULL;
    uint64_t now_ms = clock_wall_ms();
    if (rule && rule->grant) {
        g = auth->grants ? state_grants_by_name(auth->grants, slice_str(rule->grant)) : NULL;
        if (!g || g->revoked_ms || (g->expires_ms && g->expires_ms <= now_ms))
            return NULL;
        if (g->expires_ms && g->expires_ms < expires_ms)
            expires_ms = g->expires_ms;
    }
    struct principal *p = identity_principal(who, rule);
    p->expires_ms = expires_ms;
    if (g)
        lend_grant(p, g);
    const char *policy = rule && rule->policy ? rule->policy : g ? g->policy : NULL;
    return holder_add(auth, &auth->by_identity, key, p, g ? g->version : 0, policy);
}

/* ---- keys ---- */

static void on_again(struct io_timer *timer) {
    struct front_auth *auth = container_of(timer, struct front_auth, again);
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&auth->waiting)))
        list_push(&due, n);
    while ((n = list_pop(&due)))
        front_conn_release(container_of(n, struct front_conn, waiting));
}

static void on_keys_changed(void *owner) {
    struct front_auth *auth = owner;
    auth->epoch++;
    io_timer_arm(auth->front->loop, &auth->again, 0, on_again);
}

/* The request is processed again when the keys have arrived, when fetching them has failed, or when the store
 * has answered for the cookie. A connection that closes before leaves the list. */
static void wait_for_answer(struct front_conn *c, const struct http_head *head, struct slice cookie,
                            struct block *b, struct slice body) {
    if (cookie.len) {
        front_cookies_wait(c->front->auth->cookies, c, cookie);
    } else {
        c->waited = true;
        list_push(&c->front->auth->waiting, &c->waiting);
    }
    front_conn_hold(c, head, b, body);
}

static struct front_issuer *issuer_of(struct front_auth *auth, struct slice name) {
    for (size_t i = 0; i < auth->issuer_count; i++)
        if (slice_is(name, front_issuer_name(auth->issuers[i])))
            return auth->issuers[i];
    return NULL;
}

/* ---- periodic checks ---- */

static void on_sweep(struct io_timer *timer) {
    struct front_auth *auth = container_of(timer, struct front_auth, sweep_timer);
    if (auth->grants && state_grants_stale(auth->grants))
        take_in_changes(auth);
    front_sweep(auth->front);
    identities_forget(auth);
    uint64_t now_ms = io_now_ms(auth->front->loop);
    if (auth->grants && now_ms - auth->used_written_ms >= STATE_GRANT_USED_MS) {
        auth->used_written_ms = now_ms;
        state_grants_write_used(auth->grants);
    }
    io_timer_arm(auth->front->loop, timer, FRONT_AUTH_CHECK_MS, on_sweep);
}

/* Deferred, because the caller may be in the middle of a request. */
static void sweep_soon(struct front_auth *auth) {
    io_timer_arm(auth->front->loop, &auth->sweep_timer, 0, on_sweep);
}

/* ---- requests ---- */

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

/* *ret_ends_ms: when the old token of a rotated grant expires; 0 for the current token. */
static struct principal *by_grant(struct front_auth *auth, struct slice token, uint64_t *ret_ends_ms) {
    uint64_t now_ms = clock_wall_ms();
    const struct state_grant *g = auth->grants ? state_grants_by_token(auth->grants, token, now_ms) : NULL;
    if (g && state_grants_used(auth->grants, g, now_ms))
        auth->used_written_ms = 0; /* a new grant that works is not listed as never used for a minute */
    *ret_ends_ms = g && g->grace_ms > now_ms && state_grants_is_old(g, token) ? g->grace_ms : 0;
    return g ? grant_hold(auth, g) : NULL;
}

static void remember(struct front_conn *c, struct slice shown, struct principal *p) {
    struct front_memo fresh = {.shown = mem_dup(shown.len ? shown.ptr : "", shown.len),
                               .len = shown.len,
                               .epoch = c->front->auth->epoch,
                               .only = c->only,
                               .principal = principal_ref(p)};
    front_memo_clear(&c->memo);
    c->memo = fresh;
}

static bool remembers(const struct front_conn *c, struct slice shown) {
    const struct front_memo *m = &c->memo;
    return m->principal && m->epoch == c->front->auth->epoch && m->only == c->only &&
           slice_eq(shown, slice_of(m->shown, m->len)) && !principal_fault(m->principal, clock_wall_ms());
}

/* The first scope that the issuer's tokens must have and this one lacks, or NULL. */
static const char *missing_scope(const struct settings_issuer *s, const struct jwt *jwt) {
    for (size_t i = 0; i < s->scopes.count; i++) {
        struct slice scope = slice_str(s->scopes.items[i]);
        if (!jwt_claim_has(jwt, "scope", scope) && !jwt_claim_has(jwt, "scp", scope))
            return s->scopes.items[i];
    }
    return NULL;
}

/* Verifies a token of an identity provider: a bearer token, or the ID token of a login. */
static enum jwt_fault judge(struct front_conn *c, struct front_issuer *issuer, const struct jwt *jwt,
                            const struct state_login *login, uint64_t *ret_expires_ms) {
    uint64_t now_ms = clock_wall_ms();
    if (!issuer)
        return JWT_ISSUER;
    if (!login)
        return front_issuer_judge(issuer, jwt, front_challenge_resource(c, &c->front->scratch), now_ms,
                                  ret_expires_ms);
    *ret_expires_ms = login->expires_ms;
    return front_issuer_judge_id(issuer, jwt, now_ms);
}

/* Authenticates by a token of an identity provider. `login` is set for an ID token, else NULL. Returns
 * NULL with *verdict set to the response. */
static struct principal *by_token(struct front_conn *c, struct slice token, const struct state_login *login,
                                  struct front_verdict *verdict) {
    struct front_auth *auth = c->front->auth;
    struct arena *a = &c->front->scratch;
    struct jwt jwt;
    uint64_t expires_ms;
    struct principal *p = NULL;
    *verdict = (struct front_verdict){.status = 401, .error = "invalid_token"};
    enum jwt_fault fault = jwt_read(token, a, &jwt);
    struct front_issuer *issuer = fault == JWT_OK ? issuer_of(auth, jwt.issuer) : NULL;
    if (fault == JWT_OK)
        fault = judge(c, issuer, &jwt, login, &expires_ms);
    verdict->message = jwt_fault_text(fault);
    if (fault == JWT_KEY && !c->waited && front_issuer_ask(issuer)) {
        verdict->wait = true;
    } else if (fault == JWT_KEY && !front_issuer_has_keys(issuer)) {
        *verdict = (struct front_verdict){.status = 503, .message = "the issuer's keys cannot be fetched"};
    } else if (fault == JWT_OK && !login && missing_scope(front_issuer_settings(issuer), &jwt)) {
        *verdict = (struct front_verdict){
            .status = 403, .error = "insufficient_scope", .message = "the token lacks a scope"};
    } else if (fault == JWT_OK) {
        struct identity *who = arena_new(a, struct identity);
        who->kind = PRINCIPAL_TOKEN;
        who->id = identity_id(a, "oidc",
                              arena_printf(a, "%.*s|%.*s", SLICE_FMT(jwt.issuer), SLICE_FMT(jwt.subject)));
        identity_from_claims(who, a, &jwt);
        p = who->excess ? NULL : identity_hold(auth, who, expires_ms);
        *verdict = (struct front_verdict){.status = 403, .message = identity_refusal(who)};
    }
    jwt_free(&jwt);
    return p;
}

/* ---- client certificates ---- */

struct cert_facts {
    struct identity *who;
    struct arena *arena;
    struct slice best; /* of the subject in logs and rules */
    int rank;
};

/* Several names of one kind become members of a list, as with claims. */
static void on_cert_fact(void *ctx, const char *name, struct slice value) {
    static const char *const ranks[] = {"subject", "dns", "email", "uri"};
    struct cert_facts *f = ctx;
    int rank = -1;
    for (int i = 0; i < (int)ARRAY_LEN(ranks); i++)
        if (strcmp(name, ranks[i]) == 0)
            rank = i;
    if (rank >= f->rank) {
        if (rank > f->rank)
            f->best = arena_dup(f->arena, value);
        f->rank = rank;
    }
    if (rank > 0)
        identity_add(
            f->who, f->arena,
            arena_printf(f->arena, "%s.%.*s", name, SLICE_FMT(slice_upto(value, FRONT_FACT_MAX + 1))).ptr,
            SLICE("true"));
    else
        identity_add(f->who, f->arena, name, value);
}

/* The client's own certificate, or the one that came with a request forwarded by another process. */
static bool cert_facts(struct front_conn *c, const struct http_head *head, struct cert_facts *f,
                       uint64_t *ret_expires_s) {
    if (!c->peer)
        return io_tls_peer(c->io, on_cert_fact, f, ret_expires_s);
    struct slice text = http_value_of(head, SLICE(FRONT_FORWARDED_CERT)), der;
    return text.len && base64_get(text, BASE64_PADDED, f->arena, &der) &&
           io_tls_cert(der, on_cert_fact, f, ret_expires_s);
}

/* Returns NULL with *verdict set to the response. */
static struct principal *by_cert(struct front_conn *c, const struct http_head *head,
                                 struct front_verdict *verdict) {
    struct front_auth *auth = c->front->auth;
    struct arena *a = &c->front->scratch;
    struct cert_facts f = {.who = arena_new(a, struct identity), .arena = a, .rank = -1};
    uint64_t expires_s;
    if (!auth->settings || !cert_facts(c, head, &f, &expires_s) || !f.best.len)
        return NULL;
    f.who->kind = PRINCIPAL_CERT;
    f.who->id = identity_id(a, "cert", f.best);
    *verdict = (struct front_verdict){.status = 403, .message = identity_refusal(f.who)};
    return f.who->excess ? NULL : identity_hold(auth, f.who, expires_s * 1000);
}

/* ---- users who are signed in to the console ---- */

static struct slice cookie_of(const struct front_conn *c, const struct http_head *head) {
    char name[WEB_COOKIE_NAME_MAX];
    snprintf(name, sizeof(name), WEB_COOKIE, c->front->port);
    return http_cookie(head, slice_str(name));
}

/* Browsers also send the cookie for another origin on the same host. So a request is accepted only when
 * the browser declares that it comes from our own page. One that changes something also needs a header
 * that no form can send. */
static bool from_own_page(const struct front *f, const struct http_head *head) {
    struct slice site = http_value_of(head, SLICE("Sec-Fetch-Site"));
    struct slice origin = http_value(head, HTTP_FIELD_ORIGIN), host = http_value(head, HTTP_FIELD_HOST);
    bool reads = head->method == HTTP_GET || head->method == HTTP_HEAD;
    if (site.len && !slice_is(site, "same-origin") && !(reads && slice_is(site, "none")))
        return false;
    if (origin.len && !(f->public.origin.len && slice_eq_nocase(origin, f->public.origin))) {
        ptrdiff_t colon = slice_find(origin, ':');
        if (colon < 0 || !slice_eq_nocase(slice_from(origin, (size_t)colon + 3), host))
            return false;
    }
    return reads || http_value_of(head, SLICE(WEB_CONSOLE_HEADER)).len > 0;
}

/* A user of this machine. Their role was decided when their sign-in link was created. */
static struct principal *user_hold(struct front_auth *auth, const struct state_login *login) {
    struct slice key =
        arena_printf(&auth->front->scratch, "user %u %.*s", login->roles, SLICE_FMT(login->name));
    struct holder *h = map_get(&auth->by_identity, key);
    if (h)
        return h->principal;
    struct principal *p = principal_new(PRINCIPAL_LOCAL, arena_dup(&auth->front->scratch, login->name).ptr);
    p->roles = login->roles;
    return holder_add(auth, &auth->by_identity, key, p, 0, NULL);
}

static struct principal *grant_of_login(struct front_auth *auth, const struct state_login *login,
                                        uint64_t now_ms) {
    const struct state_grant *g = auth->grants ? state_grants_by_name(auth->grants, login->name) : NULL;
    bool holds = g && !g->revoked_ms && g->version == login->grant_version &&
                 (!g->expires_ms || g->expires_ms > now_ms);
    return holds ? grant_hold(auth, g) : NULL;
}

/* The login of a cookie, or NULL. The last answer will do where only a body is admitted: the request is
 * authenticated again when it is whole. */
static const struct state_login *login_of(struct front_conn *c, struct slice cookie, bool admit,
                                          struct front_verdict *verdict) {
    const struct state_login *login;
    enum front_cookie known = front_cookies_find(c->front->auth->cookies, c, cookie, &login);
    if (known == FRONT_COOKIE_GOOD || (known == FRONT_COOKIE_ASKED && login && admit))
        return login;
    if (known == FRONT_COOKIE_ASKED)
        *verdict = (struct front_verdict){.wait = true, .cookie = cookie};
    else if (known == FRONT_COOKIE_FAILED)
        *verdict = (struct front_verdict){.status = 503, .message = "the store of sign-ins does not answer"};
    return NULL;
}

/* NULL: *verdict says what to answer. */
static struct principal *by_cookie(struct front_conn *c, const struct http_head *head, bool admit,
                                   struct front_verdict *verdict) {
    struct front_auth *auth = c->front->auth;
    struct slice cookie = c->console && auth->cookies ? cookie_of(c, head) : (struct slice){0};
    uint64_t now_ms = clock_wall_ms();
    struct principal *p = NULL;
    const struct state_login *login = cookie.len ? login_of(c, cookie, admit, verdict) : NULL;
    if (!login)
        return NULL;
    if (!from_own_page(c->front, head)) {
        *verdict = (struct front_verdict){.status = 403,
                                          .message = "this request was not sent by the console's page"};
        return NULL;
    }
    if (login->kind == STATE_LOGIN_GRANT)
        p = grant_of_login(auth, login, now_ms);
    else if (login->kind == STATE_LOGIN_USER)
        p = user_hold(auth, login);
    else if (login->kind == STATE_LOGIN_TOKEN)
        p = by_token(c, login->token, NULL, verdict);
    else if (login->kind == STATE_LOGIN_ID)
        p = by_token(c, login->token, login, verdict);
    if (p)
        c->cookie = cookie;
    return p;
}

static bool recognise(struct front_conn *c, const struct http_head *head, bool admit,
                      struct front_verdict *ret_verdict) {
    struct front_verdict *verdict = ret_verdict;
    struct front_auth *auth = c->front->auth;
    struct slice shown = http_value(head, HTTP_FIELD_AUTHORIZATION);
    *verdict = (struct front_verdict){.status = 401, .message = "Unauthorized"};
    c->principal = auth->everyone;
    struct principal *signed_in = shown.len ? NULL : by_cookie(c, head, admit, verdict);
    if (signed_in) {
        remember(c, shown, signed_in);
        c->memo.len = SIZE_MAX; /* the id stays unique, and the principal lives on */
        c->principal = signed_in;
        return true;
    }
    if (verdict->status == 403 || verdict->wait)
        return false;
    if (auth->open)
        return true;
    c->ends_ms = 0;
    if (remembers(c, shown)) {
        c->principal = c->memo.principal;
        return true;
    }
    struct slice token = bearer(shown);
    struct principal *p = NULL;
    uint64_t ends_ms = 0;
    if (token.len && is_the_token(auth, token))
        p = auth->everyone;
    else if (token.len && slice_starts(token, SLICE(STATE_GRANT_PREFIX)))
        p = by_grant(auth, token, &ends_ms);
    else if (token.len && auth->issuer_count)
        p = by_token(c, token, NULL, verdict);
    else if (!shown.len)
        p = by_cert(c, head, verdict);
    if (verdict->wait || !p)
        return false;
    remember(c, shown, p);
    if (ends_ms)
        c->memo.len = SIZE_MAX; /* see above */
    c->principal = p;
    c->ends_ms = ends_ms;
    return true;
}

static bool recognise_known(struct front_conn *c, const struct http_head *head, bool admit,
                            struct front_verdict *ret_verdict) {
    bool known = refresh_grants(c->front->auth);
    if (!recognise(c, head, admit, ret_verdict))
        return false;
    if (known || !c->principal->grant[0])
        return true;
    *ret_verdict =
        (struct front_verdict){.status = 503, .message = "the store of grants and stops does not answer"};
    c->principal = c->front->auth->everyone;
    return false;
}

bool front_recognise(struct front_conn *c, const struct http_head *head, struct front_verdict *ret_verdict) {
    return recognise_known(c, head, true, ret_verdict);
}

enum front_answer front_authenticate(struct front_conn *c, const struct http_head *head, struct block *b,
                                     struct slice body) {
    struct front_verdict verdict;
    if (recognise_known(c, head, false, &verdict))
        return FRONT_IN;
    if (verdict.wait) {
        wait_for_answer(c, head, verdict.cookie, b, body);
        return FRONT_WAITS;
    }
    front_challenge(c, &verdict);
    return FRONT_ANSWERED;
}

bool front_may_enter(struct front_conn *c) {
    if (!c->only || principal_may_use(c->principal, slice_str(c->only->up.name)))
        return true;
    front_challenge(c, &(struct front_verdict){.status = 403, .message = "this grant is for other servers"});
    return false;
}

const struct settings *front_auth_settings(const struct front *f) {
    return f->auth ? f->auth->settings : NULL;
}

/* ---- start and shutdown ---- */

static int read_token(struct front_auth *auth, const char *path, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, FRONT_TOKEN_MAX - 1);
    if (io_file_read(path, &text, NULL, err) < 0)
        return err_wrap(err, "--token-file");
    struct slice token = slice_trim(buf_slice(&text));
    if (token.len < FRONT_TOKEN_MIN)
        return err_set(err, "--token-file `%s`: the token must have at least %d characters", path,
                       FRONT_TOKEN_MIN);
    memcpy(auth->token, token.ptr, token.len);
    return 0;
}

static void issuers_start(struct front_auth *auth) {
    const struct settings *s = auth->settings;
    size_t count = s && !auth->open ? s->auth.issuer_count : 0;
    auth->issuers = mem_zalloc((count + 1) * sizeof(struct front_issuer *));
    for (; auth->issuer_count < count; auth->issuer_count++)
        auth->issuers[auth->issuer_count] =
            front_issuer_new(&s->auth.issuers[auth->issuer_count], s->auth.resource, &auth->front->core->up,
                             on_keys_changed, auth);
}

static void issuers_stop(struct front_auth *auth) {
    for (size_t i = 0; i < auth->issuer_count; i++)
        front_issuer_free(auth->issuers[i]);
    free(auth->issuers);
    auth->issuers = NULL;
    auth->issuer_count = 0;
}

void front_auth_apply(struct front *f, const struct settings *settings) {
    struct front_auth *auth = f->auth;
    if (!auth || !auth->settings || settings_same_auth(auth->settings, settings))
        return;
    issuers_stop(auth);
    holders_drop(&auth->by_identity);
    auth->settings = settings;
    issuers_start(auth);
    on_keys_changed(auth); /* waiting requests are authenticated with the new keys */
    sweep_soon(auth);
}

bool front_auth_is_open(const struct front *f) { return f->auth->open; }

int front_auth_new(struct front *f, const struct front_auth_config *config, struct err *err) {
    struct front_auth *auth = mem_zalloc(sizeof(*auth));
    f->auth = auth;
    auth->front = f;
    auth->open = config->open;
    auth->settings = config->settings;
    map_init(&auth->by_grant);
    map_init(&auth->by_identity);
    list_init(&auth->waiting);
    auth->everyone = principal_new(PRINCIPAL_LOCAL, "local");
    if (config->token_file && read_token(auth, config->token_file, err) < 0)
        return -1;
    if (!config->open && config->home &&
        (state_grants_open(config->home, false, &auth->grants, err) < 0 ||
         state_grants_follow(auth->grants, config->home, f->loop, err) < 0))
        return -1;
    if (auth->grants)
        auth->generation = state_grants_seen(auth->grants);
    if (config->home && front_cookies_open(f->loop, config->home, &auth->cookies, err) < 0)
        return -1;
    /* A run of code may call tools long after its request was authenticated. */
    f->core->refresh_principals = refresh_grants;
    f->core->principals_owner = auth;
    f->core->principal_of = principal_of;
    issuers_start(auth);
    auth->used_written_ms = io_now_ms(f->loop);
    io_timer_arm(f->loop, &auth->sweep_timer, FRONT_AUTH_CHECK_MS, on_sweep);
    return 0;
}

void front_auth_free(struct front *f) {
    struct front_auth *auth = f->auth;
    if (!auth)
        return;
    f->core->refresh_principals = NULL;
    f->core->principal_of = NULL;
    io_timer_stop(f->loop, &auth->sweep_timer);
    io_timer_stop(f->loop, &auth->again);
    issuers_stop(auth);
    holders_drop(&auth->by_grant);
    holders_drop(&auth->by_identity);
    map_free(&auth->by_grant);
    map_free(&auth->by_identity);
    principal_unref(auth->everyone);
    state_grants_close(auth->grants);
    front_cookies_close(auth->cookies);
    free(auth);
    f->auth = NULL;
}
