#include "upstream/bearer.h"

#include <stdio.h>
#include <string.h>

/* name="quoted" or name=token, anywhere after the scheme. */
bool up_challenge_param(struct slice challenge, const char *name, struct buf *out) {
    struct slice scheme, rest = challenge;
    slice_cut(&rest, ' ', &scheme);
    if (!slice_eq_nocase(scheme, SLICE("Bearer")))
        return false;
    while (rest.len) {
        struct slice key;
        rest = slice_trim(rest);
        if (!slice_cut(&rest, '=', &key))
            return false;
        bool wanted = slice_eq_nocase(slice_trim(key), slice_str(name));
        size_t i = 0;
        buf_reset(out);
        if (rest.len && rest.ptr[0] == '"') {
            for (i = 1; i < rest.len && rest.ptr[i] != '"'; i++) {
                if (rest.ptr[i] == '\\' && i + 1 < rest.len)
                    i++;
                buf_put_char(out, rest.ptr[i]);
            }
            if (i >= rest.len)
                return false;
            i++;
        } else {
            for (; i < rest.len && rest.ptr[i] != ','; i++)
                buf_put_char(out, rest.ptr[i]);
        }
        if (wanted)
            return !out->full && out->len > 0;
        rest = slice_trim(slice_from(rest, i));
        if (rest.len && rest.ptr[0] == ',')
            rest = slice_from(rest, 1);
    }
    return false;
}

/* ---- scopes ---- */

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr(":._/-", c));
}

void up_scopes_take(char out[UP_SCOPE_MAX], struct slice scopes) {
    out[0] = '\0';
    if (!scopes.len || scopes.len >= UP_SCOPE_MAX)
        return;
    for (size_t i = 0; i < scopes.len; i++) {
        bool first = i == 0 || scopes.ptr[i - 1] == ' ';
        /* A scope that starts with a dash would be an option. */
        if (scopes.ptr[i] != ' ' && (!is_plain(scopes.ptr[i]) || (first && scopes.ptr[i] == '-')))
            return;
    }
    if (scopes.len) /* memcpy requires a valid pointer even for zero bytes */
        memcpy(out, scopes.ptr, scopes.len);
    out[scopes.len] = '\0';
}

bool up_scopes_have(struct slice scopes, struct slice wanted) {
    struct slice one;
    while (scopes.len) {
        slice_cut(&scopes, ' ', &one);
        if (slice_eq(one, wanted))
            return true;
    }
    return false;
}

static void put_scopes(struct buf *out, struct slice scopes, struct slice but) {
    struct slice one;
    while (scopes.len) {
        slice_cut(&scopes, ' ', &one);
        if (one.len && !up_scopes_have(but, one))
            buf_printf(out, " --scope %.*s", SLICE_FMT(one));
    }
}

/* ---- the server's request, and the command for it ---- */

void up_challenge_note(struct up_server *s, const struct http_head *head) {
    struct up_challenge *c = &s->challenge;
    if (head->status != 401 && head->status != 403)
        return;
    struct slice challenge = http_value_of(head, SLICE("www-authenticate"));
    cleanup_buf struct buf value;
    buf_init(&value, UP_SCOPE_MAX);
    c->insufficient = head->status == 403 && up_challenge_param(challenge, "error", &value) &&
                      slice_is(buf_slice(&value), "insufficient_scope");
    buf_reset(&value);
    bool found = up_challenge_param(challenge, "scope", &value);
    up_scopes_take(c->wanted, found ? buf_slice(&value) : (struct slice){0});
}

/* Quoted as one shell word. The URL comes from the operator; one with a quotation mark must be inserted by
 * hand. */
static void put_url(struct buf *out, struct slice url) {
    bool plain = true;
    for (size_t i = 0; i < url.len; i++)
        plain &= is_plain(url.ptr[i]) || url.ptr[i] == '%';
    if (plain)
        buf_put_slice(out, url);
    else if (slice_find(url, '\'') < 0)
        buf_printf(out, "'%.*s'", SLICE_FMT(url));
    else
        buf_put_str(out, "URL");
}

void up_challenge_command(const struct up_server *s, char out[UP_COMMAND_MAX]) {
    const struct up_challenge *c = &s->challenge;
    cleanup_buf struct buf text;
    buf_init(&text, UP_COMMAND_MAX - 1);
    buf_put_str(&text, "sallyport login --url ");
    put_url(&text, slice_str(s->url));
    if (c->wanted[0]) { /* plus the current scopes: a step-up must not lose them */
        put_scopes(&text, slice_str(c->granted), (struct slice){0});
        put_scopes(&text, slice_str(c->wanted), slice_str(c->granted));
    }
    snprintf(out, UP_COMMAND_MAX, "%.*s", (int)(text.full ? 0 : text.len), text.ptr);
    if (text.full)
        snprintf(out, UP_COMMAND_MAX, "sallyport login --url URL");
}
