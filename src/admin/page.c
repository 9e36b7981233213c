/* The dashboard: three files of web/, part of the program. They hold no data; what they show they ask of the
 * API, with the token that a person gives them. */
#include "admin/api.h"

extern const unsigned char admin_index_html[], admin_app_js[], admin_app_css[];
extern const size_t admin_index_html_len, admin_app_js_len, admin_app_css_len;

/* Nothing from elsewhere, nothing inline, in nobody's frame. */
#define PAGE_HEADERS                                                                                         \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"                                        \
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-cache\r\n"

bool page_has(struct slice path) { return slice_is(path, "/ui") || slice_starts(path, SLICE("/ui/")); }

void page_serve(const struct web_request *r) {
    const struct {
        const char *path, *type;
        struct slice body;
    } files[] = {
        {"/ui/", "text/html; charset=utf-8", {(const char *)admin_index_html, admin_index_html_len}},
        {"/ui/app.js", "text/javascript; charset=utf-8", {(const char *)admin_app_js, admin_app_js_len}},
        {"/ui/app.css", "text/css; charset=utf-8", {(const char *)admin_app_css, admin_app_css_len}},
    };
    const struct web_reply_ops *reply = r->reply->ops;
    if (slice_is(r->head->path, "/ui")) {
        reply->answer(r->reply, 308, NULL, SLICE("Location: /ui/\r\n"), (struct slice){0});
        return;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!slice_is(r->head->path, files[i].path))
            continue;
        reply->answer(r->reply, 200, files[i].type, SLICE(PAGE_HEADERS), files[i].body);
        return;
    }
    reply->answer(r->reply, 404, "application/json", (struct slice){0}, SLICE("{\"error\":\"Not found\"}\n"));
}
