/* Signing in to the console at an identity provider: OpenID Connect, code flow with PKCE.
 *
 *   page ── begin ──▶ where the provider is asked, and a cookie that only this browser has
 *   provider ── ?code&state ──▶ page ── finish ──▶ token endpoint ── ID token ──▶ a login
 *
 * What is needed in between is sealed in that cookie, so that every process of the home can finish. Of the ID
 * token, issuer, audience, time and nonce are looked at here; the front judges it, its signature included,
 * with every request of the login (front/auth.c). */
#include "admin/admin.h"
#include "admin/api.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "base/sha.h"
#include "crypto/aead.h"
#include "crypto/jwt.h"
#include "crypto/keyfile.h"
#include "state/logins.h"
#include "upstream/fetch.h"
#include "upstream/login.h"
#include "wire/base64.h"

#include <stdio.h>

#define BEGUN_COOKIE WEB_COOKIE "_begun"
#define BEGUN_COOKIE_MAX (WEB_COOKIE_NAME_MAX + 8)
#define BEGUN_MAX 2048 /* bytes in the cookie, before they are sealed */
#define BEGUN_BOUND SLICE("sign-in to the console")
#define STATE_CHARS 43
#define VERIFIER_CHARS 64

struct api_providers {
    struct arena arena;                /* owns the texts */
    const char *redirect, *signed_out; /* where users return to after signing in */
    struct admin_provider *items;
    size_t count;
    struct list begun; /* struct sign_in */
    size_t begun_count;
};

/* A request to a provider for a user who waits for the response. */
struct sign_in {
    struct list node;
    struct admin *admin;
    struct web_reply *reply; /* NULL when the client has disconnected */
    struct up_fetch *fetch;
    const struct admin_provider *provider;
    uint16_t port;
    bool secure;
    struct arena arena;
    struct slice token_url, auth_method, state, nonce, verifier;
    struct slice token, cookie; /* the ID token of a user who signs out */
    bool iss_promised;
};

/* ---- the providers ---- */

static void sign_in_free(struct sign_in *s) {
    list_remove(&s->node);
    s->admin->providers->begun_count--;
    up_fetch_cancel(s->fetch);
    arena_free(&s->arena);
    free(s);
}

static void answer(struct sign_in *s, int status, struct slice headers, const struct buf *body) {
    struct slice lines = arena_printf(&s->arena, "Cache-Control: no-store\r\n%.*s", SLICE_FMT(headers));
    if (s->reply)
        s->reply->ops->answer(s->reply, status, "application/json", lines, buf_slice(body));
    sign_in_free(s);
}

static void fail(struct sign_in *s, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void fail(struct sign_in *s, int status, const char *fmt, ...) {
    char text[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cleanup_buf struct buf body;
    buf_init(&body, ERR_TEXT_MAX * 8);
    struct emit e;
    emit_init(&e, &body);
    emit_object(&e);
    emit_key(&e, "error");
    emit_cstr(&e, text);
    emit_object_end(&e);
    answer(s, status, (struct slice){0}, &body);
}

void api_providers_free(struct admin *a) {
    struct api_providers *p = a->providers;
    if (!p)
        return;
    LIST_FOR_SAFE (n, next, &p->begun) {
        fail(container_of(n, struct sign_in, node), 503, "the settings have changed: sign in again");
    }
    arena_free(&p->arena);
    free(p);
    a->providers = NULL;
}

void api_providers_set(struct admin *a, const char *origin, const struct admin_provider *items,
                       size_t count) {
    api_providers_free(a);
    if (!count)
        return;
    struct api_providers *p = mem_zalloc(sizeof(*p));
    arena_init(&p->arena);
    list_init(&p->begun);
    struct slice at = slice_str(origin);
    if (slice_ends(at, SLICE("/")))
        at.len--;
    p->redirect = arena_printf(&p->arena, "%.*s/ui/sign-in", SLICE_FMT(at)).ptr;
    p->signed_out = arena_printf(&p->arena, "%.*s/ui/", SLICE_FMT(at)).ptr;
    p->items = arena_array(&p->arena, struct admin_provider, count);
    p->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct admin_provider *x = &items[i];
        p->items[i] = (struct admin_provider){
            .issuer = arena_dup(&p->arena, slice_str(x->issuer)).ptr,
            .client_id = arena_dup(&p->arena, slice_str(x->client_id)).ptr,
            .client_secret = x->client_secret ? arena_dup(&p->arena, slice_str(x->client_secret)).ptr : NULL,
            .scopes = arena_dup_list(&p->arena, x->scopes, x->scope_count),
            .scope_count = x->scope_count,
            .session_ms = x->session_ms ? x->session_ms : ADMIN_SESSION_MS,
            .sign_out = x->sign_out,
        };
    }
    a->providers = p;
}

void api_issuers(struct api_call *c) {
    const struct api_providers *p = c->admin->providers;
    emit_array(&c->e);
    for (size_t i = 0; p && i < p->count; i++) {
        emit_object(&c->e);
        emit_key(&c->e, "issuer");
        emit_cstr(&c->e, p->items[i].issuer);
        emit_object_end(&c->e);
    }
    emit_array_end(&c->e);
    api_answer(c, 200);
}

static void on_gone(void *owner) {
    struct sign_in *s = owner;
    s->reply = NULL;
    sign_in_free(s);
}

static const struct admin_provider *find_provider(const struct api_providers *p, struct slice issuer) {
    for (size_t i = 0; p && i < p->count; i++)
        if (slice_is(issuer, p->items[i].issuer))
            return &p->items[i];
    return NULL;
}

/* Responds with an error and returns NULL if that is not possible. */
static struct sign_in *sign_in_new(struct api_call *c, struct slice issuer) {
    struct api_providers *p = c->admin->providers;
    const struct admin_provider *found = find_provider(p, issuer);
    if (!found || p->begun_count >= ADMIN_SIGN_INS_MAX) {
        api_error(c, found ? 503 : 404,
                  found ? "too many concurrent sign-ins" : "this issuer is not configured for sign-in");
        return NULL;
    }
    struct sign_in *s = mem_zalloc(sizeof(*s));
    *s = (struct sign_in){.admin = c->admin,
                          .reply = c->request->reply,
                          .provider = found,
                          .port = c->request->port,
                          .secure = c->request->secure};
    arena_init(&s->arena);
    list_push(&p->begun, &s->node);
    p->begun_count++;
    s->reply->ops->later(s->reply, s, on_gone);
    return s;
}

/* ---- the state cookie ---- */

static int load_key(const struct admin *a, unsigned char key[CRYPTO_SEAL_KEY], struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/secret.key", a->home) < 0)
        return err_set(err, "out of memory");
    return crypto_keyfile_load(path, key, CRYPTO_SEAL_KEY, err);
}

static struct slice begun_cookie(struct arena *a, uint16_t port, bool secure, struct slice value) {
    char name[BEGUN_COOKIE_MAX];
    snprintf(name, sizeof(name), BEGUN_COOKIE, port);
    return arena_printf(a,
                        "Set-Cookie: %s=%.*s; Path=/api/v1/session; HttpOnly; SameSite=Strict%s; "
                        "Max-Age=%u\r\n",
                        name, SLICE_FMT(value), secure ? "; Secure" : "",
                        value.len ? ADMIN_SIGN_IN_MS / 1000 : 0);
}

static void put(struct emit *e, const char *key, struct slice text) {
    emit_key(e, key);
    emit_str(e, text);
}

/* Empty, with *err set, if it fails. */
static struct slice seal_begun(struct sign_in *s, struct err *err) {
    unsigned char key[CRYPTO_SEAL_KEY];
    cleanup_buf struct buf text, box, value;
    buf_init(&text, BEGUN_MAX);
    buf_init(&box, BEGUN_MAX + CRYPTO_SEAL_HEAD);
    buf_init(&value, BEGUN_MAX * 2);
    struct emit e;
    emit_init(&e, &text);
    emit_object(&e);
    put(&e, "issuer", slice_str(s->provider->issuer));
    put(&e, "token_url", s->token_url);
    put(&e, "auth_method", s->auth_method);
    put(&e, "state", s->state);
    put(&e, "nonce", s->nonce);
    put(&e, "verifier", s->verifier);
    emit_key(&e, "iss_promised");
    emit_bool(&e, s->iss_promised);
    emit_key(&e, "until_ms");
    emit_int(&e, (int64_t)(clock_wall_ms() + ADMIN_SIGN_IN_MS));
    emit_object_end(&e);
    char *room = text.full ? NULL : buf_reserve(&box, CRYPTO_SEAL_HEAD + text.len);
    if (!room)
        return err_set(err, "the provider's metadata is too large"), (struct slice){0};
    if (load_key(s->admin, key, err) < 0)
        return (struct slice){0};
    crypto_seal(key, BEGUN_BOUND, buf_slice(&text), room);
    explicit_bzero(key, sizeof(key));
    base64_put(&value, slice_of(room, CRYPTO_SEAL_HEAD + text.len), BASE64_URL);
    return arena_dup(&s->arena, buf_slice(&value));
}

/* False if there is no valid one. */
static bool open_begun(struct api_call *c, struct tape *ret_begun) {
    char name[BEGUN_COOKIE_MAX];
    unsigned char key[CRYPTO_SEAL_KEY];
    struct slice box;
    struct err err;
    snprintf(name, sizeof(name), BEGUN_COOKIE, c->request->port);
    if (!base64_get(http_cookie(c->request->head, slice_str(name)), BASE64_URL, &c->arena, &box) ||
        box.len <= CRYPTO_SEAL_HEAD || box.len > BEGUN_MAX + CRYPTO_SEAL_HEAD ||
        load_key(c->admin, key, &err) < 0)
        return false;
    char *text = arena_alloc(&c->arena, box.len);
    bool fine = crypto_unseal(key, BEGUN_BOUND, box, text);
    explicit_bzero(key, sizeof(key));
    int64_t until = 0;
    return fine && tape_parse(ret_begun, slice_of(text, box.len - CRYPTO_SEAL_HEAD), NULL) == TAPE_OK &&
           tape_int(ret_begun, tape_get_str(ret_begun, 0, "until_ms"), &until) &&
           (uint64_t)until > clock_wall_ms();
}

/* ---- redirect to the provider ---- */

static struct slice text_at(struct sign_in *s, const struct tape *t, const char *key) {
    uint32_t node = tape_get_str(t, 0, key);
    return node && tape_is(t, node, TAPE_STRING) ? arena_dup(&s->arena, tape_text(t, node, &s->arena))
                                                 : (struct slice){0};
}

static struct slice random_text(struct sign_in *s, size_t len) {
    char *text = arena_alloc(&s->arena, len + 1);
    rand_token(text, len);
    return slice_of(text, len);
}

static void put_scopes(struct buf *query, const struct admin_provider *p) {
    cleanup_buf struct buf words;
    buf_init(&words, UP_SCOPE_MAX);
    buf_put_str(&words, p->scope_count ? "openid" : "openid profile email");
    for (size_t i = 0; i < p->scope_count; i++)
        if (strcmp(p->scopes[i], "openid") != 0)
            buf_printf(&words, " %s", p->scopes[i]);
    up_form_put(query, "scope", buf_slice(&words));
}

static void answer_place(struct sign_in *s, struct slice authorize_url) {
    const struct admin_provider *p = s->provider;
    unsigned char hash[SHA_BYTES];
    struct err err = {0};
    cleanup_buf struct buf challenge, query, body;
    s->state = random_text(s, STATE_CHARS);
    s->nonce = random_text(s, STATE_CHARS);
    s->verifier = random_text(s, VERIFIER_CHARS);
    sha_256(&s->verifier, 1, hash);
    buf_init(&challenge, 64);
    buf_init(&query, UP_URL_MAX * 4);
    buf_init(&body, UP_URL_MAX * 8);
    base64_put(&challenge, slice_of((char *)hash, sizeof(hash)), BASE64_URL);
    up_form_put(&query, "response_type", SLICE("code"));
    up_form_put(&query, "client_id", slice_str(p->client_id));
    up_form_put(&query, "redirect_uri", slice_str(s->admin->providers->redirect));
    up_form_put(&query, "state", s->state);
    up_form_put(&query, "nonce", s->nonce);
    up_form_put(&query, "code_challenge", buf_slice(&challenge));
    up_form_put(&query, "code_challenge_method", SLICE("S256"));
    put_scopes(&query, p);
    struct slice cookie = seal_begun(s, &err);
    if (!cookie.len) {
        fail(s, 503, "%s", err.text);
        return;
    }
    struct emit e;
    emit_init(&e, &body);
    emit_object(&e);
    put(&e, "url",
        arena_printf(&s->arena, "%.*s%c%.*s", SLICE_FMT(authorize_url),
                     slice_find(authorize_url, '?') >= 0 ? '&' : '?', SLICE_FMT(buf_slice(&query))));
    emit_object_end(&e);
    answer(s, 200, begun_cookie(&s->arena, s->port, s->secure, cookie), &body);
}

static void on_metadata(void *owner, const struct up_fetch_answer *got) {
    struct sign_in *s = owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    s->fetch = NULL;
    if (got->status != 200 || tape_parse(&t, got->body, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT)) {
        fail(s, 502, "the identity provider has no usable metadata: %s %d", got->why ? got->why : "HTTP",
             got->status);
        return;
    }
    struct slice authorize = text_at(s, &t, "authorization_endpoint");
    uint32_t promised = tape_get_str(&t, 0, "authorization_response_iss_parameter_supported");
    s->token_url = text_at(s, &t, "token_endpoint");
    s->iss_promised = promised && tape_is(&t, promised, TAPE_TRUE);
    s->auth_method =
        !s->provider->client_secret ? SLICE("none")
        : tape_list_has(&t, 0, "token_endpoint_auth_methods_supported", "client_secret_post") &&
                !tape_list_has(&t, 0, "token_endpoint_auth_methods_supported", "client_secret_basic")
            ? SLICE("client_secret_post")
            : SLICE("client_secret_basic");
    if (!slice_is(text_at(s, &t, "issuer"), s->provider->issuer))
        fail(s, 502, "the identity provider's metadata names another issuer");
    else if (!up_url_is_safe(authorize) || !up_url_is_safe(s->token_url))
        fail(s, 502, "the identity provider names an endpoint that is not https");
    else
        answer_place(s, authorize);
}

static void ask_metadata(struct sign_in *s, void (*done)(void *owner, const struct up_fetch_answer *got),
                         struct err *err) {
    struct slice at = slice_str(s->provider->issuer);
    if (slice_ends(at, SLICE("/")))
        at.len--;
    struct up_fetch_request r = {
        .method = HTTP_GET,
        .url = arena_printf(&s->arena, "%.*s/.well-known/openid-configuration", SLICE_FMT(at)).ptr};
    s->fetch = up_fetch(&s->admin->core->up, &r, done, s, err);
}

void api_sign_in_begin(struct api_call *c) {
    struct sign_in *s = sign_in_new(c, api_member(c, "issuer"));
    struct err err;
    if (!s)
        return;
    ask_metadata(s, on_metadata, &err);
    if (!s->fetch)
        fail(s, 502, "%s", err.text);
}

/* ---- signing out (OpenID Connect RP-Initiated Logout 1.0) ---- */

/* The login has already ended here. A failure of the provider does not change that. */
static void answer_signed_out(struct sign_in *s, struct slice end_url) {
    cleanup_buf struct buf query, body;
    buf_init(&query, UP_SECRET_MAX * 4);
    buf_init(&body, UP_SECRET_MAX * 8);
    struct emit e;
    emit_init(&e, &body);
    emit_object(&e);
    up_form_put(&query, "id_token_hint", s->token);
    up_form_put(&query, "client_id", slice_str(s->provider->client_id));
    up_form_put(&query, "post_logout_redirect_uri", slice_str(s->admin->providers->signed_out));
    if (up_url_is_safe(end_url) && !query.full)
        put(&e, "url",
            arena_printf(&s->arena, "%.*s%c%.*s", SLICE_FMT(end_url),
                         slice_find(end_url, '?') >= 0 ? '&' : '?', SLICE_FMT(buf_slice(&query))));
    emit_object_end(&e);
    answer(s, 200, s->cookie, &body);
}

static void on_end_metadata(void *owner, const struct up_fetch_answer *got) {
    struct sign_in *s = owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    s->fetch = NULL;
    bool fine = got->status == 200 && tape_parse(&t, got->body, NULL) == TAPE_OK &&
                tape_is(&t, 0, TAPE_OBJECT) && slice_is(text_at(s, &t, "issuer"), s->provider->issuer);
    answer_signed_out(s, fine ? text_at(s, &t, "end_session_endpoint") : (struct slice){0});
}

bool api_sign_out_there(struct api_call *c, struct slice token, struct slice cookie) {
    struct jwt jwt;
    struct err err;
    if (jwt_read(token, &c->arena, &jwt) != JWT_OK)
        return false;
    const struct admin_provider *found = find_provider(c->admin->providers, jwt.issuer);
    struct sign_in *s = found && found->sign_out && c->admin->providers->begun_count < ADMIN_SIGN_INS_MAX
                            ? sign_in_new(c, jwt.issuer)
                            : NULL;
    jwt_free(&jwt);
    if (!s)
        return false;
    s->token = arena_dup(&s->arena, token);
    s->cookie = arena_dup(&s->arena, cookie);
    ask_metadata(s, on_end_metadata, &err);
    if (!s->fetch)
        answer_signed_out(s, (struct slice){0});
    return true;
}

/* ---- return from the provider ---- */

/* Is this the ID token for this sign-in? */
static const char *token_fault(const struct sign_in *s, const struct jwt *jwt) {
    const struct jwt_rules rules = {.issuer = s->provider->issuer,
                                    .audiences = &s->provider->client_id,
                                    .audience_count = 1,
                                    .skew_s = 60};
    uint64_t ignored;
    enum jwt_fault fault = jwt_judge(jwt, &rules, clock_wall_ms() / 1000, &ignored);
    uint32_t nonce = tape_get_str(&jwt->claims, 0, "nonce"), party = tape_get_str(&jwt->claims, 0, "azp");
    if (fault != JWT_OK)
        return jwt_fault_text(fault);
    if (!nonce || !tape_eq(&jwt->claims, nonce, s->nonce))
        return "its nonce does not match this sign-in";
    return !party || tape_eq(&jwt->claims, party, slice_str(s->provider->client_id))
               ? NULL
               : "it was issued to another client";
}

struct signing_in {
    struct state_login login;
    uint64_t lasts_ms;
    char cookie[STATE_LOGIN_TEXT];
};

static void run_sign_in(struct api_call *c) {
    struct signing_in *w = c->what;
    struct state_logins *logins = api_store_logins(c);
    if (logins)
        api_store_failed(c, 503, state_logins_create(logins, &w->login, c->now_ms, w->cookie, &c->err) < 0);
}

static void on_signed_in(struct api_call *c) {
    const struct signing_in *w = c->what;
    const struct web_request *r = c->request;
    audit_put_action(c->admin->core->audit,
                     &(struct audit_action){.name = SLICE("signed_in"),
                                            .identity = w->login.name,
                                            .text = SLICE("at the identity provider")});
    struct slice set = api_login_cookie(&c->arena, r->port, r->secure, w->cookie, w->lasts_ms);
    struct slice drop = begun_cookie(&c->arena, r->port, r->secure, SLICE(""));
    c->more = arena_join(&c->arena, set, drop);
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 201);
}

/* The provider has authenticated the user. Now the login is written to the store. */
static void sign_in(struct sign_in *s, const struct jwt *jwt, struct slice token) {
    const struct web_request request = {.port = s->port, .secure = s->secure, .reply = s->reply};
    struct api_call c;
    api_call_begin(&c, s->admin, &request);
    struct signing_in *w = c.what = arena_new(&c.arena, struct signing_in);
    w->lasts_ms = s->provider->session_ms;
    w->login = (struct state_login){
        .kind = STATE_LOGIN_ID,
        .name = arena_printf(&c.arena, "oidc:%.*s|%.*s", SLICE_FMT(jwt->issuer), SLICE_FMT(jwt->subject)),
        .token = arena_dup(&c.arena, token),
        .expires_ms = clock_wall_ms() + w->lasts_ms};
    sign_in_free(s);
    api_store(&c, run_sign_in, on_signed_in);
    api_call_end(&c);
}

static void on_token(void *owner, const struct up_fetch_answer *got) {
    struct sign_in *s = owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    s->fetch = NULL;
    bool fine = !got->why && tape_parse(&t, got->body, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT);
    struct slice token = fine ? text_at(s, &t, "id_token") : (struct slice){0};
    if (got->status != 200 || !token.len) {
        struct slice error = fine ? text_at(s, &t, "error") : (struct slice){0};
        bool plain = error.len && error.len < 64 && http_token_ok(error);
        fail(s, got->status == 400 || got->status == 401 ? 401 : 502,
             "the identity provider returned no ID token: %s %d%s%.*s", got->why ? got->why : "HTTP",
             got->status, plain ? ", " : "", plain ? (int)error.len : 0, error.ptr);
        return;
    }
    struct jwt jwt;
    enum jwt_fault fault = jwt_read(token, &s->arena, &jwt);
    const char *why = fault == JWT_OK ? token_fault(s, &jwt) : jwt_fault_text(fault);
    if (why)
        fail(s, 401, "the identity provider's ID token is refused: %s", why);
    else
        sign_in(s, &jwt, token);
    jwt_free(&jwt);
}

static void ask_token(struct sign_in *s, struct slice code) {
    cleanup_buf struct buf form;
    struct err err;
    buf_init(&form, UP_SECRET_MAX * 4);
    up_form_put(&form, "grant_type", SLICE("authorization_code"));
    up_form_put(&form, "code", code);
    up_form_put(&form, "redirect_uri", slice_str(s->admin->providers->redirect));
    up_form_put(&form, "code_verifier", s->verifier);
    const struct up_login client = {.token_url = s->token_url,
                                    .client_id = slice_str(s->provider->client_id),
                                    .client_secret = s->provider->client_secret
                                                         ? slice_str(s->provider->client_secret)
                                                         : (struct slice){0},
                                    .auth_method = s->auth_method};
    s->fetch = up_login_ask(&s->admin->core->up, &client, &form, on_token, s, &err);
    if (!s->fetch)
        fail(s, 502, "%s", err.text);
}

void api_sign_in_finish(struct api_call *c) {
    struct slice code = api_member(c, "code"), state = api_member(c, "state"), iss = api_member(c, "iss");
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!code.len || code.len > UP_SECRET_MAX) {
        api_error(c, 400, "the code is missing");
        return;
    }
    if (!open_begun(c, &t) || state.len != STATE_CHARS || !tape_eq(&t, tape_get_str(&t, 0, "state"), state)) {
        api_error(c, 401, "this sign-in was not started in this browser, or took too long: start again");
        return;
    }
    struct slice issuer = tape_text(&t, tape_get_str(&t, 0, "issuer"), &c->arena);
    bool promised = tape_is(&t, tape_get_str(&t, 0, "iss_promised"), TAPE_TRUE);
    if (iss.len ? !slice_eq(iss, issuer) : promised) {
        api_error(c, 401, "the response comes from another identity provider");
        return;
    }
    struct sign_in *s = sign_in_new(c, issuer);
    if (!s)
        return;
    s->token_url = text_at(s, &t, "token_url");
    s->auth_method = text_at(s, &t, "auth_method");
    s->nonce = text_at(s, &t, "nonce");
    s->verifier = text_at(s, &t, "verifier");
    ask_token(s, code);
}
