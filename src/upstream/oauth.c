#include "upstream/oauth.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "base/sha.h"
#include "io/net.h"
#include "upstream/bearer.h"
#include "upstream/era.h"
#include "upstream/fetch.h"
#include "upstream/head.h"
#include "upstream/link.h"
#include "wire/base64.h"
#include "wire/emit.h"

#include <stdio.h>

#define OAUTH_STATE_CHARS 43
#define OAUTH_VERIFIER_CHARS 64
#define OAUTH_TRIES 3 /* locations where metadata may be */
#define CALLBACK_PATH "/callback"

struct up_oauth {
    struct up_core *core;
    const struct up_oauth_events *events;
    void *owner;
    struct up_login login; /* what is known so far; its arena owns every text */
    bool by_hand;
    bool over;
    struct slice fault;
    const char *redirect;
    struct slice server_url; /* the login's, or where a redirect of the server leads */
    struct slice authorize_url, register_url, metadata_url;
    struct slice wanted_scope;
    struct slice client_metadata; /* URL of a document that is a client id, or empty */
    bool iss_promised;
    bool
        own_authority; /* there is no resource metadata: as in 2025-03-26, the server issues its own tokens */
    bool asked_modern; /* the server answered the first request without a challenge; this is the second */
    int refused;       /* status of the answer that requires a login; 0: there was none */
    int first_status;
    int place; /* index of the metadata location that is being tried */
    char state[OAUTH_STATE_CHARS + 1];
    char verifier[OAUTH_VERIFIER_CHARS + 1];
    struct up_fetch *fetch;
    struct io_listener *listener;
    struct list visitors;
    struct io_timer later;
};

static void ask_server(struct up_oauth *o);
static void ask_resource(struct up_oauth *o);
static void ask_authority(struct up_oauth *o);
static void ask_client(struct up_oauth *o);
static void ask_person(struct up_oauth *o);
static void ask_tokens(struct up_oauth *o, struct slice code);

static struct arena *texts(struct up_oauth *o) { return &o->login.arena; }

/* ---- the end ---- */

static void on_over(struct io_timer *timer) {
    struct up_oauth *o = container_of(timer, struct up_oauth, later);
    o->events->done(o->owner, o->fault.len ? NULL : &o->login, o->fault.ptr);
}

/* In a later turn: the callback may free the caller. */
static void over(struct up_oauth *o) {
    o->over = true;
    io_timer_soon(o->core->loop, &o->later, on_over);
}

static void fail(struct up_oauth *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct up_oauth *o, const char *fmt, ...) {
    struct err err;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err.text, sizeof(err.text), fmt, ap);
    va_end(ap);
    if (o->over)
        return;
    o->fault = arena_dup(texts(o), slice_str(err.text));
    over(o);
}

/* ---- pure parts ---- */

static struct slice path_of(const struct http_url *url) {
    struct slice path, rest = url->target;
    slice_cut(&rest, '?', &path);
    return slice_is(path, "/") ? (struct slice){path.ptr, 0} : path;
}

bool up_resource_covers(struct slice resource, struct slice url) {
    struct http_url a, b;
    const char *why;
    if (http_parse_url(resource, &a, &why) < 0 || http_parse_url(url, &b, &why) < 0 ||
        !http_is_same_origin(&a, &b))
        return false;
    struct slice above = path_of(&a), below = path_of(&b);
    if (slice_ends(above, SLICE("/")))
        above.len--;
    return slice_starts(below, above) && (below.len == above.len || below.ptr[above.len] == '/');
}

static struct slice origin_of(struct slice url) {
    size_t scheme = slice_starts(url, SLICE("https://")) ? 8 : 7;
    ptrdiff_t slash = slice_find(slice_from(url, scheme), '/');
    return slash < 0 ? url : slice_upto(url, scheme + (size_t)slash);
}

static struct slice text_at(struct up_oauth *o, const struct tape *t, const char *key) {
    uint32_t node = tape_get_str(t, 0, key);
    return node && tape_is(t, node, TAPE_STRING) ? arena_dup(texts(o), tape_text(t, node, texts(o)))
                                                 : (struct slice){0};
}

static bool read_object(struct tape *t, const struct up_fetch_answer *answer, int status) {
    return answer->status == status && tape_parse(t, answer->body, NULL) == TAPE_OK &&
           tape_is(t, 0, TAPE_OBJECT) && !t->has_nul;
}

/* ---- requests ---- */

static void get(struct up_oauth *o, struct slice url,
                void (*done)(void *owner, const struct up_fetch_answer *answer)) {
    struct err err;
    struct up_fetch_request r = {.method = HTTP_GET, .url = arena_dup(texts(o), url).ptr};
    o->fetch = up_fetch(o->core, &r, done, o, &err);
    if (!o->fetch)
        fail(o, "%s", err.text);
}

/* ---- 1. the server's answer without credentials ---- */

/* True when the challenge can be used, or there is none. */
static bool take_challenge(struct up_oauth *o, struct slice challenge) {
    cleanup_buf struct buf value;
    buf_init(&value, UP_URL_MAX);
    if (up_challenge_param(challenge, "scope", &value) && !o->wanted_scope.len)
        o->wanted_scope = arena_dup(texts(o), buf_slice(&value));
    if (!up_challenge_param(challenge, "resource_metadata", &value))
        return true;
    /* Only the server's own origin is accepted: a server must not redirect us to another's metadata. */
    struct slice url = buf_slice(&value);
    if (!slice_eq(origin_of(url), origin_of(o->login.url))) {
        fail(o, "the server names metadata on another origin");
        return false;
    }
    o->metadata_url = arena_dup(texts(o), url);
    return true;
}

/* The same redirect as requests of the gate follow. */
static bool follow(struct up_oauth *o, const struct up_fetch_answer *answer) {
    struct up_server server;
    struct err err;
    up_server_init(&server, o->core);
    const bool moved = slice_eq(o->server_url, o->login.url) &&
                       up_server_set_url(&server, o->server_url.ptr, &err) == 0 &&
                       up_head_moved(&server, answer->status, answer->location);
    if (moved)
        o->server_url = arena_printf(texts(o), "%.*s%.*s", SLICE_FMT(origin_of(o->login.url)),
                                     SLICE_FMT(server.at.target));
    up_server_close(&server, NULL);
    return moved;
}

static void on_server(void *owner, const struct up_fetch_answer *answer) {
    struct up_oauth *o = owner;
    o->fetch = NULL;
    if (answer->why) {
        fail(o, "%s", answer->why);
        return;
    }
    if (follow(o, answer)) {
        ask_server(o);
        return;
    }
    bool asks = answer->status == 401 || (answer->status == 403 && answer->challenge.len);
    if (!o->asked_modern)
        o->first_status = answer->status;
    if (asks) {
        o->refused = answer->status;
        if (!take_challenge(o, answer->challenge))
            return;
    } else if (!o->asked_modern) {
        o->asked_modern = true;
        ask_server(o);
        return;
    }
    /* A server that requires tokens only for some calls may still name its authorization server in its
     * metadata. */
    ask_resource(o);
}

/* Some servers answer `initialize` without a token and require one for the next request. */
static void ask_server(struct up_oauth *o) {
    struct err err;
    static const char hello[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"sallyport\",\"version\":"
        "\"" SALLYPORT_VERSION "\"}}}";
    static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{"
                               "\"_meta\":" UP_META_OWN "}}";
    static const char modern[] = "MCP-Protocol-Version: " UP_MODERN_VERSION "\r\nMcp-Method: tools/list\r\n";
    struct up_fetch_request r = {
        .method = HTTP_POST,
        .url = o->server_url.ptr,
        .accept = "application/json, text/event-stream",
        .content_type = "application/json",
        .headers = o->asked_modern ? SLICE(modern) : (struct slice){0},
        .body = o->asked_modern ? SLICE(list) : SLICE(hello),
    };
    o->fetch = up_fetch(o->core, &r, on_server, o, &err);
    if (!o->fetch)
        fail(o, "%s", err.text);
}

/* ---- 2. the resource's metadata ---- */

/* No resource metadata. A server of 2025-03-26 is its own authorization server. */
static void without_resource(struct up_oauth *o, const struct up_fetch_answer *answer) {
    bool absent = answer->status >= 400 && answer->status < 500;
    if (!o->metadata_url.len && absent && ++o->place < 2) {
        ask_resource(o);
    } else if (!o->refused) {
        fail(o, "the server asks for no login: it answered HTTP %d", o->first_status);
    } else if (!o->metadata_url.len && absent) {
        o->login.resource = o->login.url;
        o->login.issuer = origin_of(o->login.url);
        o->own_authority = true;
        o->place = 0;
        ask_authority(o);
    } else {
        fail(o, "the server has no usable resource metadata (HTTP %d)", answer->status);
    }
}

/* The scopes to request when neither the person nor the server's refusal names any. */
static void take_scopes(struct up_oauth *o, const struct tape *t) {
    uint32_t list = tape_get_str(t, 0, "scopes_supported");
    if (o->wanted_scope.len || !list || !tape_is(t, list, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(t, list, elem) {
        struct slice one = tape_text(t, elem, texts(o));
        if (one.len && o->wanted_scope.len + one.len < UP_SCOPE_MAX)
            o->wanted_scope = arena_printf(texts(o), "%.*s%s%.*s", SLICE_FMT(o->wanted_scope),
                                           o->wanted_scope.len ? " " : "", SLICE_FMT(one));
    }
}

static void on_resource(void *owner, const struct up_fetch_answer *answer) {
    struct up_oauth *o = owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    o->fetch = NULL;
    if (!read_object(&t, answer, 200)) {
        without_resource(o, answer);
        return;
    }
    struct slice resource = text_at(o, &t, "resource");
    if (!up_resource_covers(resource, o->login.url)) {
        fail(o, "the metadata is for another resource, `%.*s`", (int)slice_upto(resource, 200).len,
             resource.ptr);
        return;
    }
    o->login.resource = resource;
    take_scopes(o, &t);
    uint32_t list = tape_get_str(&t, 0, "authorization_servers");
    uint32_t first = list && tape_is(&t, list, TAPE_ARRAY) && tape_node(&t, list)->count ? list + 1 : 0;
    if (!first || !tape_is(&t, first, TAPE_STRING)) {
        fail(o, "the metadata names no authorization server");
        return;
    }
    o->login.issuer = arena_dup(texts(o), tape_text(&t, first, texts(o)));
    if (!up_url_is_safe(o->login.issuer)) {
        fail(o, "the authorization server's URL is not https");
        return;
    }
    o->place = 0;
    ask_authority(o);
}

static void ask_resource(struct up_oauth *o) {
    struct slice origin = origin_of(o->login.url), path = slice_from(o->login.url, origin.len), query;
    slice_cut(&path, '?', &query);
    struct slice url = o->metadata_url;
    if (!url.len)
        url = arena_printf(texts(o), "%.*s/.well-known/oauth-protected-resource%.*s", SLICE_FMT(origin),
                           o->place == 0 ? (int)query.len : 0, query.ptr);
    get(o, url, on_resource);
}

/* ---- 3. the authorization server's metadata ---- */

/* Libraries end every URL without a path in a slash when they write it into the resource's metadata. */
static bool is_issuer(struct slice issuer, struct slice named) {
    return slice_eq(issuer, named) ||
           (slice_ends(named, SLICE("/")) && slice_eq(issuer, slice_upto(named, named.len - 1)));
}

static bool take_authority(struct up_oauth *o, const struct tape *t) {
    struct slice issuer = text_at(o, t, "issuer");
    o->authorize_url = text_at(o, t, "authorization_endpoint");
    o->login.token_url = text_at(o, t, "token_endpoint");
    o->register_url = text_at(o, t, "registration_endpoint");
    uint32_t promised = tape_get_str(t, 0, "authorization_response_iss_parameter_supported");
    o->iss_promised = promised && tape_is(t, promised, TAPE_TRUE);
    if (!is_issuer(issuer, o->login.issuer))
        fail(o, "the authorization server's metadata is of another issuer, `%.*s`",
             (int)slice_upto(issuer, 200).len, issuer.ptr);
    else if (!up_url_is_safe(o->authorize_url) || !up_url_is_safe(o->login.token_url) ||
             (o->register_url.len && !up_url_is_safe(o->register_url)))
        fail(o, "the authorization server names an endpoint that is not https");
    else if (!tape_list_has(t, 0, "code_challenge_methods_supported", "S256"))
        fail(o, "the authorization server does not declare support for PKCE with S256");
    if (o->over)
        return false;
    o->login.issuer = issuer; /* as it spells itself, also in its answers */
    /* Without this scope many servers issue no refresh token. */
    if (tape_list_has(t, 0, "scopes_supported", "offline_access") && o->wanted_scope.len &&
        !up_scopes_have(o->wanted_scope, SLICE("offline_access")))
        o->wanted_scope = arena_printf(texts(o), "%.*s offline_access", SLICE_FMT(o->wanted_scope));
    uint32_t documents = tape_get_str(t, 0, "client_id_metadata_document_supported");
    if (!o->login.client_id.len && documents && tape_is(t, documents, TAPE_TRUE))
        o->login.client_id = o->client_metadata;
    if (!o->login.client_secret.len)
        o->login.auth_method = SLICE("none");
    else if (tape_list_has(t, 0, "token_endpoint_auth_methods_supported", "client_secret_post") &&
             !tape_list_has(t, 0, "token_endpoint_auth_methods_supported", "client_secret_basic"))
        o->login.auth_method = SLICE("client_secret_post");
    else
        o->login.auth_method = SLICE("client_secret_basic");
    return true;
}

/* 2025-03-26: a server without metadata has its endpoints at fixed places of its own origin. */
static void assume_authority(struct up_oauth *o) {
    struct slice origin = o->login.issuer;
    o->authorize_url = arena_printf(texts(o), "%.*s/authorize", SLICE_FMT(origin));
    o->login.token_url = arena_printf(texts(o), "%.*s/token", SLICE_FMT(origin));
    o->register_url = arena_printf(texts(o), "%.*s/register", SLICE_FMT(origin));
    o->login.auth_method = o->login.client_secret.len ? SLICE("client_secret_basic") : SLICE("none");
    if (up_url_is_safe(origin))
        ask_client(o);
    else
        fail(o, "the server's URL is not https");
}

static void on_authority(void *owner, const struct up_fetch_answer *answer) {
    struct up_oauth *o = owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    o->fetch = NULL;
    if (!read_object(&t, answer, 200)) {
        if (!o->own_authority && ++o->place < OAUTH_TRIES)
            ask_authority(o);
        else if (o->own_authority && answer->status >= 400 && answer->status < 500)
            assume_authority(o);
        else
            fail(o, "the authorization server has no usable metadata (HTTP %d)", answer->status);
        return;
    }
    if (take_authority(o, &t))
        ask_client(o);
}

static void ask_authority(struct up_oauth *o) {
    struct slice url = o->login.issuer, origin = origin_of(url), path = slice_from(url, origin.len);
    if (slice_ends(path, SLICE("/")))
        path.len--;
    struct slice where = o->place == 0
                             ? arena_printf(texts(o), "%.*s/.well-known/oauth-authorization-server%.*s",
                                            SLICE_FMT(origin), SLICE_FMT(path))
                         : o->place == 1 ? arena_printf(texts(o), "%.*s/.well-known/openid-configuration%.*s",
                                                        SLICE_FMT(origin), SLICE_FMT(path))
                                         : arena_printf(texts(o), "%.*s%.*s/.well-known/openid-configuration",
                                                        SLICE_FMT(origin), SLICE_FMT(path));
    get(o, where, on_authority);
}

/* ---- 4. a client id ---- */

static void on_client(void *owner, const struct up_fetch_answer *answer) {
    struct up_oauth *o = owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    o->fetch = NULL;
    if (!read_object(&t, answer, 201) && !read_object(&t, answer, 200)) {
        struct slice code = tape_parse(&t, answer->body, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT)
                                ? text_at(o, &t, "error")
                                : (struct slice){0};
        const bool plain = code.len && code.len < 64 && http_token_ok(code);
        fail(o, "the authorization server registered no client (HTTP %d%s%.*s); give one with --client-id",
             answer->status, plain ? ", " : "", plain ? (int)code.len : 0, code.ptr);
        return;
    }
    o->login.client_id = text_at(o, &t, "client_id");
    o->login.client_secret = text_at(o, &t, "client_secret");
    struct slice method = text_at(o, &t, "token_endpoint_auth_method");
    o->login.auth_method =
        o->login.client_secret.len ? (method.len ? method : SLICE("client_secret_basic")) : SLICE("none");
    if (!o->login.client_id.len || o->login.client_id.len > UP_NAME_MAX)
        fail(o, "the authorization server returned no usable client id");
    else
        ask_person(o);
}

static void ask_client(struct up_oauth *o) {
    if (o->login.client_id.len) {
        ask_person(o);
        return;
    }
    if (!o->register_url.len) {
        fail(o, "the authorization server registers no clients; give one with --client-id");
        return;
    }
    cleanup_buf struct buf body;
    buf_init(&body, 4096);
    struct emit e;
    emit_init(&e, &body);
    emit_raw(&e,
             arena_printf(texts(o),
                          "{\"client_name\":\"Sallyport\",\"application_type\":\"native\",\"redirect_uris\":"
                          "[\"%s\"],\"grant_types\":[\"authorization_code\",\"refresh_token\"],"
                          "\"response_types\":[\"code\"],\"token_endpoint_auth_method\":\"none\"}",
                          o->redirect));
    struct err err;
    struct up_fetch_request r = {
        .method = HTTP_POST,
        .url = o->register_url.ptr,
        .content_type = "application/json",
        .body = buf_slice(&body),
    };
    o->fetch = up_fetch(o->core, &r, on_client, o, &err);
    if (!o->fetch)
        fail(o, "%s", err.text);
}

/* ---- 5. the person ---- */

static void ask_person(struct up_oauth *o) {
    unsigned char hash[32];
    cleanup_buf struct buf challenge;
    rand_token(o->state, OAUTH_STATE_CHARS);
    rand_token(o->verifier, OAUTH_VERIFIER_CHARS);
    struct slice verifier = slice_str(o->verifier);
    sha_256(&verifier, 1, hash);
    buf_init(&challenge, 64);
    base64_put(&challenge, slice_of((char *)hash, sizeof(hash)), BASE64_URL);
    cleanup_buf struct buf query;
    buf_init(&query, UP_URL_MAX * 4);
    up_form_put(&query, "response_type", SLICE("code"));
    up_form_put(&query, "client_id", o->login.client_id);
    up_form_put(&query, "redirect_uri", slice_str(o->redirect));
    up_form_put(&query, "code_challenge", buf_slice(&challenge));
    up_form_put(&query, "code_challenge_method", SLICE("S256"));
    up_form_put(&query, "state", slice_str(o->state));
    up_form_put(&query, "resource", o->login.resource);
    if (o->wanted_scope.len)
        up_form_put(&query, "scope", o->wanted_scope);
    struct slice url =
        arena_printf(texts(o), "%.*s%c%.*s", SLICE_FMT(o->authorize_url),
                     slice_find(o->authorize_url, '?') >= 0 ? '&' : '?', SLICE_FMT(buf_slice(&query)));
    o->events->open(o->owner, url.ptr);
}

/* The parameters of the redirect. True when the code is valid and tokens are being requested. */
static bool take_callback(struct up_oauth *o, struct slice query) {
    cleanup_buf struct buf value;
    buf_init(&value, UP_SECRET_MAX);
    bool ours = http_query_get(query, SLICE("state"), &value) && value.len == OAUTH_STATE_CHARS &&
                CRYPTO_memcmp(value.ptr, o->state, OAUTH_STATE_CHARS) == 0;
    if (!ours || !o->state[0])
        return false; /* a request of another program: the browser's may still come */
    o->state[0] = '\0';
    bool has_issuer = http_query_get(query, SLICE("iss"), &value);
    if ((has_issuer && !slice_eq(buf_slice(&value), o->login.issuer)) || (!has_issuer && o->iss_promised)) {
        fail(o, "the answer is not of the authorization server that was asked");
        return false;
    }
    if (http_query_get(query, SLICE("error"), &value)) {
        fail(o, "the authorization server refused: %.*s",
             http_token_ok(buf_slice(&value)) ? (int)slice_upto(buf_slice(&value), 64).len : 0, value.ptr);
        return false;
    }
    if (!http_query_get(query, SLICE("code"), &value)) {
        fail(o, "the answer has no code");
        return false;
    }
    ask_tokens(o, buf_slice(&value));
    return true;
}

void up_oauth_paste(struct up_oauth *o, struct slice url) {
    struct slice query = slice_trim(url), before;
    slice_cut(&query, '?', &before);
    if (!o->over && !take_callback(o, query))
        fail(o, "this is not the URL that the login ends at");
}

/* ---- 6. tokens ---- */

static void on_tokens(void *owner, const struct up_fetch_answer *answer) {
    struct up_oauth *o = owner;
    struct err err;
    o->fetch = NULL;
    if (up_login_take(&o->login, answer, clock_wall_ms(), &err) < 0) {
        fail(o, "%s", err.text);
        return;
    }
    over(o);
}

static void ask_tokens(struct up_oauth *o, struct slice code) {
    cleanup_buf struct buf form;
    struct err err;
    buf_init(&form, UP_SECRET_MAX * 8);
    up_form_put(&form, "grant_type", SLICE("authorization_code"));
    up_form_put(&form, "code", code);
    up_form_put(&form, "redirect_uri", slice_str(o->redirect));
    up_form_put(&form, "code_verifier", slice_str(o->verifier));
    o->fetch = up_login_ask(o->core, &o->login, &form, on_tokens, o, &err);
    if (!o->fetch)
        fail(o, "%s", err.text);
}

/* ---- the listener on the loop-back ---- */

struct visitor {
    struct up_oauth *oauth;
    struct io_conn *io;
    struct list node;
};

static void visitor_end(struct visitor *v, bool gracefully) {
    list_remove(&v->node);
    if (gracefully)
        io_conn_finish(v->io);
    else
        io_conn_close(v->io);
    free(v);
}

static void visitor_answer(struct visitor *v, int status, const char *text) {
    char head[512];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
                     "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n%s",
                     status, http_reason(status), strlen(text), text);
    io_conn_put(v->io, slice_of(head, (size_t)n));
    visitor_end(v, true);
}

static size_t on_visit(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)io, (void)b;
    struct visitor *v = owner;
    struct up_oauth *o = v->oauth;
    struct http_head *head = mem_zalloc(sizeof(*head));
    const char *why;
    int got = http_parse_request(slice_of(ptr, len), head, &why);
    if (got < 0) {
        visitor_answer(v, 400, "Bad request\n");
    } else if (got > 0) {
        bool ours = head->method == HTTP_GET && slice_is(head->path, CALLBACK_PATH);
        bool good = ours && !o->over && take_callback(o, head->query);
        visitor_answer(v,
                       good   ? 200
                       : ours ? 400
                              : 404,
                       good ? "The answer has arrived; continue in the terminal. You can close this window.\n"
                            : "This is not the answer that was waited for.\n");
    }
    free(head);
    return got == 0 ? 0 : len;
}

static void on_visit_end(struct io_conn *io, void *owner, int status) {
    (void)io, (void)status;
    visitor_end(owner, false);
}

static const struct io_handlers visit_handlers = {.data = on_visit, .end = on_visit_end};

static void on_incoming(struct io_listener *l, void *owner, int take_fd) {
    (void)l;
    struct up_oauth *o = owner;
    struct visitor *v = mem_zalloc(sizeof(*v));
    v->oauth = o;
    v->io = io_conn_socket(o->core->loop, take_fd, &visit_handlers, v);
    if (!v->io) {
        free(v);
        return;
    }
    list_push(&o->visitors, &v->node);
    io_conn_read(v->io, true);
}

/* ---- the start ---- */

static void on_start(struct io_timer *timer) {
    struct up_oauth *o = container_of(timer, struct up_oauth, later);
    struct err err;
    uint16_t port = (uint16_t)o->place;
    o->place = 0;
    if (!o->by_hand) {
        o->listener = io_listen(o->core->loop, "127.0.0.1", port, on_incoming, o, &port, &err);
        if (!o->listener) {
            fail(o, "%s", err.text);
            return;
        }
    }
    /* In manual mode no port is open: the browser shows an error page, and its address bar contains the
     * answer. */
    o->redirect =
        arena_printf(texts(o), "http://127.0.0.1:%u" CALLBACK_PATH, port ? port : UP_OAUTH_PORT).ptr;
    ask_server(o);
}

struct up_oauth *up_oauth_start(struct up_core *core, const struct up_oauth_request *r,
                                const struct up_oauth_events *events, void *owner) {
    struct up_oauth *o = mem_zalloc(sizeof(*o));
    o->core = core;
    o->events = events;
    o->owner = owner;
    o->by_hand = r->by_hand;
    list_init(&o->visitors);
    arena_init(texts(o));
    o->server_url = o->login.url = arena_dup(texts(o), slice_str(r->url));
    if (r->client_id)
        o->login.client_id = arena_dup(texts(o), slice_str(r->client_id));
    if (r->client_secret)
        o->login.client_secret = arena_dup(texts(o), slice_str(r->client_secret));
    if (r->client_metadata)
        o->client_metadata = arena_dup(texts(o), slice_str(r->client_metadata));
    for (size_t i = 0; i < r->scope_count; i++)
        o->wanted_scope =
            arena_printf(texts(o), "%.*s%s%s", SLICE_FMT(o->wanted_scope), i ? " " : "", r->scopes[i]);
    o->place = r->port;
    io_timer_soon(core->loop, &o->later, on_start);
    return o;
}

void up_oauth_free(struct up_oauth *o) {
    if (!o)
        return;
    io_timer_stop(o->core->loop, &o->later);
    up_fetch_cancel(o->fetch);
    io_listener_close(o->listener);
    while (!list_empty(&o->visitors))
        visitor_end(container_of(o->visitors.next, struct visitor, node), true);
    arena_free(texts(o));
    OPENSSL_cleanse(o, sizeof(*o));
    free(o);
}
