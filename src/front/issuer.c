#include "front/issuer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/settings.h"

#include <stdio.h>
#include <string.h>

/* Possible locations of the metadata, in the order in which they are tried. */
enum place { PLACE_OIDC, PLACE_OAUTH, PLACE_END };

struct front_issuer {
    const struct settings_issuer *settings;
    struct jwt_rules rules;
    const char *audiences[SETTINGS_WORDS_MAX + 2]; /* the last entry is the endpoint's, during verification */
    size_t audience_count;
    uint32_t algorithms;
    char *default_audience;
    struct up_core *core;
    void (*changed)(void *owner);
    void *owner;
    struct jwt_keys *keys;
    char *keys_url; /* from discovery */
    uint64_t keys_ms;
    struct up_fetch *fetch;
    enum place place;
    uint32_t tokens; /* of the bucket that rate-limits fetches */
    uint64_t tokens_ms;
    struct io_timer refresh;
};

static void fetch_metadata(struct front_issuer *i);
static void fetch_keys(struct front_issuer *i);

static struct io_loop *issuer_loop(const struct front_issuer *i) { return i->core->loop; }

const char *front_issuer_name(const struct front_issuer *i) { return i->settings->issuer; }
const struct settings_issuer *front_issuer_settings(const struct front_issuer *i) { return i->settings; }
bool front_issuer_has_keys(const struct front_issuer *i) { return i->keys != NULL; }

/* ---- fetching ---- */

static void fetch_start(struct front_issuer *i) {
    if (i->fetch)
        return;
    i->place = PLACE_OIDC;
    if (i->settings->jwks || i->keys_url)
        fetch_keys(i);
    else
        fetch_metadata(i);
}

static void on_refresh(struct io_timer *timer) {
    fetch_start(container_of(timer, struct front_issuer, refresh));
}

/* Keys that can no longer be refreshed are dropped after a while: one of them may have been revoked. */
static void fetch_over(struct front_issuer *i, const char *fault) {
    uint64_t now_ms = io_now_ms(issuer_loop(i));
    if (fault)
        log_warn("issuer `%s`: %s", i->settings->issuer, fault);
    if (fault && i->keys && now_ms - i->keys_ms > FRONT_KEYS_STALE_MS) {
        jwt_keys_free(i->keys);
        i->keys = NULL;
    }
    io_timer_arm(issuer_loop(i), &i->refresh, fault ? FRONT_KEYS_RETRY_MS : FRONT_KEYS_FRESH_MS, on_refresh);
    i->changed(i->owner);
}

static void get(struct front_issuer *i, const char *url,
                void (*done)(void *owner, const struct up_fetch_answer *answer)) {
    struct err err;
    struct up_fetch_request r = {.method = HTTP_GET, .url = url};
    i->fetch = up_fetch(i->core, &r, done, i, &err);
    if (!i->fetch)
        fetch_over(i, err.text);
}

static void on_keys(void *owner, const struct up_fetch_answer *answer) {
    struct front_issuer *i = owner;
    struct err err;
    struct jwt_keys *keys = NULL;
    i->fetch = NULL;
    if (answer->status != 200) {
        snprintf(err.text, sizeof(err.text), "fetch its keys: %s %d", answer->why ? answer->why : "status",
                 answer->status);
        free(steal(i->keys_url)); /* the URL of the keys may have changed */
        fetch_over(i, err.text);
        return;
    }
    if (jwt_keys_read(answer->body, &keys, &err) < 0) {
        fetch_over(i, err.text);
        return;
    }
    jwt_keys_free(i->keys);
    i->keys = keys;
    i->keys_ms = io_now_ms(issuer_loop(i));
    fetch_over(i, NULL);
}

static void fetch_keys(struct front_issuer *i) {
    get(i, i->settings->jwks ? i->settings->jwks : i->keys_url, on_keys);
}

/* A document that names another issuer is refused, whichever server sent it. */
static char *keys_url_in(const struct front_issuer *i, struct slice text) {
    cleanup_arena struct arena a;
    cleanup_tape struct tape t;
    arena_init(&a);
    tape_init(&t);
    if (tape_parse(&t, text, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT))
        return NULL;
    uint32_t issuer = tape_get_str(&t, 0, "issuer"), url = tape_get_str(&t, 0, "jwks_uri");
    if (!issuer || !tape_eq(&t, issuer, slice_str(i->settings->issuer)) || !url ||
        !tape_is(&t, url, TAPE_STRING))
        return NULL;
    struct slice found = tape_text(&t, url, &a);
    return up_url_is_safe(found) ? mem_dup(found.ptr, found.len) : NULL;
}

static void on_metadata(void *owner, const struct up_fetch_answer *answer) {
    struct front_issuer *i = owner;
    i->fetch = NULL;
    i->keys_url = answer->status == 200 ? keys_url_in(i, answer->body) : NULL;
    if (i->keys_url)
        fetch_keys(i);
    else if (++i->place < PLACE_END)
        fetch_metadata(i);
    else
        fetch_over(i, answer->why ? answer->why : "its metadata has no jwks_uri for this issuer");
}

/* OpenID appends the well-known part to the issuer's path; RFC 8414 puts it in front. */
static void fetch_metadata(struct front_issuer *i) {
    struct arena a;
    arena_init(&a);
    struct slice url = slice_str(i->settings->issuer);
    if (slice_ends(url, SLICE("/")))
        url.len--;
    size_t scheme = slice_starts(url, SLICE("https://")) ? 8 : 7;
    ptrdiff_t slash = slice_find(slice_from(url, scheme), '/');
    struct slice origin = slash < 0 ? url : slice_upto(url, scheme + (size_t)slash);
    struct slice path = slice_from(url, origin.len);
    struct slice where = i->place == PLACE_OIDC
                             ? arena_printf(&a, "%.*s/.well-known/openid-configuration", SLICE_FMT(url))
                             : arena_printf(&a, "%.*s/.well-known/oauth-authorization-server%.*s",
                                            SLICE_FMT(origin), SLICE_FMT(path));
    get(i, where.ptr, on_metadata);
    arena_free(&a);
}

bool front_issuer_ask(struct front_issuer *i) {
    uint64_t now_ms = io_now_ms(issuer_loop(i));
    if (i->fetch)
        return true;
    uint64_t gained = (now_ms - i->tokens_ms) / FRONT_KEYS_ASK_MS;
    if (gained) {
        i->tokens = gained + i->tokens < FRONT_KEYS_ASKS ? (uint32_t)gained + i->tokens : FRONT_KEYS_ASKS;
        i->tokens_ms = now_ms;
    }
    if (!i->tokens)
        return false;
    i->tokens--;
    fetch_start(i);
    return i->fetch != NULL;
}

/* ---- verification ---- */

enum jwt_fault front_issuer_judge(struct front_issuer *i, const struct jwt *jwt, struct slice endpoint,
                                  uint64_t now_ms, uint64_t *ret_expires_ms) {
    struct arena a;
    arena_init(&a);
    i->audiences[i->audience_count] = arena_dup(&a, endpoint).ptr;
    i->rules.audience_count = i->audience_count + (endpoint.len > 0);
    uint64_t expires_s = 0;
    /* Claims are checked first: a token for another audience must not cause a fetch of the issuer's keys. */
    enum jwt_fault fault = jwt_judge(jwt, &i->rules, now_ms / 1000, &expires_s);
    if (fault == JWT_OK)
        fault = jwt_verify(jwt, i->keys, i->algorithms);
    *ret_expires_ms = expires_s * 1000;
    arena_free(&a);
    return fault;
}

enum jwt_fault front_issuer_judge_id(struct front_issuer *i, const struct jwt *jwt, uint64_t now_ms) {
    struct jwt_rules rules = i->rules;
    rules.audiences = &i->settings->console.client_id;
    rules.audience_count = i->settings->console.client_id != NULL;
    rules.ended = true;
    uint64_t ignored;
    enum jwt_fault fault = jwt_judge(jwt, &rules, now_ms / 1000, &ignored);
    return fault == JWT_OK ? jwt_verify(jwt, i->keys, i->algorithms) : fault;
}

/* ---- start and shutdown ---- */

struct front_issuer *front_issuer_new(const struct settings_issuer *settings, const char *resource,
                                      struct up_core *core, void (*changed)(void *owner), void *owner) {
    struct front_issuer *i = mem_zalloc(sizeof(*i));
    i->settings = settings;
    i->core = core;
    i->changed = changed;
    i->owner = owner;
    for (size_t k = 0; k < settings->algorithms.count; k++)
        i->algorithms |= jwt_algorithm_from(slice_str(settings->algorithms.items[k]));
    if (!settings->algorithms.count)
        i->algorithms = JWT_ALGORITHMS_ALL;
    for (size_t k = 0; k < settings->audience.count; k++)
        i->audiences[i->audience_count++] = settings->audience.items[k];
    if (!settings->audience.count && asprintf(&i->default_audience, "%s/mcp", resource) > 0)
        i->audiences[i->audience_count++] = i->default_audience;
    i->rules = (struct jwt_rules){
        .issuer = settings->issuer,
        .audiences = i->audiences,
        .skew_s = (settings->skew_ms ? settings->skew_ms : FRONT_JWT_SKEW_MS) / 1000,
    };
    i->tokens = FRONT_KEYS_ASKS;
    i->tokens_ms = io_now_ms(core->loop);
    io_timer_arm(core->loop, &i->refresh, 0, on_refresh);
    return i;
}

void front_issuer_free(struct front_issuer *i) {
    if (!i)
        return;
    io_timer_stop(issuer_loop(i), &i->refresh);
    up_fetch_cancel(i->fetch);
    jwt_keys_free(i->keys);
    free(i->keys_url);
    free(i->default_audience);
    free(i);
}
