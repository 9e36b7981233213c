#include "upstream/head.h"

#include "base/mem.h"
#include "upstream/secret.h"
#include "wire/mirror.h"

/* Written by the transport itself, or could change where a message ends. */
static const char *const own_headers[] = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
};

static bool is_own(struct slice name) {
    for (size_t i = 0; i < ARRAY_LEN(own_headers); i++)
        if (slice_eq_nocase(name, slice_str(own_headers[i])))
            return true;
    return false;
}

int up_head_check(const struct up_server *s, struct err *err) {
    if (s->header_count > UP_HEADERS_MAX)
        return err_set(err, "server `%s`: more than %d headers", s->name, UP_HEADERS_MAX);
    for (size_t i = 0; i < s->header_count; i++) {
        struct slice name, value = slice_str(s->headers[i]);
        if (value.len > UP_HEADER_LINE_MAX)
            return err_set(err, "server `%s`: header %zu is longer than %d bytes", s->name, i + 1,
                           UP_HEADER_LINE_MAX);
        /* The value may be a secret: errors never contain it. */
        if (!slice_cut(&value, ':', &name))
            return err_set(err, "server `%s`: header %zu has no colon; write it as `Name: value`", s->name,
                           i + 1);
        if (!http_token_ok(name))
            return err_set(err, "server `%s`: header %zu has no valid name in front of the colon", s->name,
                           i + 1);
        if (is_own(name))
            return err_set(err, "server `%s`: header `%.*s` is set by the gateway itself", s->name,
                           SLICE_FMT(name));
        if (!http_value_ok(slice_trim(value)))
            return err_set(err, "server `%s`: the value of header `%.*s` has forbidden bytes", s->name,
                           SLICE_FMT(name));
    }
    return 0;
}

struct buf *up_head_scratch(struct up_server *s) {
    if (!s->scratch.max)
        buf_init(&s->scratch, UP_FIXED_HEAD_MAX + UP_OWN_HEAD_MAX);
    buf_reset(&s->scratch);
    return &s->scratch;
}

void up_head_start(struct buf *out, const struct up_server *s, const char *method, struct slice target) {
    buf_put_str(out, method);
    buf_put_char(out, ' ');
    buf_put_slice(out, target);
    buf_put_str(out, " HTTP/1.1\r\nHost: ");
    buf_put_slice(out, s->at.authority);
    buf_put_str(out, "\r\nUser-Agent: sallyport/" SALLYPORT_VERSION "\r\n");
    for (size_t i = 0; i < s->header_count; i++) {
        struct slice name, value = slice_str(s->headers[i]);
        /* up_head_check has refused these; an invalid line is still never written. */
        if (!slice_cut(&value, ':', &name) || !http_token_ok(name) || !http_value_ok(slice_trim(value)))
            continue;
        buf_put_slice(out, name);
        buf_put_str(out, ": ");
        buf_put_slice(out, slice_trim(value));
        buf_put_str(out, "\r\n");
    }
}

bool up_head_line(struct buf *out, const char *name, struct slice value) {
    if (!http_value_ok(value))
        return false;
    buf_put_str(out, name);
    buf_put_str(out, ": ");
    buf_put_slice(out, value);
    return buf_put_str(out, "\r\n");
}

bool up_head_end(struct buf *out, const struct up_server *s, const struct splice *body) {
    up_secrets_put(s, out);
    if (body) {
        buf_put_str(out, "Content-Length: ");
        buf_put_u64(out, splice_len(body));
        buf_put_str(out, "\r\n");
    }
    return buf_put_str(out, "\r\n");
}

bool up_head_lines_ok(struct slice lines) {
    while (lines.len) {
        struct slice line, name;
        if (!slice_cut(&lines, '\n', &line) || !slice_ends(line, SLICE("\r")))
            return false;
        line.len--;
        if (!slice_cut(&line, ':', &name) || !http_token_ok(name) || !http_value_ok(line))
            return false;
    }
    return true;
}

/* ---- mirrored values ---- */

bool up_head_value(struct buf *out, struct slice text) {
    return text.len <= UP_NAME_MAX && mirror_encode(text, out);
}

bool up_head_only_asks(struct slice method) {
    static const struct slice asking[] = {
        SLICE("initialize"),
        SLICE("server/discover"),
        SLICE("ping"),
        SLICE("tools/list"),
        SLICE("resources/list"),
        SLICE("resources/read"),
        SLICE("prompts/list"),
        SLICE("prompts/get"),
        SLICE("completion/complete"),
        SLICE("tasks/get"),
        SLICE("resources/templates/list"),
        SLICE("resources/directory/read"),
        SLICE("skills/list"),
        SLICE("skills/get"),
        SLICE("tasks/list"),
        SLICE("tasks/result"),
        SLICE("logging/setLevel"),
    };
    for (size_t i = 0; i < ARRAY_LEN(asking); i++)
        if (slice_eq(method, asking[i]))
            return true;
    return false;
}

/* Web frameworks redirect `/mcp` to `/mcp/`, and others back. Only this is followed, and our own origin is
 * kept: what we send stays with the resource that it is meant for. */
bool up_head_moved(struct up_server *s, int status, struct slice where) {
    struct http_url url;
    const char *why;
    struct slice query = s->at.target, path;
    const bool has_query = slice_cut(&query, '?', &path), slashed = slice_ends(path, SLICE("/"));
    if ((status != 307 && status != 308) || path.len < 2)
        return false;
    if (http_parse_url(where, &url, &why) == 0)
        where = slice_eq_nocase(url.host, s->at.host) ? url.target : (struct slice){0};
    if (s->slashed) /* another request, sent before the first was answered */
        return slice_eq(where, s->at.target);
    const size_t room = s->at.target.len + 2;
    cleanup_free char *target = mem_alloc(room);
    const int len = snprintf(target, room, "%.*s%s%s%.*s", (int)(path.len - slashed), path.ptr,
                             slashed ? "" : "/", has_query ? "?" : "", SLICE_FMT(query));
    if (!slice_eq(where, slice_of(target, (size_t)len)))
        return false;
    s->slashed = steal(target);
    s->at.target = slice_of(s->slashed, (size_t)len);
    buf_free(&s->post_head);
    return true;
}
