/* Sign-in to the console. A token is sent once and exchanged for a cookie that no script can read. A link
 * created on the gate's own machine does the same without a token. The front authenticates users by the
 * cookie (front/auth.c). */
#include "admin/api.h"
#include "audit/audit.h"
#include "call/principal.h"
#include "state/grants.h"
#include "state/logins.h"

#include <stdio.h>

/* Not sent by other sites, nor over plain HTTP if the gate has TLS. */
struct slice api_login_cookie(struct arena *a, uint16_t port, bool secure, const char *value,
                              uint64_t lasts_ms) {
    char name[WEB_COOKIE_NAME_MAX];
    snprintf(name, sizeof(name), WEB_COOKIE, port);
    return arena_printf(a, "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict%s; Max-Age=%llu\r\n", name,
                        value, secure ? "; Secure" : "",
                        value[0] ? (unsigned long long)(lasts_ms / 1000) : 0);
}

static void set_cookie(struct api_call *c, const char *value) {
    c->more = api_login_cookie(&c->arena, c->request->port, c->request->secure, value, STATE_LOGIN_MS);
}

static void put_me(struct api_call *c, const struct principal *who, bool signed_in) {
    uint32_t roles = who->roles;
    struct emit *e = &c->e;
    emit_object(e);
    emit_key(e, "identity");
    emit_cstr(e, who->id);
    emit_key(e, "roles");
    emit_array(e);
    if (who->kind == PRINCIPAL_LOCAL && !(roles & PRINCIPAL_ADMIN))
        roles |= PRINCIPAL_VIEWER;
    for (size_t i = 0; state_role_name(i); i++)
        if (roles >> i & 1)
            emit_cstr(e, state_role_name(i));
    emit_array_end(e);
    emit_key(e, "signed_in");
    emit_bool(e, signed_in);
    emit_key(e, "open");
    emit_bool(e, who->kind == PRINCIPAL_LOCAL && !signed_in);
    emit_time(e, "expires_at", who->expires_ms);
    emit_object_end(e);
}

void api_session(struct api_call *c) {
    put_me(c, c->request->who, c->request->cookie.len > 0);
    api_answer(c, 200);
}

static struct slice bearer_of(const struct api_call *c) {
    struct slice shown = http_value(c->request->head, HTTP_FIELD_AUTHORIZATION);
    return shown.len > 7 ? slice_trim(slice_from(shown, 7)) : (struct slice){0};
}

struct signing_in {
    struct state_login login;
    char cookie[STATE_LOGIN_TEXT];
};

static void run_sign_in(struct api_call *c) {
    struct signing_in *w = c->what;
    struct state_logins *logins = api_store_logins(c);
    struct state_grants *grants = w->login.kind == STATE_LOGIN_GRANT ? api_store_grants(c) : NULL;
    if (c->fault)
        return;
    const struct state_grant *g = grants ? state_grants_by_name(grants, w->login.name) : NULL;
    w->login.grant_version = g ? g->version : 0;
    api_store_failed(c, 503, state_logins_create(logins, &w->login, c->now_ms, w->cookie, &c->err) < 0);
}

static void on_signed_in(struct api_call *c) {
    const struct signing_in *w = c->what;
    api_record(c, (struct audit_action){.name = SLICE("signed_in")});
    set_cookie(c, w->cookie);
    put_me(c, c->request->who, true);
    api_answer(c, 201);
}

void api_sign_in(struct api_call *c) {
    const struct principal *who = c->request->who;
    struct signing_in *w = c->what = arena_new(&c->arena, struct signing_in);
    w->login.expires_ms = who->expires_ms;
    if (who->kind == PRINCIPAL_TOKEN) {
        w->login.kind = STATE_LOGIN_TOKEN;
        w->login.token = arena_dup(&c->arena, bearer_of(c));
    } else if (who->kind == PRINCIPAL_GRANT) {
        w->login.kind = STATE_LOGIN_GRANT;
        w->login.name = arena_dup(&c->arena, slice_str(who->grant));
    } else {
        api_error(c, 403, "sign in with the token of a grant");
        return;
    }
    api_store(c, run_sign_in, on_signed_in);
}

static void run_link(struct api_call *c) {
    struct signing_in *w = c->what;
    struct state_logins *logins = api_store_logins(c);
    if (!logins)
        return;
    int rc = state_logins_redeem(logins, api_member(c, "code"), c->now_ms, w->cookie, &c->err);
    if (rc == 0)
        err_set(&c->err, "this link was used already or has expired: `sallyport ui` creates another one");
    api_store_failed(c, rc < 0 ? 503 : 401, rc <= 0);
}

static void on_link(struct api_call *c) {
    const struct signing_in *w = c->what;
    audit_put_event(c->admin->core->audit, SLICE("signed_in"), (struct slice){0}, (struct slice){0},
                    SLICE("by a link"));
    set_cookie(c, w->cookie);
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 201);
}

void api_sign_in_link(struct api_call *c) {
    c->what = arena_new(&c->arena, struct signing_in);
    api_store(c, run_link, on_link);
}

static void run_sign_out(struct api_call *c) {
    struct signing_in *w = c->what;
    struct slice cookie = c->request->cookie;
    struct state_logins *logins = api_store_logins(c);
    if (logins && cookie.len)
        api_store_failed(c, 503,
                         state_logins_find(logins, cookie, c->now_ms, &c->arena, &w->login, &c->err) < 0 ||
                             state_logins_end(logins, cookie, &c->err) < 0);
}

static void on_signed_out(struct api_call *c) {
    const struct signing_in *w = c->what;
    api_record(c, (struct audit_action){.name = SLICE("signed_out")});
    set_cookie(c, "");
    bool there = w->login.kind == STATE_LOGIN_ID && c->request->reply;
    if (there && api_sign_out_there(c, w->login.token, c->more))
        return;
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 200);
}

void api_sign_out(struct api_call *c) {
    c->what = arena_new(&c->arena, struct signing_in);
    api_store(c, run_sign_out, on_signed_out);
}
