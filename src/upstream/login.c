#include "upstream/login.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/sha.h"
#include "io/loop.h"
#include "io/work.h"
#include "state/fleet_logins.h"
#include "state/sealed.h"
#include "upstream/bearer.h"
#include "upstream/fetch.h"
#include "wire/base64.h"
#include "wire/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#define LOGIN_NAME_TEXT 33

/* ---- at rest ---- */

static void login_name(struct slice url, char name[LOGIN_NAME_TEXT]) {
    unsigned char hash[32];
    sha_256(&url, 1, hash);
    hex_str(hash, (LOGIN_NAME_TEXT - 1) / 2, name);
}

static const struct {
    const char *key;
    size_t at;
} login_members[] = {
    {"url", offsetof(struct up_login, url)},
    {"issuer", offsetof(struct up_login, issuer)},
    {"token_endpoint", offsetof(struct up_login, token_url)},
    {"client_id", offsetof(struct up_login, client_id)},
    {"client_secret", offsetof(struct up_login, client_secret)},
    {"token_endpoint_auth_method", offsetof(struct up_login, auth_method)},
    {"resource", offsetof(struct up_login, resource)},
    {"scope", offsetof(struct up_login, scope)},
    {"access_token", offsetof(struct up_login, access_token)},
    {"refresh_token", offsetof(struct up_login, refresh_token)},
};

static struct slice text_at(const struct tape *t, const char *key, struct arena *a) {
    uint32_t node = tape_get_str(t, 0, key);
    return node && tape_is(t, node, TAPE_STRING) ? arena_dup(a, tape_text(t, node, a)) : (struct slice){0};
}

int up_login_load(const char *home, const char *url, struct up_login *ret_login, bool *ret_absent,
                  struct err *err) {
    *ret_login = (struct up_login){0};
    arena_init(&ret_login->arena);
    char name[LOGIN_NAME_TEXT];
    login_name(slice_str(url), name);
    cleanup_buf struct buf text;
    cleanup_tape struct tape t;
    buf_init(&text, STATE_SEALED_MAX + 1);
    tape_init(&t);
    if (state_sealed_read(home, STATE_LOGINS_DIR, name, &text, ret_absent, err) < 0)
        return -1;
    bool fine = tape_parse(&t, buf_slice(&text), NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT);
    for (size_t i = 0; fine && i < ARRAY_LEN(login_members); i++)
        *(struct slice *)((char *)ret_login + login_members[i].at) =
            text_at(&t, login_members[i].key, &ret_login->arena);
    uint32_t expires = fine ? tape_get_str(&t, 0, "expires_ms") : 0;
    int64_t ms = 0;
    if (expires && tape_int(&t, expires, &ms) && ms > 0)
        ret_login->expires_ms = (uint64_t)ms;
    OPENSSL_cleanse(text.ptr, text.cap);
    if (!fine || !slice_is(ret_login->url, url) || !ret_login->access_token.len)
        return err_set(err, "the login for `%s` is damaged", url);
    return 0;
}

int up_login_save(const char *home, const struct up_login *login, struct err *err) {
    char name[LOGIN_NAME_TEXT];
    login_name(login->url, name);
    cleanup_buf struct buf text;
    buf_init(&text, STATE_SEALED_MAX);
    struct emit e;
    emit_init(&e, &text);
    emit_object(&e);
    for (size_t i = 0; i < ARRAY_LEN(login_members); i++) {
        emit_key(&e, login_members[i].key);
        emit_str(&e, *(const struct slice *)((const char *)login + login_members[i].at));
    }
    emit_key(&e, "expires_ms");
    emit_int(&e, (int64_t)login->expires_ms);
    emit_object_end(&e);
    int rc = text.full ? err_set(err, "the login for `%.*s` is too large", SLICE_FMT(login->url))
                       : state_sealed_write(home, STATE_LOGINS_DIR, name, buf_slice(&text), err);
    OPENSSL_cleanse(text.ptr, text.cap);
    return rc;
}

int up_login_remove(const char *home, const char *url, struct err *err) {
    char name[LOGIN_NAME_TEXT];
    login_name(slice_str(url), name);
    return state_sealed_remove(home, STATE_LOGINS_DIR, name, err);
}

/* ---- the token endpoint ---- */

static void put_encoded(struct buf *out, struct slice text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("-._~", c));
        if (plain)
            buf_put_char(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

void up_form_put(struct buf *out, const char *name, struct slice value) {
    if (out->len)
        buf_put_char(out, '&');
    buf_put_str(out, name);
    buf_put_char(out, '=');
    put_encoded(out, value);
}

/* "Authorization: Basic …": both halves percent-encoded first, as RFC 6749 requires. */
static void put_basic(struct buf *lines, const struct up_login *login) {
    cleanup_buf struct buf pair;
    buf_init(&pair, UP_SECRET_MAX * 4);
    put_encoded(&pair, login->client_id);
    buf_put_char(&pair, ':');
    put_encoded(&pair, login->client_secret);
    buf_put_str(lines, "Authorization: Basic ");
    base64_put(lines, buf_slice(&pair), BASE64_PADDED);
    buf_put_str(lines, "\r\n");
    OPENSSL_cleanse(pair.ptr, pair.cap);
}

struct up_fetch *up_login_ask(struct up_core *core, const struct up_login *login, struct buf *form,
                              void (*done)(void *owner, const struct up_fetch_answer *answer), void *owner,
                              struct err *err) {
    cleanup_buf struct buf lines;
    buf_init(&lines, UP_SECRET_MAX * 4);
    bool basic = slice_is(login->auth_method, "client_secret_basic");
    if (basic)
        put_basic(&lines, login);
    else
        up_form_put(form, "client_id", login->client_id);
    if (slice_is(login->auth_method, "client_secret_post"))
        up_form_put(form, "client_secret", login->client_secret);
    if (login->resource.len)
        up_form_put(form, "resource", login->resource);
    struct arena a;
    arena_init(&a);
    struct up_fetch_request r = {
        .method = HTTP_POST,
        .url = arena_dup(&a, login->token_url).ptr,
        .content_type = "application/x-www-form-urlencoded",
        .headers = buf_slice(&lines),
        .body = buf_slice(form),
    };
    struct up_fetch *f = up_fetch(core, &r, done, owner, err);
    arena_free(&a);
    return f;
}

/* A server's error text: short, and without characters that could be misread. */
static int token_refused(const struct tape *t, const struct up_fetch_answer *answer, struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice code = t->count ? text_at(t, "error", &a) : (struct slice){0};
    bool plain = code.len && code.len < 64 && http_token_ok(code);
    if (answer->why)
        return err_set(err, "%s", answer->why);
    if (answer->status < 300)
        return err_set(err,
                       "the authorization server answered with something else than a JSON object (HTTP %d)",
                       answer->status);
    return err_set(err, "the authorization server refused (HTTP %d)%s%.*s", answer->status, plain ? ": " : "",
                   plain ? (int)code.len : 0, code.ptr);
}

/* In seconds; some servers write the number as text. */
static bool lifetime_of(const struct tape *t, struct arena *a, double *ret_seconds) {
    uint32_t node = tape_get_str(t, 0, "expires_in");
    uint64_t whole;
    if (node && tape_is(t, node, TAPE_STRING) && slice_to_u64(tape_text(t, node, a), &whole))
        *ret_seconds = (double)whole;
    else if (!node || !tape_double(t, node, ret_seconds))
        return false;
    return *ret_seconds > 0 && *ret_seconds < 1e10;
}

int up_login_take(struct up_login *login, const struct up_fetch_answer *answer, uint64_t now_ms,
                  struct err *err) {
    cleanup_tape struct tape t;
    tape_init(&t);
    bool read =
        answer->body.len && tape_parse(&t, answer->body, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT);
    if (!read)
        t.count = 0;
    if ((answer->status != 200 && answer->status != 201) || !read)
        return token_refused(&t, answer, err);
    struct arena *a = &login->arena;
    struct slice type = text_at(&t, "token_type", a), token = text_at(&t, "access_token", a),
                 refresh = text_at(&t, "refresh_token", a), scope = text_at(&t, "scope", a);
    if (!slice_eq_nocase(type, SLICE("Bearer")) || !token.len || token.len > UP_SECRET_MAX ||
        refresh.len > UP_SECRET_MAX || !http_value_ok(token))
        return err_set(err, "the authorization server returned no usable bearer token");
    double seconds;
    login->access_token = token;
    login->expires_ms = lifetime_of(&t, a, &seconds) ? now_ms + (uint64_t)(seconds * 1000) : 0;
    if (refresh.len)
        login->refresh_token = refresh; /* otherwise the old one stays valid */
    if (scope.len)
        login->scope = scope;
    return 0;
}

/* ---- the secret ---- */

struct login_claim;

struct login_secret {
    struct up_secret base;
    const char *home;
    char path[STATE_SEALED_PATH_MAX]; /* the watched file */
    struct io_watch watch;
    struct up_login login; /* while it is being refreshed */
    bool loaded;
    int lock; /* the lock that keeps two gates from using one refresh token twice; -1 */
    struct up_fetch *fetch;
    struct login_claim *claim; /* where a fleet shares it: asks whether this gate may refresh it */
    struct io_timer timer;     /* for the lock, or for the next refresh */
};

static struct login_secret *login_of(struct up_secret *s) {
    return container_of(s, struct login_secret, base);
}
static struct io_loop *login_loop(const struct login_secret *l) { return l->base.server->core->loop; }

static void login_fetch(struct up_secret *s);

static void login_done(struct login_secret *l) {
    if (l->loaded)
        arena_free(&l->login.arena);
    l->loaded = false;
    if (l->lock >= 0)
        close(l->lock);
    l->lock = -1;
}

static void login_fail(struct login_secret *l, const char *why) {
    char command[UP_COMMAND_MAX], text[ERR_TEXT_MAX];
    up_challenge_command(l->base.server, command);
    snprintf(text, sizeof(text), "%s; run `%s`", why, command);
    login_done(l);
    up_secret_fail(&l->base, text);
}

static void on_due(struct io_timer *timer) {
    struct login_secret *l = container_of(timer, struct login_secret, timer);
    l->base.fetching = true;
    login_fetch(&l->base);
}

/* Valid long enough to be used; the next refresh comes before it expires. */
static void login_use(struct login_secret *l) {
    uint64_t now_ms = clock_wall_ms(), end = l->login.expires_ms;
    if (end) {
        uint64_t left = end > now_ms ? end - now_ms : 0;
        uint64_t early = left / 10 < UP_LOGIN_EARLY_MS ? left / 10 : UP_LOGIN_EARLY_MS;
        io_timer_arm(login_loop(l), &l->timer, left - early, on_due);
    }
    up_scopes_take(l->base.server->challenge.granted, l->login.scope);
    up_secret_set(&l->base, l->login.access_token);
    login_done(l);
}

static bool login_fresh(const struct login_secret *l) {
    uint64_t end = l->login.expires_ms;
    uint64_t now_ms = clock_wall_ms();
    bool refused = l->base.stale && l->base.value && slice_is(l->login.access_token, l->base.value);
    return !refused && (!end || end > now_ms + UP_LOGIN_MARGIN_MS);
}

static void on_refreshed(void *owner, const struct up_fetch_answer *answer) {
    struct login_secret *l = owner;
    struct err err;
    l->fetch = NULL;
    if (up_login_take(&l->login, answer, clock_wall_ms(), &err) < 0 ||
        up_login_save(l->home, &l->login, &err) < 0) {
        login_fail(l, err.text);
        return;
    }
    login_use(l);
}

static void login_refresh(struct login_secret *l) {
    cleanup_buf struct buf form;
    struct err err;
    buf_init(&form, UP_SECRET_MAX * 8);
    up_form_put(&form, "grant_type", SLICE("refresh_token"));
    up_form_put(&form, "refresh_token", l->login.refresh_token);
    l->fetch = up_login_ask(l->base.server->core, &l->login, &form, on_refreshed, l, &err);
    OPENSSL_cleanse(form.ptr, form.cap);
    if (!l->fetch)
        login_fail(l, err.text);
}

/* False: another gate of this home is refreshing it. */
static bool login_lock(struct login_secret *l) {
    char path[STATE_SEALED_PATH_MAX + 8];
    snprintf(path, sizeof(path), "%s.lock", l->path);
    l->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (l->lock < 0 || flock(l->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    close(l->lock);
    l->lock = -1;
    return false;
}

/* Under the lock: the last holder may have renewed the login. */
static void login_renew(struct login_secret *l, bool may_refresh) {
    struct err err;
    bool absent;
    arena_free(&l->login.arena);
    if (up_login_load(l->home, l->base.server->url, &l->login, &absent, &err) < 0) {
        login_fail(l, err.text);
    } else if (login_fresh(l)) {
        login_use(l);
    } else if (may_refresh) {
        login_refresh(l);
    } else {
        login_done(l);
        io_timer_arm(login_loop(l), &l->timer, UP_LOGIN_CLAIM_MS, on_due);
    }
}

struct login_claim {
    struct io_work work;
    struct login_secret *owner; /* NULL: gone */
    char *home;
    char name[LOGIN_NAME_TEXT];
    bool fine, claimed;
    struct err err;
};

static void claim_run(struct io_work *work) {
    struct login_claim *c = container_of(work, struct login_claim, work);
    c->fine = state_fleet_logins_claim(c->home, c->name, &c->claimed, &c->err) == 0;
}

static void claim_done(struct io_work *work) {
    struct login_claim *c = container_of(work, struct login_claim, work);
    struct login_secret *l = c->owner;
    if (l) {
        l->claim = NULL;
        if (c->fine)
            login_renew(l, c->claimed);
        else
            login_fail(l, c->err.text);
    }
    free(c->home);
    free(c);
}

static void login_claim(struct login_secret *l) {
    struct login_claim *c = l->claim = mem_zalloc(sizeof(*c));
    c->work = (struct io_work){.thread = IO_THREAD_CALLS, .run = claim_run, .done = claim_done};
    c->owner = l;
    c->home = mem_dup(l->home, strlen(l->home));
    login_name(slice_str(l->base.server->url), c->name);
    io_work_add(login_loop(l), &c->work);
}

static void login_fetch(struct up_secret *s) {
    struct login_secret *l = login_of(s);
    struct err err;
    bool absent = false;
    if (l->fetch || l->claim)
        return;
    login_done(l);
    l->loaded = true;
    if (up_login_load(l->home, s->server->url, &l->login, &absent, &err) < 0) {
        if (absent && !s->stale) { /* no login is known to be needed */
            login_done(l);
            up_secret_none(s);
            return;
        }
        login_fail(l, absent ? "the server requires a login" : err.text);
        return;
    }
    if (login_fresh(l)) {
        login_use(l);
    } else if (!l->login.refresh_token.len) {
        login_fail(l, "the login has expired");
    } else if (login_lock(l)) {
        if (state_fleet_logins_shared(l->home))
            login_claim(l);
        else
            login_renew(l, true);
    } else {
        login_done(l);
        io_timer_arm(login_loop(l), &l->timer, UP_LOGIN_LOCK_MS, on_due);
    }
}

static void on_login_changed(struct io_watch *w) {
    struct login_secret *l = container_of(w, struct login_secret, watch);
    if (l->fetch || l->claim)
        return; /* our own write, or checked later under the lock */
    l->base.server->renewed_ms = 0;
    l->base.fetching = true;
    login_fetch(&l->base);
}

/* Forgotten: its token is not used any more. */
static void on_login_gone(struct io_watch *w) {
    if (container_of(w, struct login_secret, watch)->base.value)
        on_login_changed(w);
}

/* Another process has logged in meanwhile; the watch has not reported it yet. */
static bool login_changed(struct up_secret *s) {
    struct up_login login;
    struct err err;
    bool absent;
    bool other = up_login_load(login_of(s)->home, s->server->url, &login, &absent, &err) == 0 &&
                 !(s->value && slice_is(login.access_token, s->value));
    arena_free(&login.arena);
    return other;
}

static void login_free(struct up_secret *s) {
    struct login_secret *l = login_of(s);
    io_timer_stop(login_loop(l), &l->timer);
    io_watch_stop(&l->watch);
    up_fetch_cancel(l->fetch);
    if (l->claim)
        l->claim->owner = NULL;
    login_done(l);
    free(l);
}

static const struct up_secret_ops login_ops = {
    .fetch = login_fetch, .free = login_free, .changed = login_changed};

struct up_secret *up_login_secret(struct up_server *server, const char *home) {
    char name[LOGIN_NAME_TEXT];
    struct login_secret *l = mem_zalloc(sizeof(*l));
    l->base = (struct up_secret){.ops = &login_ops, .header = "Authorization", .prefix = "Bearer "};
    l->home = home;
    l->lock = -1;
    server->challenge.login = true;
    login_name(slice_str(server->url), name);
    up_secret_add(server, &l->base);
    if (state_sealed_path(home, STATE_LOGINS_DIR, name, l->path))
        io_watch_start(&l->watch, server->core->loop, l->path, on_login_changed);
    l->watch.gone = on_login_gone;
    return &l->base;
}
