/* Signing in to the console: a token is shown once and becomes a cookie that no script can read; a link made
 * on the gate's own machine does the same without a token. The front knows people by the cookie
 * (front/auth.c). */
#include "admin/api.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "call/principal.h"
#include "state/grants.h"
#include "state/logins.h"

#include <stdio.h>

struct state_logins *api_logins(struct admin *a, struct err *err) {
    if (!a->logins && state_logins_open(a->home, &a->logins, err) < 0)
        return NULL;
    return a->logins;
}

static struct state_logins *logins_of(struct api_call *c) {
    struct err err = {0};
    struct state_logins *logins = api_logins(c->admin, &err);
    if (!logins)
        api_error(c, 503, "%s", err.text);
    return logins;
}

/* Not sent by other sites, nor over plain HTTP where the gate has TLS. */
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

/* 0, or answered. */
static int login_for(struct api_call *c, struct state_login *ret_login) {
    const struct principal *who = c->request->who;
    struct admin *a = c->admin;
    struct err err = {0};
    *ret_login = (struct state_login){.expires_ms = who->expires_ms};
    if (who->kind == PRINCIPAL_TOKEN) {
        ret_login->kind = STATE_LOGIN_TOKEN;
        ret_login->token = bearer_of(c);
        return 0;
    }
    if (who->kind != PRINCIPAL_GRANT)
        return api_error(c, 403, "sign in with the token of a grant"), -1;
    if ((!a->grants && state_grants_open(a->home, false, &a->grants, &err) < 0) ||
        state_grants_refresh(a->grants, &err) < 0)
        return api_error(c, 503, "%s", err.text), -1;
    const struct state_grant *g = state_grants_by_name(a->grants, slice_str(who->grant));
    ret_login->kind = STATE_LOGIN_GRANT;
    ret_login->name = slice_str(who->grant);
    ret_login->grant_version = g ? g->version : 0;
    return 0;
}

void api_sign_in(struct api_call *c) {
    struct state_logins *logins = logins_of(c);
    struct state_login login;
    char cookie[STATE_LOGIN_TEXT];
    struct err err = {0};
    if (!logins || login_for(c, &login) < 0)
        return;
    if (state_logins_create(logins, &login, clock_wall_ms(), cookie, &err) < 0) {
        api_error(c, 503, "%s", err.text);
        return;
    }
    api_record(c, (struct audit_action){.name = SLICE("signed_in")});
    set_cookie(c, cookie);
    put_me(c, c->request->who, true);
    api_answer(c, 201);
}

void api_sign_in_link(struct api_call *c) {
    struct state_logins *logins = logins_of(c);
    char cookie[STATE_LOGIN_TEXT];
    struct err err = {0};
    if (!logins)
        return;
    int rc = state_logins_redeem(logins, api_member(c, "code"), clock_wall_ms(), cookie, &err);
    if (rc <= 0) {
        api_error(c, rc < 0 ? 503 : 401, "%s",
                  rc < 0 ? err.text
                         : "this link has been used, or is too old: `sallyport ui` makes another one");
        return;
    }
    audit_put_event(c->admin->core->audit, SLICE("signed_in"), (struct slice){0}, (struct slice){0},
                    SLICE("by a link"));
    set_cookie(c, cookie);
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 201);
}

void api_sign_out(struct api_call *c) {
    struct state_logins *logins = logins_of(c);
    struct state_login login = {0};
    struct err err = {0};
    if (!logins)
        return;
    if (c->request->cookie.len &&
        (state_logins_find(logins, c->request->cookie, clock_wall_ms(), &c->arena, &login, &err) < 0 ||
         state_logins_end(logins, c->request->cookie, &err) < 0)) {
        api_error(c, 503, "%s", err.text);
        return;
    }
    api_record(c, (struct audit_action){.name = SLICE("signed_out")});
    set_cookie(c, "");
    if (login.kind == STATE_LOGIN_ID && api_sign_out_there(c, login.token, c->more))
        return;
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 200);
}
