/* The console's files. They contain no data; the console fetches it from the API. */
#include "admin/page.h"

#include "admin/limits.h"
#include "base/buf.h"
#include "packages/inflate.h"

#include <stdio.h>
#include <string.h>

/* No external resources, nothing inline except pixels of images that code returns, and no framing. HTML
 * that code returns is shown in frames without scripts, which inherit this policy. */
#define PAGE_HEADERS                                                                                         \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"                  \
    "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"           \
    "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"               \
    "Cache-Control: no-cache\r\nVary: Accept-Encoding\r\n"

#define GZIP_HEAD 10 /* bytes before the deflated ones; scripts/bundle-console writes no optional fields */

bool page_has(struct slice path) {
    return slice_is(path, "/") || slice_is(path, "/ui") || slice_starts(path, SLICE("/ui/"));
}

/* A name without a dot is a view: the page's script selects it. */
static const struct page_file *find_file(struct slice path) {
    struct slice name = slice_from(path, 4);
    bool view = slice_find(name, '.') < 0;
    for (const struct page_file *f = page_files; f->name; f++)
        if (slice_is(view ? SLICE("index.html") : name, f->name))
            return f;
    return NULL;
}

/* Programs that say nothing about encodings, such as curl, get plain text. */
static bool accepts_gzip(const struct http_head *head) {
    struct slice rest = http_value_of(head, SLICE("Accept-Encoding")), one, name;
    while (rest.len) {
        slice_cut(&rest, ',', &one);
        slice_cut(&one, ';', &name);
        name = slice_trim(name);
        if (!slice_eq_nocase(name, SLICE("gzip")) && !slice_is(name, "*"))
            continue;
        one = slice_trim(one); /* q=0, q=0.00: refused */
        if (!slice_starts(one, SLICE("q=0")))
            return true;
        for (size_t i = 3; i < one.len; i++)
            if (one.ptr[i] >= '1' && one.ptr[i] <= '9')
                return true;
        return false;
    }
    return false;
}

static int put_plain(void *owner, struct slice bytes, struct err *err) {
    return buf_put_slice(owner, bytes) ? 0 : err_set(err, "larger than %u bytes", PAGE_PLAIN_MAX);
}

void page_serve(const struct web_request *r) {
    const struct web_reply_ops *reply = r->reply->ops;
    struct slice path = r->head->path;
    if (slice_is(path, "/") || slice_is(path, "/ui")) {
        reply->answer(r->reply, 308, NULL, SLICE("Location: /ui/\r\n"), (struct slice){0});
        return;
    }
    const struct page_file *f = find_file(path);
    if (!f) {
        reply->answer(r->reply, 404, "application/json", (struct slice){0},
                      SLICE("{\"error\":\"Not found\"}\n"));
        return;
    }
    char headers[1024], tag[32];
    snprintf(tag, sizeof(tag), "\"%s\"", f->tag);
    int n = snprintf(headers, sizeof(headers), PAGE_HEADERS "ETag: %s\r\n", tag);
    if (slice_is(http_value_of(r->head, SLICE("If-None-Match")), tag)) {
        reply->answer(r->reply, 304, NULL, slice_of(headers, (size_t)n), (struct slice){0});
        return;
    }
    struct slice body = slice_of((const char *)f->gzip, f->len);
    cleanup_buf struct buf plain;
    buf_init(&plain, PAGE_PLAIN_MAX);
    const struct pack_inflate_sink sink = {.put = put_plain, .owner = &plain};
    struct err err;
    size_t used;
    if (accepts_gzip(r->head) || pack_inflate(slice_from(body, GZIP_HEAD), &sink, &used, &err) < 0)
        n += snprintf(headers + n, sizeof(headers) - (size_t)n, "Content-Encoding: gzip\r\n");
    else
        body = buf_slice(&plain);
    reply->answer(r->reply, 200, f->type, slice_of(headers, (size_t)n), body);
}
