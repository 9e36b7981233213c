/* HTTP/1.1 heads, chunked bodies and URLs.
 *
 *   bytes ──▶ http_split     lines, CRLF only, ceilings      (again on every call until the head is whole)
 *               │
 *               ▼
 *             start line     method target version | version status reason
 *               │
 *               ▼
 *             http_fields    name: value, each checked once; what decides the framing is gathered
 *               │
 *               ▼
 *             framing        which body follows, does the connection live on
 *
 * The split looks only at line ends and ceilings and finds its faults in stream order, so a head that comes
 * byte by byte meets the same fate as one that comes whole. */
#include "wire/http.h"

#include "base/hex.h"
#include "base/mem.h"

#include <arpa/inet.h>

enum {
    CH_TOKEN = 1,  /* method and header names */
    CH_TARGET = 2, /* visible ASCII without characters that parsers of a target treat differently */
    CH_HOST = 4,   /* registered names and IPv4 addresses */
    CH_VALUE = 8,  /* header values */
};

#define CH_VT (CH_VALUE | CH_TOKEN)
#define CH_VG (CH_VALUE | CH_TARGET)
#define CH_VTG (CH_VALUE | CH_TOKEN | CH_TARGET)
#define CH_ALL (CH_VALUE | CH_TOKEN | CH_TARGET | CH_HOST)

static const uint8_t http_class[256] = {
    ['\t'] = CH_VALUE,      [' '] = CH_VALUE,
    ['!'] = CH_VTG,         ['"'] = CH_VALUE,
    ['#'] = CH_VT,          ['$'] = CH_VTG,
    ['%'] = CH_VTG,         ['&'] = CH_VTG,
    ['\''] = CH_VTG,        ['('] = CH_VG,
    [')'] = CH_VG,          ['*'] = CH_VTG,
    ['+'] = CH_VTG,         [','] = CH_VG,
    ['-'] = CH_ALL,         ['.'] = CH_ALL,
    ['/'] = CH_VG,          ['0' ... '9'] = CH_ALL,
    [':'] = CH_VG,          [';'] = CH_VG,
    ['<'] = CH_VALUE,       ['='] = CH_VG,
    ['>'] = CH_VALUE,       ['?'] = CH_VG,
    ['@'] = CH_VG,          ['A' ... 'Z'] = CH_ALL,
    ['['] = CH_VG,          ['\\'] = CH_VALUE,
    [']'] = CH_VG,          ['^'] = CH_VTG,
    ['_'] = CH_ALL,         ['`'] = CH_VTG,
    ['a' ... 'z'] = CH_ALL, ['{'] = CH_VG,
    ['|'] = CH_VTG,         ['}'] = CH_VG,
    ['~'] = CH_VTG,         [0x80 ... 0xff] = CH_VALUE,
};

#define HTTP_EACH_BYTE 0x0101010101010101u

static inline bool http_is(char c, int class) { return http_class[(unsigned char)c] & class; }

/* Length of the run of bytes of that class at the front. */
static inline size_t http_run(const char *ptr, size_t len, int class) {
    const unsigned char *p = (const unsigned char *)ptr;
    size_t i = 0;
    while (i + 4 <= len &&
           (http_class[p[i]] & http_class[p[i + 1]] & http_class[p[i + 2]] & http_class[p[i + 3]] & class))
        i += 4;
    while (i < len && http_is(ptr[i], class))
        i++;
    return i;
}

static const struct http_known {
    struct slice name;
    enum http_field field;
} http_known[] = {
    {{"host", 4}, HTTP_FIELD_HOST},
    {{"accept", 6}, HTTP_FIELD_ACCEPT},
    {{"expect", 6}, HTTP_FIELD_EXPECT},
    {{"origin", 6}, HTTP_FIELD_ORIGIN},
    {{"mcp-name", 8}, HTTP_FIELD_MCP_NAME},
    {{"connection", 10}, HTTP_FIELD_CONNECTION},
    {{"keep-alive", 10}, HTTP_FIELD_KEEP_ALIVE},
    {{"mcp-method", 10}, HTTP_FIELD_MCP_METHOD},
    {{"content-type", 12}, HTTP_FIELD_TYPE},
    {{"authorization", 13}, HTTP_FIELD_AUTHORIZATION},
    {{"last-event-id", 13}, HTTP_FIELD_EVENT_ID},
    {{"content-length", 14}, HTTP_FIELD_LENGTH},
    {{"mcp-session-id", 14}, HTTP_FIELD_MCP_SESSION_ID},
    {{"content-encoding", 16}, HTTP_FIELD_ENCODING},
    {{"transfer-encoding", 17}, HTTP_FIELD_CODING},
    {{"mcp-protocol-version", 20}, HTTP_FIELD_MCP_VERSION},
};
/* Where those of one length begin above, counted from 1. */
static const uint8_t http_known_at[] = {
    [4] = 1, [6] = 2, [8] = 5, [10] = 6, [12] = 9, [13] = 10, [14] = 12, [16] = 14, [17] = 15, [20] = 16};

_Static_assert(HTTP_HEADERS_MAX < UINT8_MAX, "places of fields are bytes");

/* Collected from the header fields while they are read. */
struct http_facts {
    bool close;
    bool keep;
    bool chunked;
    uint64_t length;
};

static int http_refuse(int status, const char *why, const char **ret_why) {
    *ret_why = why;
    return -status;
}

/* ---- lines ------------------------------------------------------------------------------------------ */

/* Finds the end of the head and stores every header line unparsed in out->headers[].value. >0: bytes of the
 * head; 0: the head is incomplete. */
static int http_split(struct slice in, struct http_head *out, struct slice *ret_first, const char **ret_why) {
    const char *end = in.ptr + (in.len < HTTP_HEAD_MAX ? in.len : HTTP_HEAD_MAX);
    bool first = true;
    out->count = 0;
    for (const char *line = in.ptr;;) {
        const char *lf = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
        if (first && (size_t)((lf ? lf + 1 : end) - line) > HTTP_LINE_MAX)
            return http_refuse(414, "first line too long", ret_why);
        if (!lf)
            return in.len < HTTP_HEAD_MAX ? 0 : http_refuse(431, "head too large", ret_why);
        if (lf == line || lf[-1] != '\r')
            return http_refuse(400, "bare LF", ret_why);
        struct slice text = slice_of(line, (size_t)(lf - 1 - line));
        line = lf + 1;
        if (first) {
            *ret_first = text;
            first = false;
        } else if (text.len == 0) {
            return (int)(line - in.ptr);
        } else if (out->count == HTTP_HEADERS_MAX) {
            return http_refuse(431, "too many header fields", ret_why);
        } else {
            out->headers[out->count++].value = text;
        }
    }
}

static int http_version(struct slice text, int *ret_minor, const char **ret_why) {
    if (text.len != 8 || memcmp(text.ptr, "HTTP/", 5) != 0 || text.ptr[5] < '0' || text.ptr[5] > '9' ||
        text.ptr[6] != '.' || text.ptr[7] < '0' || text.ptr[7] > '9')
        return http_refuse(400, "malformed HTTP version", ret_why);
    if (text.ptr[5] != '1' || text.ptr[7] > '1')
        return http_refuse(505, "HTTP version not supported", ret_why);
    *ret_minor = text.ptr[7] - '0';
    return 0;
}

static enum http_method http_method_of(struct slice text) {
    static const struct slice names[] = {
        [HTTP_GET] = {"GET", 3},     [HTTP_HEAD] = {"HEAD", 4},     [HTTP_POST] = {"POST", 4},
        [HTTP_PUT] = {"PUT", 3},     [HTTP_DELETE] = {"DELETE", 6}, [HTTP_OPTIONS] = {"OPTIONS", 7},
        [HTTP_PATCH] = {"PATCH", 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_eq(text, names[i]))
            return (enum http_method)i;
    return HTTP_OTHER;
}

static int http_request_line(struct slice line, struct http_head *out, const char **ret_why) {
    size_t method = http_run(line.ptr, line.len, CH_TOKEN);
    if (method == 0 || method > HTTP_METHOD_MAX || method == line.len || line.ptr[method] != ' ')
        return http_refuse(400, "malformed request line", ret_why);
    out->method_text = slice_upto(line, method);
    out->method = http_method_of(out->method_text);
    line = slice_from(line, method + 1);
    size_t target = http_run(line.ptr, line.len, CH_TARGET);
    if (target == 0 || target == line.len || line.ptr[target] != ' ')
        return http_refuse(400, "malformed request target", ret_why);
    out->target = slice_upto(line, target);
    if (out->target.ptr[0] != '/' && !(out->method == HTTP_OPTIONS && slice_eq(out->target, SLICE("*"))))
        return http_refuse(400, "request target is not a path", ret_why);
    out->query = out->target;
    if (!slice_cut(&out->query, '?', &out->path))
        out->query = slice_of(out->target.ptr + target, 0);
    return http_version(slice_from(line, target + 1), &out->minor, ret_why);
}

static int http_status_line(struct slice line, struct http_head *out, const char **ret_why) {
    int bad = http_version(slice_upto(line, 8), &out->minor, ret_why);
    if (bad)
        return bad;
    uint64_t status = 0;
    if (line.len < 12 || line.ptr[8] != ' ' || !slice_to_u64(slice_of(line.ptr + 9, 3), &status) ||
        status < 100 || status > 599)
        return http_refuse(502, "malformed status line", ret_why);
    /* Many servers omit the space and the reason. That is unambiguous. */
    if (line.len > 12 && line.ptr[12] != ' ')
        return http_refuse(502, "malformed status line", ret_why);
    out->reason = slice_from(line, 13);
    if (!http_value_ok(out->reason))
        return http_refuse(502, "control byte in status line", ret_why);
    if (status == 101)
        return http_refuse(502, "unsolicited upgrade", ret_why);
    out->status = (int)status;
    return 0;
}

/* ---- fields ----------------------------------------------------------------------------------------- */

/* The name is made of token bytes, so setting the 0x20 bit changes letters only (and turns no other byte
 * into a letter or a hyphen). */
static inline bool http_name_starts(struct slice name, struct slice lower) {
    size_t i = 0;
    for (; i + 8 <= lower.len; i += 8) {
        uint64_t x, y;
        memcpy(&x, name.ptr + i, 8);
        memcpy(&y, lower.ptr + i, 8);
        if ((x | HTTP_EACH_BYTE * 0x20) != y)
            return false;
    }
    for (; i < lower.len; i++)
        if ((name.ptr[i] | 0x20) != lower.ptr[i])
            return false;
    return true;
}

static enum http_field http_field_of(struct slice name) {
    size_t at = name.len < sizeof(http_known_at) ? http_known_at[name.len] : 0;
    for (; at && at <= ARRAY_LEN(http_known) && http_known[at - 1].name.len == name.len; at++)
        if (http_name_starts(name, http_known[at - 1].name))
            return http_known[at - 1].field;
    return name.len > 4 && http_name_starts(name, SLICE("mcp-")) ? HTTP_FIELD_MCP : HTTP_FIELD_OTHER;
}

/* host, or host:port, with an IPv6 address in brackets. ret_port may be NULL; 0 when none is written. */
static bool http_authority(struct slice text, struct slice *ret_host, bool *ret_ipv6, uint16_t *ret_port) {
    struct slice host = text, rest;
    bool ipv6 = text.len && text.ptr[0] == '[';
    if (ipv6) {
        char address[INET6_ADDRSTRLEN] = "";
        struct in6_addr binary;
        ptrdiff_t close = slice_find(text, ']');
        if (close < 0 || (size_t)close > sizeof(address))
            return false;
        host = slice_of(text.ptr + 1, (size_t)close - 1);
        rest = slice_from(text, (size_t)close + 1);
        memcpy(address, host.ptr, host.len);
        if (strlen(address) != host.len || inet_pton(AF_INET6, address, &binary) != 1)
            return false;
    } else {
        host.len = http_run(text.ptr, text.len, CH_HOST);
        rest = slice_from(text, host.len);
        if (host.len == 0 || host.len > HTTP_HOST_MAX)
            return false;
    }
    uint64_t port = 0;
    if (rest.len && (rest.ptr[0] != ':' || rest.len > 6 || !slice_to_u64(slice_from(rest, 1), &port) ||
                     port == 0 || port > UINT16_MAX))
        return false;
    *ret_host = host;
    *ret_ipv6 = ipv6;
    if (ret_port)
        *ret_port = (uint16_t)port;
    return true;
}

static int http_length(struct slice value, struct http_facts *facts, const char **ret_why) {
    /* Some parsers read a leading zero as octal. */
    if ((value.len > 1 && value.ptr[0] == '0') || !slice_to_u64(value, &facts->length) ||
        facts->length > INT64_MAX)
        return http_refuse(400, "malformed Content-Length", ret_why);
    return 0;
}

static void http_connection(struct slice value, struct http_facts *facts) {
    struct slice token;
    for (bool more = true; more;) {
        more = slice_cut(&value, ',', &token);
        token = slice_trim(token);
        facts->close |= slice_eq_nocase(token, SLICE("close"));
        facts->keep |= slice_eq_nocase(token, SLICE("keep-alive"));
    }
}

/* Is this a second occurrence of a field that is allowed once? */
static bool http_is_again(const struct http_head *h, size_t at, enum http_field field) {
    if (field < HTTP_FIELD_ONCE || !http_has(h, field))
        return false;
    if (field != HTTP_FIELD_MCP)
        return true;
    for (size_t i = 0; i < at; i++)
        if (slice_eq_nocase(h->headers[i].name, h->headers[at].name))
            return true;
    return false;
}

/* Records one known field. */
static int http_note(struct http_head *h, size_t at, enum http_field field, struct http_facts *facts,
                     const char **ret_why) {
    struct slice value = h->headers[at].value, host;
    bool ipv6;
    if (http_is_again(h, at, field))
        return http_refuse(400, "header field may occur only once", ret_why);
    if (!http_has(h, field))
        h->at[field] = (uint8_t)(at + 1);
    switch (field) {
    case HTTP_FIELD_HOST:
        return http_authority(value, &host, &ipv6, NULL) ? 0 : http_refuse(400, "malformed Host", ret_why);
    case HTTP_FIELD_EXPECT:
        if (!slice_eq_nocase(value, SLICE("100-continue")))
            return http_refuse(417, "unknown expectation", ret_why);
        return 0;
    case HTTP_FIELD_CONNECTION:
        http_connection(value, facts);
        return 0;
    case HTTP_FIELD_LENGTH:
        return http_length(value, facts, ret_why);
    case HTTP_FIELD_CODING:
        facts->chunked = slice_eq_nocase(value, SLICE("chunked"));
        return facts->chunked ? 0 : http_refuse(501, "unknown transfer coding", ret_why);
    default:
        return 0;
    }
}

/* Outer spaces and tabs only: a CR cannot be part of white space. */
static struct slice http_trim(struct slice s) {
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static int http_fields(struct http_head *h, struct http_facts *facts, const char **ret_why) {
    memset(h->at, 0, sizeof(h->at));
    for (size_t i = 0; i < h->count; i++) {
        struct slice line = h->headers[i].value;
        size_t name = http_run(line.ptr, line.len, CH_TOKEN);
        if (name == 0)
            return http_refuse(400,
                               line.ptr[0] == ' ' || line.ptr[0] == '\t' ? "folded header line"
                                                                         : "malformed header name",
                               ret_why);
        if (name == line.len || line.ptr[name] != ':')
            return http_refuse(400, "malformed header name", ret_why);
        h->headers[i].name = slice_upto(line, name);
        h->headers[i].value = http_trim(slice_from(line, name + 1));
        if (!http_value_ok(h->headers[i].value))
            return http_refuse(400, "control byte in header value", ret_why);
        enum http_field field = http_field_of(h->headers[i].name);
        int bad = field == HTTP_FIELD_OTHER ? 0 : http_note(h, i, field, facts, ret_why);
        if (bad)
            return bad;
    }
    return 0;
}

/* ---- heads ------------------------------------------------------------------------------------------ */

static int http_framing(struct http_head *h, const struct http_facts *facts, const char **ret_why) {
    if (facts->chunked && http_has(h, HTTP_FIELD_LENGTH))
        return http_refuse(400, "both Content-Length and Transfer-Encoding", ret_why);
    if (facts->chunked && h->minor == 0)
        return http_refuse(400, "Transfer-Encoding in HTTP/1.0", ret_why);
    h->keep_alive = !facts->close && (h->minor == 1 || facts->keep);
    h->body_len = facts->length;
    h->body = facts->chunked ? HTTP_BODY_CHUNKED : facts->length ? HTTP_BODY_LENGTH : HTTP_BODY_NONE;
    return 0;
}

int http_parse_request(struct slice in, struct http_head *out, const char **ret_why) {
    /* Skips one empty line: some old clients send it after a body. */
    size_t skip = 0;
    if (in.len && in.ptr[0] == '\r') {
        if (in.len == 1)
            return 0;
        if (in.ptr[1] != '\n')
            return http_refuse(400, "bare CR", ret_why);
        skip = 2;
        in = slice_from(in, 2);
    }
    if (in.len == 0)
        return 0;
    /* Refused immediately, so that a TLS handshake on a plain port does not wait for a line end. */
    if (!http_is(in.ptr[0], CH_TOKEN))
        return http_refuse(400, "malformed request line", ret_why);
    struct slice first;
    struct http_facts facts = {0};
    int bad, len = http_split(in, out, &first, ret_why);
    if (len <= 0)
        return len;
    if ((bad = http_request_line(first, out, ret_why)) || (bad = http_fields(out, &facts, ret_why)) ||
        (bad = http_framing(out, &facts, ret_why)))
        return bad;
    if (out->minor == 1 && !http_has(out, HTTP_FIELD_HOST))
        return http_refuse(400, "no Host", ret_why);
    out->expect_continue = out->minor == 1 && http_has(out, HTTP_FIELD_EXPECT);
    out->status = 0;
    out->reason = (struct slice){0};
    out->head_len = (size_t)len + skip;
    return (int)out->head_len;
}

int http_parse_response(struct slice in, enum http_method to, struct http_head *out, const char **ret_why) {
    if (in.len == 0)
        return 0;
    if (in.ptr[0] != 'H')
        return http_refuse(502, "malformed status line", ret_why);
    struct slice first;
    struct http_facts facts = {0};
    int bad, len = http_split(in, out, &first, ret_why);
    if (len <= 0)
        return len;
    if ((bad = http_status_line(first, out, ret_why)) || (bad = http_fields(out, &facts, ret_why)) ||
        (bad = http_framing(out, &facts, ret_why)))
        return bad;
    bool bodiless = out->status < 200 || out->status == 204;
    if (bodiless || out->status == 304 || to == HTTP_HEAD) {
        /* A body that must not be there could be mistaken for the next response. */
        if (bodiless && out->body != HTTP_BODY_NONE)
            out->keep_alive = false;
        out->body = HTTP_BODY_NONE;
    } else if (!facts.chunked && !http_has(out, HTTP_FIELD_LENGTH)) {
        out->body = HTTP_BODY_CLOSE;
        out->keep_alive = false;
    }
    out->method = to;
    out->method_text = out->target = out->path = out->query = (struct slice){0};
    out->expect_continue = false;
    out->head_len = (size_t)len;
    return len;
}

/* ---- values ----------------------------------------------------------------------------------------- */

struct slice http_value_of(const struct http_head *h, struct slice name) {
    for (size_t i = 0; i < h->count; i++)
        if (slice_eq_nocase(h->headers[i].name, name))
            return h->headers[i].value;
    return (struct slice){0};
}

struct slice http_cookie(const struct http_head *h, struct slice name) {
    struct slice rest = http_value_of(h, SLICE("Cookie")), one, key;
    while (rest.len) {
        slice_cut(&rest, ';', &one);
        one = slice_trim(one);
        slice_cut(&one, '=', &key);
        if (slice_eq(key, name))
            return one;
    }
    return (struct slice){0};
}

/* Checks eight bytes at once; a suspicious word is checked again by the table (it may be a tab). */
static inline bool http_word_ok(const char *ptr) {
    uint64_t word;
    memcpy(&word, ptr, 8);
    uint64_t del = word ^ (HTTP_EACH_BYTE * 0x7f);
    /* High bit set where a byte is under 0x20, or where it is 0x7f. */
    uint64_t odd = ((word - HTTP_EACH_BYTE * 0x20) & ~word) | ((del - HTTP_EACH_BYTE) & ~del);
    return !(odd & (HTTP_EACH_BYTE * 0x80)) || http_run(ptr, 8, CH_VALUE) == 8;
}

bool http_value_ok(struct slice value) {
    if (value.len < 8)
        return http_run(value.ptr, value.len, CH_VALUE) == value.len;
    for (size_t i = 0; i + 8 < value.len; i += 8)
        if (!http_word_ok(value.ptr + i))
            return false;
    return http_word_ok(value.ptr + value.len - 8);
}

bool http_token_ok(struct slice name) {
    return name.len && http_run(name.ptr, name.len, CH_TOKEN) == name.len;
}

/* Like slice_cut, but a separator inside a quoted string does not count. */
static bool http_cut_quoted(struct slice *rest, char sep, struct slice *ret_head) {
    bool quoted = false;
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->ptr[i];
        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
        else if (!quoted && c == sep) {
            *ret_head = slice_upto(*rest, i);
            *rest = slice_from(*rest, i + 1);
            return true;
        }
    }
    *ret_head = *rest;
    *rest = slice_from(*rest, rest->len);
    return false;
}

/* A weight is zero when no digit in it is another one: 0, 0.0, 0.000. */
static bool http_params_refuse(struct slice params) {
    struct slice param, name;
    for (bool more = true; more;) {
        more = http_cut_quoted(&params, ';', &param);
        slice_cut(&param, '=', &name);
        if (!slice_eq_nocase(slice_trim(name), SLICE("q")))
            continue;
        param = slice_trim(param);
        for (size_t i = 0; i < param.len; i++)
            if (param.ptr[i] >= '1' && param.ptr[i] <= '9')
                return false;
        return param.len > 0;
    }
    return false;
}

/* 3 for the type itself, 2 for type/ *, 1 for * / *, 0 for no match. */
static int http_range_rank(struct slice range, struct slice media_type) {
    struct slice rest = media_type, family;
    if (slice_eq_nocase(range, media_type))
        return 3;
    if (slice_eq(range, SLICE("*/*")))
        return 1;
    slice_cut(&rest, '/', &family);
    return range.len == family.len + 2 && slice_ends(range, SLICE("/*")) &&
                   slice_eq_nocase(slice_upto(range, family.len), family)
               ? 2
               : 0;
}

bool http_accepts(struct slice accept, struct slice media_type) {
    if (accept.len == 0)
        return true;
    int best = 0;
    bool accepted = false;
    struct slice element, range;
    for (bool more = true; more;) {
        more = http_cut_quoted(&accept, ',', &element);
        slice_cut(&element, ';', &range);
        int rank = http_range_rank(slice_trim(range), media_type);
        if (rank == 0 || rank < best)
            continue;
        bool yes = !http_params_refuse(element);
        accepted = rank > best ? yes : accepted || yes;
        best = rank;
    }
    return accepted;
}

bool http_media_is(struct slice content_type, struct slice media_type) {
    struct slice type;
    slice_cut(&content_type, ';', &type);
    return slice_eq_nocase(http_trim(type), media_type);
}

const char *http_reason(int status) {
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {100, "Continue"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Unknown";
}

/* ---- query ------------------------------------------------------------------------------------------ */

/* Takes one decoded byte off the front, or -1 for a broken escape. NUL is no text and counts as broken. */
static int http_query_byte(struct slice *in) {
    char c = in->ptr[0];
    if (c != '%') {
        *in = slice_from(*in, 1);
        return c == '+' ? ' ' : (unsigned char)c;
    }
    int high = in->len > 2 ? hex_value(in->ptr[1]) : -1, low = in->len > 2 ? hex_value(in->ptr[2]) : -1;
    *in = slice_from(*in, 3);
    return high < 0 || low < 0 || (high | low) == 0 ? -1 : high << 4 | low;
}

static bool http_query_eq(struct slice encoded, struct slice text) {
    for (; encoded.len && text.len; text = slice_from(text, 1))
        if (http_query_byte(&encoded) != (unsigned char)text.ptr[0])
            return false;
    return encoded.len == 0 && text.len == 0;
}

bool http_query_next(struct slice *query, struct slice *ret_name, struct slice *ret_value) {
    while (query->len) {
        slice_cut(query, '&', ret_value);
        if (!ret_value->len)
            continue;
        slice_cut(ret_value, '=', ret_name);
        return true;
    }
    return false;
}

bool http_query_decode(struct slice encoded, struct buf *out) {
    buf_reset(out);
    while (encoded.len) {
        int c = http_query_byte(&encoded);
        if (c < 0 || !buf_put_char(out, (char)c))
            return false;
    }
    return true;
}

bool http_query_get(struct slice query, struct slice name, struct buf *out) {
    struct slice key, value, found = {0};
    buf_reset(out);
    bool there = false;
    while (http_query_next(&query, &key, &value)) {
        if (!http_query_eq(key, name))
            continue;
        /* Parsers differ on which duplicate wins, so duplicates are refused. */
        if (there)
            return false;
        found = value;
        there = true;
    }
    return there && http_query_decode(found, out);
}

/* ---- chunked bodies --------------------------------------------------------------------------------- */

enum {
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_LF,
    CHUNK_TRAILER, /* at the start of a line behind the last chunk */
    CHUNK_TRAILER_NAME,
    CHUNK_TRAILER_VALUE,
    CHUNK_TRAILER_LF,
    CHUNK_LAST_LF,
    CHUNK_DONE,
    CHUNK_BAD,
};

void http_chunked_init(struct http_chunked *c) { *c = (struct http_chunked){.state = CHUNK_SIZE}; }

static uint8_t http_chunked_size(struct http_chunked *c, char byte) {
    int digit = hex_value(byte);
    if (digit >= 0) {
        if (c->left > (uint64_t)INT64_MAX >> 4)
            return CHUNK_BAD;
        c->left = c->left << 4 | (uint64_t)digit;
        return CHUNK_SIZE;
    }
    if (c->line_len == 1) /* no digit */
        return CHUNK_BAD;
    return byte == '\r' ? CHUNK_SIZE_LF : byte == ';' ? CHUNK_EXTENSION : CHUNK_BAD;
}

/* Returns the next state after one byte of framing. */
static uint8_t http_chunked_byte(struct http_chunked *c, char byte) {
    c->line_len++;
    switch (c->state) {
    case CHUNK_SIZE:
        return c->line_len > HTTP_CHUNK_LINE_MAX ? CHUNK_BAD : http_chunked_size(c, byte);
    case CHUNK_EXTENSION:
        if (byte == '\r')
            return CHUNK_SIZE_LF;
        return c->line_len <= HTTP_CHUNK_LINE_MAX && http_is(byte, CH_VALUE) ? CHUNK_EXTENSION : CHUNK_BAD;
    case CHUNK_SIZE_LF:
        c->line_len = 0;
        return byte != '\n' ? CHUNK_BAD : c->left ? CHUNK_DATA : CHUNK_TRAILER;
    case CHUNK_DATA_CR:
        return byte == '\r' ? CHUNK_DATA_LF : CHUNK_BAD;
    case CHUNK_DATA_LF:
        c->line_len = 0;
        return byte == '\n' ? CHUNK_SIZE : CHUNK_BAD;
    case CHUNK_LAST_LF:
        return byte == '\n' ? CHUNK_DONE : CHUNK_BAD;
    default:
        break;
    }
    if (c->line_len > HTTP_TRAILER_MAX)
        return CHUNK_BAD;
    switch (c->state) {
    case CHUNK_TRAILER:
        return byte == '\r' ? CHUNK_LAST_LF : http_is(byte, CH_TOKEN) ? CHUNK_TRAILER_NAME : CHUNK_BAD;
    case CHUNK_TRAILER_NAME:
        return byte == ':' ? CHUNK_TRAILER_VALUE : http_is(byte, CH_TOKEN) ? CHUNK_TRAILER_NAME : CHUNK_BAD;
    case CHUNK_TRAILER_VALUE:
        return byte == '\r' ? CHUNK_TRAILER_LF : http_is(byte, CH_VALUE) ? CHUNK_TRAILER_VALUE : CHUNK_BAD;
    case CHUNK_TRAILER_LF:
        return byte == '\n' ? CHUNK_TRAILER : CHUNK_BAD;
    default:
        return CHUNK_BAD;
    }
}

enum http_step http_chunked_decode(struct http_chunked *c, const char *src, size_t len, char *dst,
                                   size_t *ret_used, size_t *ret_out) {
    size_t used = 0, made = 0;
    while (used < len && c->state != CHUNK_DONE && c->state != CHUNK_BAD) {
        if (c->state != CHUNK_DATA) {
            c->state = http_chunked_byte(c, src[used++]);
            continue;
        }
        size_t run = c->left < len - used ? (size_t)c->left : len - used;
        memmove(dst + made, src + used, run);
        used += run;
        made += run;
        c->left -= run;
        if (c->left == 0)
            c->state = CHUNK_DATA_CR;
    }
    *ret_used = used;
    *ret_out = made;
    return c->state == CHUNK_DONE ? HTTP_DONE : c->state == CHUNK_BAD ? HTTP_BAD : HTTP_MORE;
}

/* ---- URLs ------------------------------------------------------------------------------------------- */

static int http_no_url(const char *why, const char **ret_why) {
    *ret_why = why;
    return -1;
}

int http_parse_url(struct slice url, struct http_url *out, const char **ret_why) {
    struct http_url made = {0};
    struct slice rest = url, scheme, fragment_free;
    if (url.len > HTTP_LINE_MAX / 2)
        return http_no_url("too long", ret_why);
    slice_cut(&rest, ':', &scheme);
    made.tls = slice_eq_nocase(scheme, SLICE("https"));
    if (!made.tls && !slice_eq_nocase(scheme, SLICE("http")))
        return http_no_url("scheme is neither http nor https", ret_why);
    if (!slice_starts(rest, SLICE("//")))
        return http_no_url("no // behind the scheme", ret_why);
    rest = slice_from(rest, 2);
    slice_cut(&rest, '#', &fragment_free);
    size_t authority = 0;
    while (authority < fragment_free.len && fragment_free.ptr[authority] != '/' &&
           fragment_free.ptr[authority] != '?')
        authority++;
    made.authority = slice_upto(fragment_free, authority);
    made.target = slice_from(fragment_free, authority);
    if (slice_find(made.authority, '@') >= 0)
        return http_no_url("user name or password in the URL", ret_why);
    if (!http_authority(made.authority, &made.host, &made.ipv6, &made.port))
        return http_no_url("malformed host or port", ret_why);
    if (made.port == 0)
        made.port = made.tls ? 443 : 80;
    if (made.target.len == 0)
        made.target = SLICE("/");
    if (made.target.ptr[0] != '/')
        return http_no_url("query without a path", ret_why);
    if (http_run(made.target.ptr, made.target.len, CH_TARGET) != made.target.len)
        return http_no_url("forbidden byte in the path or query", ret_why);
    *out = made;
    return 0;
}

bool http_is_same_origin(const struct http_url *a, const struct http_url *b) {
    return a->tls == b->tls && a->port == b->port && slice_eq_nocase(a->host, b->host);
}
