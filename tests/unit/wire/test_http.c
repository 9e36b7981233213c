/* Each head is given whole, and then byte by byte in memory that ends where the bytes end, so that the
 * sanitizers see every look beyond them. */
#include "wire/http.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct head_case {
    const char *name;
    struct slice in;
    int want; /* refused with this status; 0: accepted, all of it */
};

#define H "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n" H
#define POST "POST /mcp HTTP/1.1\r\n" H
#define OK "HTTP/1.1 200 OK\r\n"
#define ROW(name, text, want)                                                                                \
    { name, {text, sizeof(text) - 1}, want }

static const struct head_case request_cases[] = {
    ROW("plain", GET "\r\n", 0),
    ROW("no header but host", "DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n", 0),
    ROW("1.0 without host", "GET / HTTP/1.0\r\n\r\n", 0),
    ROW("1.1 without host", "GET / HTTP/1.1\r\n\r\n", 400),
    ROW("one empty line in front", "\r\n" GET "\r\n", 0),
    ROW("two empty lines in front", "\r\n\r\n" GET "\r\n", 400),
    ROW("bare LF in front", "\n" GET "\r\n", 400),
    ROW("bare CR in front", "\rGET / HTTP/1.1\r\n\r\n", 400),
    ROW("space in front", " " GET "\r\n", 400),
    ROW("TLS handshake", "\x16\x03\x01\x02", 400),
    ROW("NUL in front", "\0" GET "\r\n", 400),
    /* the request line */
    ROW("lower-case method is another one", "get / HTTP/1.1\r\n" H "\r\n", 0),
    ROW("odd method", "M-SEARCH / HTTP/1.1\r\n" H "\r\n", 0),
    ROW("method with colon", "GE:T / HTTP/1.1\r\n" H "\r\n", 400),
    ROW("method too long", "GETGETGETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\n" H "\r\n", 400),
    ROW("two spaces before the target", "GET  / HTTP/1.1\r\n" H "\r\n", 400),
    ROW("two spaces before the version", "GET /  HTTP/1.1\r\n" H "\r\n", 400),
    ROW("tab for a space", "GET\t/ HTTP/1.1\r\n" H "\r\n", 400),
    ROW("space behind the version", "GET / HTTP/1.1 \r\n" H "\r\n", 400),
    ROW("no version", "GET /\r\n" H "\r\n", 400),
    ROW("no target", "GET HTTP/1.1\r\n" H "\r\n", 400),
    ROW("empty target", "GET  HTTP/1.1\r\n" H "\r\n", 400),
    ROW("space in the target", "GET /a b HTTP/1.1\r\n" H "\r\n", 400),
    ROW("NUL in the target", "GET /a\0b HTTP/1.1\r\n" H "\r\n", 400),
    ROW("CR in the target", "GET /a\rb HTTP/1.1\r\n" H "\r\n", 400),
    ROW("LF in the target", "GET /a\nb HTTP/1.1\r\n" H "\r\n", 400),
    ROW("DEL in the target", "GET /a\x7f HTTP/1.1\r\n" H "\r\n", 400),
    ROW("high byte in the target", "GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n", 400),
    ROW("fragment in the target", "GET /a#b HTTP/1.1\r\n" H "\r\n", 400),
    ROW("quote in the target", "GET /\" HTTP/1.1\r\n" H "\r\n", 400),
    ROW("backslash in the target", "GET /\\a HTTP/1.1\r\n" H "\r\n", 400),
    ROW("angle in the target", "GET /<a> HTTP/1.1\r\n" H "\r\n", 400),
    ROW("brackets in a query", "GET /?a[]={b}|c^ HTTP/1.1\r\n" H "\r\n", 0),
    ROW("percent escapes", "GET /%2e%2E/%00 HTTP/1.1\r\n" H "\r\n", 0),
    ROW("absolute form", "GET http://a/ HTTP/1.1\r\n" H "\r\n", 400),
    ROW("authority form", "CONNECT a:443 HTTP/1.1\r\n" H "\r\n", 400),
    ROW("asterisk for options", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 0),
    ROW("asterisk for get", "GET * HTTP/1.1\r\n" H "\r\n", 400),
    ROW("asterisk and more", "OPTIONS ** HTTP/1.1\r\n" H "\r\n", 400),
    ROW("no slash in front", "GET a/b HTTP/1.1\r\n" H "\r\n", 400),
    /* versions */
    ROW("0.9", "GET / HTTP/0.9\r\n" H "\r\n", 505),
    ROW("1.2", "GET / HTTP/1.2\r\n" H "\r\n", 505),
    ROW("2.0", "GET / HTTP/2.0\r\n" H "\r\n", 505),
    ROW("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ROW("lower-case version", "GET / http/1.1\r\n" H "\r\n", 400),
    ROW("version without dot", "GET / HTTP/11\r\n" H "\r\n", 400),
    ROW("version with two digits", "GET / HTTP/1.10\r\n" H "\r\n", 400),
    ROW("version of another protocol", "GET / ICY/1.1\r\n" H "\r\n", 400),
    ROW("other digits in the version", "GET / HTTP/1.:\r\n" H "\r\n", 400),
    /* line ends */
    ROW("bare LF behind the request line", "GET / HTTP/1.1\n" H "\r\n", 400),
    ROW("bare LF behind a header", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    ROW("bare LF for the empty line", GET "\n", 400),
    ROW("bare CR in a value", GET "X: a\rb\r\n\r\n", 400),
    ROW("bare CR hides a header", GET "X: a\rContent-Length: 5\r\n\r\n", 400),
    ROW("CR CR LF", GET "X: a\r\r\n\r\n", 400),
    ROW("CR in a name", GET "X\rY: a\r\n\r\n", 400),
    ROW("vertical tab in a value", GET "X: a\x0b\r\n\r\n", 400),
    ROW("form feed in front of a value",
        GET "X:\x0c"
            "a\r\n\r\n",
        400),
    /* header lines */
    ROW("folded with space", GET "X: a\r\n b\r\n\r\n", 400),
    ROW("folded with tab", GET "X: a\r\n\tb\r\n\r\n", 400),
    ROW("folded first line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ROW("space before the colon", GET "X : a\r\n\r\n", 400),
    ROW("tab before the colon", GET "X\t: a\r\n\r\n", 400),
    ROW("no colon", GET "Nothing\r\n\r\n", 400),
    ROW("empty name", GET ": a\r\n\r\n", 400),
    ROW("name with a slash", GET "A/B: a\r\n\r\n", 400),
    ROW("name with a quote", GET "\"A\": a\r\n\r\n", 400),
    ROW("name with a high byte", GET "X\xe9: a\r\n\r\n", 400),
    ROW("name with NUL", GET "X\0: a\r\n\r\n", 400),
    ROW("empty value", GET "X:\r\n\r\n", 0),
    ROW("value of white space", GET "X: \t \r\n\r\n", 0),
    ROW("value with a tab", GET "X: a\tb\r\n\r\n", 0),
    ROW("value in Latin-1", GET "X: caf\xe9\r\n\r\n", 0),
    ROW("NUL in a value", GET "X: a\0b\r\n\r\n", 400),
    ROW("escape in a value", GET "X: 0123456789\x1b[31m0123456789\r\n\r\n", 400),
    ROW("DEL in a value",
        GET "X: 0123456789\x7f"
            "0123456789\r\n\r\n",
        400),
    ROW("DEL at the end of a value", GET "X: a\x7f\r\n\r\n", 400),
    ROW("value with colons", GET "X: a:b:c\r\n\r\n", 0),
    /* Host */
    ROW("two hosts", GET "Host: b\r\n\r\n", 400),
    ROW("two equal hosts", GET "host: a\r\n\r\n", 400),
    ROW("two hosts in 1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ROW("empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    ROW("host with port", "GET / HTTP/1.1\r\nHost: a.example:8080\r\n\r\n", 0),
    ROW("host with underscore", "GET / HTTP/1.1\r\nHost: a_b:1\r\n\r\n", 0),
    ROW("IPv6 host", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 0),
    ROW("IPv6 host without port", "GET / HTTP/1.1\r\nHost: [2001:db8::7]\r\n\r\n", 0),
    ROW("IPv6 host unclosed", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400),
    ROW("IPv6 host with a zone", "GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n", 400),
    ROW("IPv6 host of nothing", "GET / HTTP/1.1\r\nHost: []\r\n\r\n", 400),
    ROW("IPv6 host and rest", "GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", 400),
    ROW("IPv6 host too long",
        "GET / HTTP/1.1\r\nHost: [0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]\r\n\r\n", 400),
    ROW("host list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    ROW("host with user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
    ROW("host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ROW("host with space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ROW("host with empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n", 400),
    ROW("host with port 0", "GET / HTTP/1.1\r\nHost: a:0\r\n\r\n", 400),
    ROW("host with port 65536", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400),
    ROW("host with letters for a port", "GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n", 400),
    ROW("host with sign in the port", "GET / HTTP/1.1\r\nHost: a:+80\r\n\r\n", 400),
    ROW("host of only a port", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", 400),
    /* framing */
    ROW("length", POST "Content-Length: 5\r\n\r\n", 0),
    ROW("length 0", POST "Content-Length: 0\r\n\r\n", 0),
    ROW("largest length", POST "Content-Length: 9223372036854775807\r\n\r\n", 0),
    ROW("length beyond 63 bits", POST "Content-Length: 9223372036854775808\r\n\r\n", 400),
    ROW("length beyond 64 bits", POST "Content-Length: 18446744073709551616\r\n\r\n", 400),
    ROW("length of many digits", POST "Content-Length: 111111111111111111111111111111\r\n\r\n", 400),
    ROW("negative length", POST "Content-Length: -1\r\n\r\n", 400),
    ROW("length with plus", POST "Content-Length: +5\r\n\r\n", 400),
    ROW("length in hex", POST "Content-Length: 0x5\r\n\r\n", 400),
    ROW("length with leading zero", POST "Content-Length: 010\r\n\r\n", 400),
    ROW("length with fraction", POST "Content-Length: 5.0\r\n\r\n", 400),
    ROW("length with inner space", POST "Content-Length: 1 0\r\n\r\n", 400),
    ROW("empty length", POST "Content-Length:\r\n\r\n", 400),
    ROW("list of lengths", POST "Content-Length: 5, 5\r\n\r\n", 400),
    ROW("two lengths", POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    ROW("two equal lengths", POST "Content-Length: 5\r\ncontent-length: 5\r\n\r\n", 400),
    ROW("chunked", POST "Transfer-Encoding: chunked\r\n\r\n", 0),
    ROW("chunked in capitals", POST "TRANSFER-ENCODING: CHUNKED\r\n\r\n", 0),
    ROW("length then chunked", POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ROW("chunked then length", POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400),
    ROW("chunked and length 0", POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400),
    ROW("chunked twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ROW("chunked in a list", POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 501),
    ROW("gzip and chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ROW("identity", POST "Transfer-Encoding: identity\r\n\r\n", 501),
    ROW("chunked with a parameter", POST "Transfer-Encoding: chunked;a=b\r\n\r\n", 501),
    ROW("quoted chunked", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 501),
    ROW("almost chunked", POST "Transfer-Encoding: xchunked\r\n\r\n", 501),
    ROW("empty transfer coding", POST "Transfer-Encoding:\r\n\r\n", 501),
    ROW("vertical tab chunked",
        POST "Transfer-Encoding: \x0b"
             "chunked\r\n\r\n",
        400),
    ROW("transfer coding behind a space", POST "Transfer-Encoding : chunked\r\n\r\n", 400),
    ROW("transfer coding on a folded line", POST "Transfer-Encoding:\r\n chunked\r\n\r\n", 501),
    ROW("chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    /* once only */
    ROW("two content types", POST "Content-Type: a/b\r\nContent-Type: c/d\r\n\r\n", 400),
    ROW("two authorizations", GET "Authorization: Bearer a\r\nAUTHORIZATION: Bearer b\r\n\r\n", 400),
    ROW("two origins", GET "Origin: http://a\r\nOrigin: http://b\r\n\r\n", 400),
    ROW("two sessions", GET "Mcp-Session-Id: a\r\nMCP-SESSION-ID: b\r\n\r\n", 400),
    ROW("two versions", GET "MCP-Protocol-Version: a\r\nX: y\r\nMcp-Protocol-Version: a\r\n\r\n", 400),
    ROW("two unknown mcp fields", GET "mcp-x: a\r\nmcp-y: b\r\nmcp-x: c\r\n\r\n", 400),
    ROW("different mcp fields", GET "Mcp-Session-Id: a\r\nMcp-Method: b\r\nMcp-Name: c\r\n\r\n", 0),
    ROW("two event ids", GET "Last-Event-ID: 1\r\nLast-Event-ID: 2\r\n\r\n", 400),
    ROW("two accepts are a list", GET "Accept: a/b\r\nAccept: c/d\r\n\r\n", 0),
    /* expectations */
    ROW("continue", POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n", 0),
    ROW("other expectation", POST "Expect: fish\r\n\r\n", 417),
    ROW("two expectations", POST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 400),
};

static const struct head_case response_cases[] = {
    ROW("plain", OK "\r\n", 0),
    ROW("no reason", "HTTP/1.1 200 \r\n\r\n", 0),
    ROW("no reason and no space", "HTTP/1.1 200\r\n\r\n", 0),
    ROW("long reason", "HTTP/1.0 404 Not really here\r\nServer: x\r\n\r\n", 0),
    ROW("reason in Latin-1", "HTTP/1.1 200 \xe9t\xe9\r\n\r\n", 0),
    ROW("continue", "HTTP/1.1 100 Continue\r\n\r\n", 0),
    ROW("early hints", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 0),
    ROW("switching protocols", "HTTP/1.1 101 Switching Protocols\r\n\r\n", 502),
    ROW("empty line in front", "\r\n" OK "\r\n", 502),
    ROW("no HTTP", "ICY 200 OK\r\n\r\n", 502),
    ROW("HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", 505),
    ROW("HTTP/2 without minor", "HTTP/2 200 OK\r\n\r\n", 400),
    ROW("two digits", "HTTP/1.1 20 OK\r\n\r\n", 502),
    ROW("four digits", "HTTP/1.1 2000 OK\r\n\r\n", 502),
    ROW("status 99", "HTTP/1.1 099 OK\r\n\r\n", 502),
    ROW("status 600", "HTTP/1.1 600 OK\r\n\r\n", 502),
    ROW("signed status", "HTTP/1.1 +20 OK\r\n\r\n", 502),
    ROW("letters for a status", "HTTP/1.1 2xx OK\r\n\r\n", 502),
    ROW("two spaces before the status", "HTTP/1.1  200 OK\r\n\r\n", 502),
    ROW("tab before the status", "HTTP/1.1\t200 OK\r\n\r\n", 502),
    ROW("tab behind the status", "HTTP/1.1 200\tOK\r\n\r\n", 502),
    ROW("NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n", 502),
    ROW("CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", 502),
    ROW("bare LF", "HTTP/1.1 200 OK\n\r\n", 400),
    ROW("folded", OK "A: b\r\n c\r\n\r\n", 400),
    ROW("space before the colon", OK "A : b\r\n\r\n", 400),
    ROW("two lengths", OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
    ROW("length and chunked", OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ROW("gzip", OK "Transfer-Encoding: gzip\r\n\r\n", 501),
    ROW("chunked in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ROW("two sessions", OK "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n\r\n", 400),
    ROW("two content types", OK "Content-Type: a/b\r\nContent-Type: c/d\r\n\r\n", 400),
    ROW("two cookies", OK "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n", 0),
    ROW("control byte in a value", OK "A: \x01\r\n\r\n", 400),
};

static int parse_exact(struct slice in, bool response, struct http_head *out) {
    char *copy = mem_alloc(in.len);
    memcpy(copy, in.ptr, in.len);
    const char *why = NULL;
    struct slice text = slice_of(copy, in.len);
    int got =
        response ? http_parse_response(text, HTTP_POST, out, &why) : http_parse_request(text, out, &why);
    assert_true(got >= 0 || why != NULL);
    free(copy);
    return got;
}

static void check_case(const struct head_case *c, bool response) {
    struct http_head whole, parts;
    int want = c->want ? -c->want : (int)c->in.len;
    int got = parse_exact(c->in, response, &whole);
    if (got != want)
        fail_msg("%s: %d instead of %d", c->name, got, want);
    for (size_t len = 0; len < c->in.len; len++) {
        got = parse_exact(slice_upto(c->in, len), response, &parts);
        if (got > 0 || (got < 0 && got != want))
            fail_msg("%s: %d after %zu bytes instead of 0 or %d", c->name, got, len, want);
        if (got < 0)
            return;
    }
}

static void test_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(request_cases); i++)
        check_case(&request_cases[i], false);
}

static void test_responses(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(response_cases); i++)
        check_case(&response_cases[i], true);
}

static const char *why_text;

static struct http_head *request(const char *text) {
    static struct http_head head;
    memset(&head, 0xa5, sizeof(head)); /* what is not set must not be read */
    assert_int_equal(http_parse_request(slice_str(text), &head, &why_text), strlen(text));
    return &head;
}

static struct http_head *response(enum http_method to, const char *text) {
    static struct http_head head;
    memset(&head, 0xa5, sizeof(head));
    assert_int_equal(http_parse_response(slice_str(text), to, &head, &why_text), strlen(text));
    return &head;
}

static void assert_slice(struct slice got, const char *want) {
    if (!slice_is(got, want))
        fail_msg("`%.*s` instead of `%s`", SLICE_FMT(got), want);
}

static void test_request_parts(void **state) {
    (void)state;
    struct http_head *h = request("\r\nPOST /mcp/x?a=1?b HTTP/1.1\r\nhOsT: \t a:1 \t\r\nX-Y:z\r\nEmpty: \r\n"
                                  "Content-Length: 12\r\n\r\n");
    assert_int_equal(h->method, HTTP_POST);
    assert_slice(h->method_text, "POST");
    assert_slice(h->target, "/mcp/x?a=1?b");
    assert_slice(h->path, "/mcp/x");
    assert_slice(h->query, "a=1?b");
    assert_int_equal(h->minor, 1);
    assert_int_equal(h->status, 0);
    assert_int_equal(h->count, 4);
    assert_slice(http_value(h, HTTP_FIELD_HOST), "a:1");
    assert_true(http_has(h, HTTP_FIELD_HOST) && !http_has(h, HTTP_FIELD_ORIGIN));
    assert_null(http_value(h, HTTP_FIELD_ORIGIN).ptr);
    assert_slice(http_value_of(h, SLICE("x-y")), "z");
    assert_slice(http_value_of(h, SLICE("EMPTY")), "");
    assert_non_null(http_value_of(h, SLICE("empty")).ptr);
    assert_null(http_value_of(h, SLICE("absent")).ptr);
    assert_int_equal(h->body, HTTP_BODY_LENGTH);
    assert_int_equal(h->body_len, 12);
    assert_true(h->keep_alive);
    assert_false(h->expect_continue);
}

static void test_request_ends_at_its_end(void **state) {
    (void)state;
    struct http_head h;
    struct slice two = SLICE(GET "\r\nGET /second HTTP/1.1\r\nBroken\n");
    assert_int_equal(http_parse_request(two, &h, &why_text), sizeof(GET "\r\n") - 1);
    assert_int_equal(h.head_len, sizeof(GET "\r\n") - 1);
    assert_slice(h.path, "/");
    assert_slice(h.query, "");
}

static void test_methods(void **state) {
    (void)state;
    static const char *const names[] = {"GET",     "HEAD",  "POST", "PUT", "DELETE",
                                        "OPTIONS", "PATCH", "get",  "PO"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s / HTTP/1.0\r\n\r\n", names[i]);
        assert_int_equal(request(text)->method, i < HTTP_OTHER ? i : HTTP_OTHER);
    }
}

static void test_request_bodies(void **state) {
    (void)state;
    assert_int_equal(request(GET "\r\n")->body, HTTP_BODY_NONE);
    assert_int_equal(request(POST "\r\n")->body, HTTP_BODY_NONE);
    assert_int_equal(request(POST "Content-Length: 0\r\n\r\n")->body, HTTP_BODY_NONE);
    assert_int_equal(request(GET "Content-Length: 7\r\n\r\n")->body, HTTP_BODY_LENGTH);
    assert_int_equal(request(POST "Transfer-Encoding: Chunked\r\n\r\n")->body, HTTP_BODY_CHUNKED);
}

static void test_keep_alive(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool keep;
    } cases[] = {
        {GET "\r\n", true},
        {GET "Connection: close\r\n\r\n", false},
        {GET "Connection: Close\r\n\r\n", false},
        {GET "Connection: keep-alive\r\n\r\n", true},
        {GET "Connection: x, \tclose ,y\r\n\r\n", false},
        {GET "Connection: keep-alive\r\nConnection: close\r\n\r\n", false},
        {GET "Connection: keep-alive, close\r\n\r\n", false},
        {GET "Connection: closed\r\n\r\n", true},
        {GET "Connection: ,,\r\n\r\n", true},
        {GET "Connection:\r\n\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive, x\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (request(cases[i].text)->keep_alive != cases[i].keep)
            fail_msg("%s", cases[i].text);
}

static void test_expect(void **state) {
    (void)state;
    assert_true(request(POST "Expect: 100-continue\r\n\r\n")->expect_continue);
    assert_false(request("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")->expect_continue);
    assert_false(request(POST "\r\n")->expect_continue);
}

static void test_response_parts(void **state) {
    (void)state;
    struct http_head *h =
        response(HTTP_POST, "HTTP/1.1 202 So be it\r\nMcp-Session-Id: x\r\nContent-Length: 3\r\n\r\n");
    assert_int_equal(h->status, 202);
    assert_slice(h->reason, "So be it");
    assert_int_equal(h->minor, 1);
    assert_slice(http_value(h, HTTP_FIELD_MCP_SESSION_ID), "x");
    assert_int_equal(h->body, HTTP_BODY_LENGTH);
    assert_int_equal(h->body_len, 3);
    assert_true(h->keep_alive);
    assert_slice(response(HTTP_GET, "HTTP/1.1 200\r\n\r\n")->reason, "");
}

static void test_response_bodies(void **state) {
    (void)state;
    static const struct {
        enum http_method to;
        const char *text;
        enum http_body body;
        bool keep;
    } cases[] = {
        {HTTP_POST, OK "\r\n", HTTP_BODY_CLOSE, false},
        {HTTP_POST, OK "Connection: keep-alive\r\n\r\n", HTTP_BODY_CLOSE, false},
        {HTTP_POST, OK "Content-Length: 0\r\n\r\n", HTTP_BODY_NONE, true},
        {HTTP_POST, OK "Content-Length: 4\r\n\r\n", HTTP_BODY_LENGTH, true},
        {HTTP_POST, OK "Content-Length: 4\r\nConnection: close\r\n\r\n", HTTP_BODY_LENGTH, false},
        {HTTP_POST, OK "Transfer-Encoding: chunked\r\n\r\n", HTTP_BODY_CHUNKED, true},
        {HTTP_HEAD, OK "\r\n", HTTP_BODY_NONE, true},
        {HTTP_HEAD, OK "Content-Length: 4\r\n\r\n", HTTP_BODY_NONE, true},
        {HTTP_HEAD, OK "Transfer-Encoding: chunked\r\n\r\n", HTTP_BODY_NONE, true},
        {HTTP_GET, "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", HTTP_BODY_NONE, true},
        {HTTP_GET, "HTTP/1.1 204 No Content\r\n\r\n", HTTP_BODY_NONE, true},
        {HTTP_GET, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", HTTP_BODY_NONE, true},
        {HTTP_GET, "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", HTTP_BODY_NONE, false},
        {HTTP_GET, "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BODY_NONE, false},
        {HTTP_GET, "HTTP/1.1 100 Continue\r\n\r\n", HTTP_BODY_NONE, true},
        {HTTP_GET, "HTTP/1.1 199 x\r\nContent-Length: 9\r\n\r\n", HTTP_BODY_NONE, false},
        {HTTP_GET, "HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\n", HTTP_BODY_LENGTH, false},
        {HTTP_GET, "HTTP/1.0 200 OK\r\nContent-Length: 9\r\nConnection: keep-alive\r\n\r\n", HTTP_BODY_LENGTH,
         true},
        {HTTP_GET, "HTTP/1.1 404 x\r\n\r\n", HTTP_BODY_CLOSE, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_head *h = response(cases[i].to, cases[i].text);
        if (h->body != cases[i].body || h->keep_alive != cases[i].keep)
            fail_msg("%s: body %d keep %d", cases[i].text, (int)h->body, h->keep_alive);
    }
}

/* ---- ceilings ---- */

static int parse_buf(const struct buf *b) {
    struct http_head h;
    assert_false(b->full);
    return http_parse_request(buf_slice(b), &h, &why_text);
}

static void put_fill(struct buf *b, char c, size_t count) {
    for (size_t i = 0; i < count; i++)
        buf_put_char(b, c);
}

static void test_line_ceiling(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        buf_init(&b, 1 << 20);
        buf_put_str(&b, "GET /");
        put_fill(&b, 'a', HTTP_LINE_MAX - strlen("GET / HTTP/1.1\r\n") + (size_t)over);
        buf_put_str(&b, " HTTP/1.1\r\n" H "\r\n");
        assert_int_equal(parse_buf(&b), over ? -414 : (int)b.len);
    }
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 20);
    put_fill(&b, 'a', HTTP_LINE_MAX);
    assert_int_equal(parse_buf(&b), 0);
    put_fill(&b, 'a', 1);
    assert_int_equal(parse_buf(&b), -414);
}

static void test_head_ceiling(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        buf_init(&b, 1 << 20);
        buf_put_str(&b, GET "X: ");
        put_fill(&b, 'a', HTTP_HEAD_MAX - b.len - 4 + (size_t)over);
        buf_put_str(&b, "\r\n\r\n");
        assert_int_equal(parse_buf(&b), over ? -431 : HTTP_HEAD_MAX);
    }
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 20);
    buf_put_str(&b, GET "X: ");
    put_fill(&b, 'a', HTTP_HEAD_MAX - b.len - 1);
    assert_int_equal(parse_buf(&b), 0);
    put_fill(&b, 'a', 1);
    assert_int_equal(parse_buf(&b), -431);
}

static void test_header_count_ceiling(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        buf_init(&b, 1 << 20);
        buf_put_str(&b, GET);
        for (int i = 1; i < HTTP_HEADERS_MAX + over; i++)
            buf_printf(&b, "Mcp-%d: x\r\n", i);
        buf_put_str(&b, "\r\n");
        assert_int_equal(parse_buf(&b), over ? -431 : (int)b.len);
    }
}

static void test_host_ceiling(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        buf_init(&b, 1 << 20);
        buf_put_str(&b, "GET / HTTP/1.1\r\nHost: ");
        put_fill(&b, 'a', HTTP_HOST_MAX + (size_t)over);
        buf_put_str(&b, ":1\r\n\r\n");
        assert_int_equal(parse_buf(&b), over ? -400 : (int)b.len);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_request_parts),
        cmocka_unit_test(test_request_ends_at_its_end),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_request_bodies),
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_expect),
        cmocka_unit_test(test_response_parts),
        cmocka_unit_test(test_response_bodies),
        cmocka_unit_test(test_line_ceiling),
        cmocka_unit_test(test_head_ceiling),
        cmocka_unit_test(test_header_count_ceiling),
        cmocka_unit_test(test_host_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
