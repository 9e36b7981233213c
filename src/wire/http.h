/* HTTP/1.1, both sides, as pure functions over received bytes. Heads are parsed in place. Strict where
 * leniency lets two readers disagree: refused are both Content-Length and Transfer-Encoding, several
 * Content-Length, a Transfer-Encoding other than "chunked", obsolete folding, bare CR or LF, spaces before
 * the colon, control bytes in values, a request target that is no path, a request target or Host with
 * forbidden bytes, duplicated Host, Content-Type, Authorization, Origin, Last-Event-ID, Expect or Mcp-*
 * headers, versions other than 1.0 and 1.1. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "wire/limits.h"

struct http_header {
    struct slice name;
    struct slice value; /* outer white space trimmed */
};

enum http_body { HTTP_BODY_NONE, HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_CLOSE };

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_PATCH,
    HTTP_OTHER
};

/* Header fields that decide something, that two readers must not read differently, or that every message is
 * asked for. */
enum http_field {
    HTTP_FIELD_OTHER,
    HTTP_FIELD_CONNECTION,
    HTTP_FIELD_KEEP_ALIVE,
    HTTP_FIELD_ACCEPT,
    HTTP_FIELD_ENCODING, /* Content-Encoding */
    HTTP_FIELD_ONCE,     /* from here on: at most once */
    HTTP_FIELD_HOST = HTTP_FIELD_ONCE,
    HTTP_FIELD_EXPECT,
    HTTP_FIELD_LENGTH, /* Content-Length */
    HTTP_FIELD_CODING, /* Transfer-Encoding */
    HTTP_FIELD_TYPE,   /* Content-Type */
    HTTP_FIELD_AUTHORIZATION,
    HTTP_FIELD_ORIGIN,
    HTTP_FIELD_EVENT_ID, /* Last-Event-ID */
    HTTP_FIELD_MCP_SESSION_ID,
    HTTP_FIELD_MCP_VERSION, /* MCP-Protocol-Version */
    HTTP_FIELD_MCP_METHOD,
    HTTP_FIELD_MCP_NAME,
    HTTP_FIELD_MCP, /* any other Mcp-* */
    HTTP_FIELDS
};

struct http_head {
    /* request */
    enum http_method method;
    struct slice method_text;
    struct slice target; /* origin-form: path and query; "*" only for OPTIONS */
    struct slice path;   /* target up to '?' */
    struct slice query;  /* after '?', may be empty */
    /* response */
    int status;
    struct slice reason;
    /* both */
    int minor; /* HTTP/1.minor */
    bool keep_alive;
    bool expect_continue;
    enum http_body body; /* a Content-Length of 0 is HTTP_BODY_NONE */
    uint64_t body_len;   /* as announced; the body has it when it is HTTP_BODY_LENGTH */
    size_t head_len;     /* bytes of the head, the empty line included */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t count;
    uint8_t at[HTTP_FIELDS]; /* where the first of each stands, counted from 1; 0: nowhere */
};

/* >0: the head is complete, that many bytes (one empty line in front included). 0: more bytes needed; call
 * again with the grown buffer. <0: refuse with HTTP status -answer (400, 414, 417, 431, 501 for an unknown
 * transfer coding, 505); *ret_why names the fault. *out means something only when the answer is >0. */
int http_parse_request(struct slice in, struct http_head *out, const char **ret_why);
/* As above for a response; `to` is the method of the request it answers (HEAD has no body). <0 is just an
 * invalid answer. 1xx heads are returned like others: the caller skips them (101 is refused: nothing here
 * asks for an upgrade). */
int http_parse_response(struct slice in, enum http_method to, struct http_head *out, const char **ret_why);

/* The value of the first such field, or an empty slice. */
static inline struct slice http_value(const struct http_head *h, enum http_field field) {
    return h->at[field] ? h->headers[h->at[field] - 1].value : (struct slice){0};
}
static inline bool http_has(const struct http_head *h, enum http_field field) { return h->at[field] != 0; }
/* Like http_value for any field name (case-insensitive); searches the fields. */
struct slice http_value_of(const struct http_head *h, struct slice name);
/* The value of the cookie with this name; empty when absent. */
struct slice http_cookie(const struct http_head *h, struct slice name);
/* Is `type/subtype` acceptable by this Accept header value? An absent header accepts everything;
 * understands wildcards, parameters and q=0. */
bool http_accepts(struct slice accept, struct slice media_type);
/* Does the media type of a Content-Type value, without parameters, equal this one? */
bool http_media_is(struct slice content_type, struct slice media_type);
/* Is the text allowed as a header value (visible ASCII, space, tab, bytes >= 0x80; no CR LF NUL)? */
bool http_value_ok(struct slice value);
bool http_token_ok(struct slice name);
/* Value of a query parameter, percent-decoded into `out` (reset first; + is a space); false when it is
 * absent, malformed, holds %00 or stands more than once. */
bool http_query_get(struct slice query, struct slice name, struct buf *out);
/* Takes the next parameter off the front of a query, name and value still encoded; false at its end. */
bool http_query_next(struct slice *query, struct slice *ret_name, struct slice *ret_value);
/* Percent-decodes into `out` (reset first); false when it is malformed or holds %00. */
bool http_query_decode(struct slice encoded, struct buf *out);
const char *http_reason(int status);

/* Chunked decoding. `in` is consumed from the front; decoded bytes are moved together in place, so that
 * the body is contiguous at `body`. */
struct http_chunked {
    uint64_t left; /* of the current chunk */
    uint8_t state;
    uint32_t line_len; /* bytes of the current size line or trailers, against their ceilings */
};
enum http_step { HTTP_MORE, HTTP_DONE, HTTP_BAD };
void http_chunked_init(struct http_chunked *c);
/* Reads from src[0..len): sets *ret_used to the bytes consumed and appends decoded bytes at dst (which may
 * be the same memory at or before src), *ret_out their number. */
enum http_step http_chunked_decode(struct http_chunked *c, const char *src, size_t len, char *dst,
                                   size_t *ret_used, size_t *ret_out);

/* A parsed absolute http:// or https:// URL. */
struct http_url {
    bool tls;
    struct slice host; /* without brackets for IPv6 */
    bool ipv6;
    uint16_t port;
    struct slice target;    /* path and query, "/" when empty; the fragment is dropped */
    struct slice authority; /* host[:port] as written, for the Host header */
};
/* -1 and *ret_why when it is not such a URL, or has userinfo. Accepts any host of letters, digits, '-', '.'
 * and '_'; the caller checks the resolved address. */
int http_parse_url(struct slice url, struct http_url *out, const char **ret_why);
bool http_is_same_origin(const struct http_url *a, const struct http_url *b);
