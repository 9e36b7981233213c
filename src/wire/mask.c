#include "wire/mask.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

#define KEY_CHARS_MIN 20 /* length from which a mixed part of a path is taken for a key */
#define STARS "***"

static bool looks_like_key(struct slice part) {
    bool digit = false, letter = false;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.ptr[i];
        digit |= c >= '0' && c <= '9';
        letter |= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    return part.len >= KEY_CHARS_MIN && digit && letter;
}

/* A name without a value may itself be a key: `?sk_live_...`. */
static void put_query(struct slice query, struct buf *out) {
    for (bool first = true; query.len; first = false) {
        struct slice pair, name;
        slice_cut(&query, '&', &pair);
        const bool value = slice_cut(&pair, '=', &name);
        buf_put_char(out, first ? '?' : '&');
        buf_put_slice(out, value ? name : (struct slice){0});
        buf_put_str(out, value ? "=" STARS : STARS);
    }
}

/* https://user:pa/ss@host: the text after the colon is not a port. */
static bool hides_password(struct slice host, struct slice url) {
    struct slice rest = host, name;
    if (slice_starts(host, SLICE("[")) || !slice_cut(&rest, ':', &name) || !memchr(url.ptr, '@', url.len))
        return false;
    for (size_t i = 0; i < rest.len; i++)
        if (rest.ptr[i] < '0' || rest.ptr[i] > '9')
            return true;
    return false;
}

struct slice mask_url(struct slice url, struct arena *a) {
    const char *scheme = url.len ? memmem(url.ptr, url.len, "://", 3) : NULL;
    if (!scheme)
        return url;
    cleanup_buf struct buf out;
    buf_init(&out, (sizeof("=" STARS) + 1) * url.len + sizeof(STARS));
    const size_t from = (size_t)(scheme - url.ptr) + 3;
    struct slice rest = slice_from(url, from), path, host, part;
    buf_put_slice(&out, slice_upto(url, from));
    slice_cut(&rest, '#', &path);
    rest = path;
    slice_cut(&rest, '?', &path);
    slice_cut(&path, '/', &host);
    const char *at = host.len ? memrchr(host.ptr, '@', host.len) : NULL;
    if (!at && hides_password(host, url)) {
        buf_put_str(&out, STARS);
        return arena_dup(a, buf_slice(&out));
    }
    if (at)
        buf_put_str(&out, STARS "@");
    buf_put_slice(&out, at ? slice_from(host, (size_t)(at - host.ptr) + 1) : host);
    const bool slashed = url.len > from + host.len && url.ptr[from + host.len] == '/';
    for (bool more = slashed; more;) {
        more = slice_cut(&path, '/', &part);
        buf_put_char(&out, '/');
        buf_put_slice(&out, looks_like_key(part) ? SLICE(STARS) : part);
    }
    put_query(rest, &out);
    return arena_dup(a, buf_slice(&out));
}
