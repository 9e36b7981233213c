/* One request to the API: its parameters and its response. */
#include "admin/api.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "call/principal.h"
#include "wire/base64.h"

#include <stdarg.h>
#include <stdio.h>

void api_call_begin(struct api_call *c, struct admin *a, const struct web_request *r) {
    *c = (struct api_call){.admin = a, .request = r, .now_ms = clock_wall_ms()};
    arena_init(&c->arena);
    tape_init(&c->body);
    buf_init(&c->out, ADMIN_OUT_MAX);
    emit_init(&c->e, &c->out);
}

void api_call_end(struct api_call *c) {
    buf_free(&c->out);
    tape_free(&c->body);
    arena_free(&c->arena);
}

/* ---- responses ---- */

#define API_HEADERS "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"

void api_answer(struct api_call *c, int status) {
    struct web_reply *reply = c->request->reply;
    if (!reply)
        return;
    struct slice headers = arena_printf(&c->arena, API_HEADERS "%.*s", SLICE_FMT(c->more));
    buf_put_char(&c->out, '\n');
    if (c->out.full)
        reply->ops->answer(reply, 500, "application/json", headers, SLICE("{\"error\":\"too large\"}\n"));
    else
        reply->ops->answer(reply, status, "application/json", headers, buf_slice(&c->out));
}

void api_error(struct api_call *c, int status, const char *fmt, ...) {
    char text[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_reset(&c->out);
    emit_init(&c->e, &c->out);
    emit_object(&c->e);
    emit_key(&c->e, "error");
    emit_cstr(&c->e, text);
    emit_object_end(&c->e);
    api_answer(c, status);
}

/* ---- parameters ---- */

struct slice api_member(struct api_call *c, const char *name) {
    uint32_t node = c->body.count ? tape_get_str(&c->body, 0, name) : 0;
    return node && tape_is(&c->body, node, TAPE_STRING)
               ? arena_dup(&c->arena, tape_text(&c->body, node, &c->arena))
               : (struct slice){0};
}

struct slice api_query_text(struct api_call *c, const char *name) {
    cleanup_buf struct buf value;
    buf_init(&value, HTTP_LINE_MAX);
    if (!http_query_get(c->request->head->query, slice_str(name), &value))
        return (struct slice){0};
    return arena_dup(&c->arena, buf_slice(&value));
}

bool api_query_number(struct api_call *c, const char *name, uint64_t max, uint64_t fallback,
                      uint64_t *ret_value) {
    struct slice text = api_query_text(c, name);
    *ret_value = fallback;
    if (!text.len || (slice_to_u64(text, ret_value) && *ret_value >= 1 && *ret_value <= max))
        return true;
    api_error(c, 400, "%s must be a number from 1 to %llu", name, (unsigned long long)max);
    return false;
}

bool api_member_number(struct api_call *c, const char *name, uint64_t max, uint64_t fallback,
                       uint64_t *ret_value) {
    uint32_t node = c->body.count ? tape_get_str(&c->body, 0, name) : 0;
    int64_t value;
    *ret_value = fallback;
    if (!node)
        return true;
    if (tape_int(&c->body, node, &value) && value >= 0 && (uint64_t)value <= max)
        return *ret_value = (uint64_t)value, true;
    api_error(c, 400, "%s must be a whole number from 0 to %llu", name, (unsigned long long)max);
    return false;
}

bool api_member_flag(struct api_call *c, const char *name) {
    uint32_t node = c->body.count ? tape_get_str(&c->body, 0, name) : 0;
    return node && tape_is(&c->body, node, TAPE_TRUE);
}

/* ---- pages ---- */

bool api_page_read(struct api_call *c, uint64_t fallback, struct api_page *ret_page) {
    struct slice cursor = api_query_text(c, "cursor");
    *ret_page = (struct api_page){.arena = &c->arena, .skipping = cursor.len > 0};
    if (!api_query_number(c, "limit", ADMIN_LIST_MAX, fallback, &ret_page->left))
        return false;
    if (cursor.len && !base64_get(cursor, BASE64_URL, &c->arena, &ret_page->after))
        return api_error(c, 400, "invalid cursor: use one that this gate returned"), false;
    return true;
}

bool api_page_open(struct api_call *c, uint64_t fallback, struct api_page *ret_page) {
    if (!api_page_read(c, fallback, ret_page))
        return false;
    emit_array(&c->e);
    return true;
}

bool api_page_open_part(struct api_call *c, struct api_page *ret_page) {
    if (!api_page_open(c, WEB_PAGE_ROWS, ret_page))
        return false;
    ret_page->process = c->request->process;
    if (!ret_page->process.len || !ret_page->skipping)
        return true;
    struct slice process;
    slice_cut(&ret_page->after, ' ', &process);
    const int order = slice_cmp(ret_page->process, process);
    ret_page->passed = order < 0;
    ret_page->skipping = order == 0 && ret_page->after.len > 0;
    return true;
}

bool api_page_takes(struct api_page *p, struct slice key) {
    if (p->passed)
        return false;
    if (p->skipping) {
        p->skipping = !slice_eq(key, p->after);
        return false;
    }
    p->more = !p->left;
    if (p->more)
        return false;
    p->left--;
    p->last = arena_dup(p->arena, key);
    return true;
}

struct slice api_page_head(const struct api_page *p) {
    cleanup_buf struct buf lines;
    buf_init(&lines, HTTP_LINE_MAX);
    if (p->total)
        buf_printf(&lines, "Sallyport-Total: %lld\r\n", (long long)p->total);
    if (p->more) {
        const char *between = p->process.len ? " " : "";
        buf_put_str(&lines, "Sallyport-Cursor: ");
        base64_put(&lines,
                   arena_printf(p->arena, "%.*s%s%.*s", SLICE_FMT(p->process), between, SLICE_FMT(p->last)),
                   BASE64_URL);
        buf_put_str(&lines, "\r\n");
    }
    return arena_dup(p->arena, buf_slice(&lines));
}

void api_page_answer(struct api_call *c, const struct api_page *p) {
    if (p->skipping) {
        api_error(c, 400, API_PAGE_GONE);
        return;
    }
    c->more = api_page_head(p);
    emit_array_end(&c->e);
    api_answer(c, 200);
}

void api_record(struct api_call *c, struct audit_action action) {
    action.identity = slice_str(c->request->who->id);
    audit_put_action(c->admin->core->audit, &action);
}
