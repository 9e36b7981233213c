/* What stands in heads and behind them: header values, queries, chunked bodies, URLs. */
#include "base/mem.h"
#include "wire/http.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *why_text;

static void assert_slice(struct slice got, const char *want) {
    if (!slice_is(got, want))
        fail_msg("`%.*s` instead of `%s`", SLICE_FMT(got), want);
}

static void put_fill(struct buf *b, char c, size_t count) {
    for (size_t i = 0; i < count; i++)
        buf_put_char(b, c);
}

/* ---- values ---- */

static void test_accepts(void **state) {
    (void)state;
    static const struct {
        const char *accept;
        const char *type;
        bool want;
    } cases[] = {
        {"", "application/json", true},
        {"*/*", "application/json", true},
        {"application/json", "application/json", true},
        {"Application/JSON", "application/json", true},
        {"application/json, text/event-stream", "text/event-stream", true},
        {"application/json,text/event-stream", "text/event-stream", true},
        {"application/json", "text/event-stream", false},
        {"text/*", "text/event-stream", true},
        {"TEXT/*", "text/event-stream", true},
        {"tex/*", "text/event-stream", false},
        {"text/*", "application/json", false},
        {"application/json;q=0", "application/json", false},
        {"application/json; q=0.000", "application/json", false},
        {"application/json; Q=0.001", "application/json", true},
        {"*/*;q=0.1, application/json;q=0", "application/json", false},
        {"*/*;q=0, application/json", "application/json", true},
        {"*/*;q=0", "application/json", false},
        {"text/*;q=0, text/event-stream;q=0.5", "text/event-stream", true},
        {"text/event-stream;q=0, text/*", "text/event-stream", false},
        {"application/json;charset=utf-8", "application/json", true},
        {"a/b;x=\"1,application/json\"", "application/json", false},
        {"a/b;x=\"\\\",application/json\"", "application/json", false},
        {"a/b;x=\"y\", application/json", "application/json", true},
        {"application/jsonx", "application/json", false},
        {"application", "application/json", false},
        {"garbage;;;,,, application/json", "application/json", true},
        {"*", "application/json", false},
        {";q=0,application/json", "application/json", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (http_accepts(slice_str(cases[i].accept), slice_str(cases[i].type)) != cases[i].want)
            fail_msg("%s for %s", cases[i].accept, cases[i].type);
    assert_true(http_accepts((struct slice){0}, SLICE("a/b")));
}

static void test_media_is(void **state) {
    (void)state;
    struct slice json = SLICE("application/json");
    assert_true(http_media_is(SLICE("application/json"), json));
    assert_true(http_media_is(SLICE("Application/Json; charset=utf-8"), json));
    assert_true(http_media_is(SLICE("application/json \t;x"), json));
    assert_false(http_media_is(SLICE("application/json2"), json));
    assert_false(http_media_is(SLICE("application/jso"), json));
    assert_false(http_media_is(SLICE("text/plain;application/json"), json));
    assert_false(http_media_is((struct slice){0}, json));
}

static void test_value_and_token_ok(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++) {
        bool fine = c == '\t' || (c >= 0x20 && c != 0x7f);
        for (size_t at = 0; at < 17; at++) { /* at every place of a word and behind the last whole one */
            char text[17];
            memset(text, at % 2 ? 'x' : 0xff, sizeof(text));
            text[at] = (char)c;
            assert_int_equal(http_value_ok(slice_of(text, sizeof(text))), fine);
        }
        char one = (char)c;
        bool token = c > 0x20 && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
        assert_int_equal(http_token_ok(slice_of(&one, 1)), token);
    }
    assert_true(http_value_ok((struct slice){0}));
    assert_false(http_token_ok((struct slice){0}));
    assert_false(http_token_ok(SLICE("a b")));
}

static void test_reason(void **state) {
    (void)state;
    assert_string_equal(http_reason(200), "OK");
    assert_string_equal(http_reason(431), "Request Header Fields Too Large");
    assert_string_equal(http_reason(299), "Unknown");
}

static void test_query_get(void **state) {
    (void)state;
    static const struct {
        const char *query;
        const char *name;
        const char *want; /* NULL: not there */
    } cases[] = {
        {"a=1", "a", "1"},
        {"a=1&b=2", "b", "2"},
        {"a=1&b=2", "c", NULL},
        {"", "a", NULL},
        {"&&a=1&", "a", "1"},
        {"a", "a", ""},
        {"a=", "a", ""},
        {"a=b=c", "a", "b=c"},
        {"a=x+y%20z", "a", "x y z"},
        {"a=%C3%a9", "a", "\xc3\xa9"},
        {"%61=1", "a", "1"},
        {"a+b=1", "a b", "1"},
        {"ab=1", "a", NULL},
        {"a=1", "ab", NULL},
        {"a=%", "a", NULL},
        {"a=%2", "a", NULL},
        {"a=%zz", "a", NULL},
        {"a=%2g", "a", NULL},
        {"a=%00", "a", NULL},
        {"a=1&a=2", "a", NULL},
        {"a=1&%61=2", "a", NULL},
        {"b=%zz&a=1", "a", "1"},
        {"%=1&a=2", "a", "2"},
        {"a=0123456789abcdef0123456789abcdef0", "a", NULL}, /* over the buffer's ceiling */
        {"=x", "", "x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup_buf struct buf out;
        buf_init(&out, 32);
        buf_put_str(&out, "old");
        bool got = http_query_get(slice_str(cases[i].query), slice_str(cases[i].name), &out);
        if (got != (cases[i].want != NULL) || (got && !slice_is(buf_slice(&out), cases[i].want)))
            fail_msg("%s of %s", cases[i].name, cases[i].query);
    }
}

static void test_query_parameters_one_by_one(void **state) {
    (void)state;
    struct slice query = SLICE("&a=1&&%61=b%3D=&c&=x&"), name, value;
    const char *want[][2] = {{"a", "1"}, {"%61", "b%3D="}, {"c", ""}, {"", "x"}};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_true(http_query_next(&query, &name, &value));
        assert_true(slice_is(name, want[i][0]) && slice_is(value, want[i][1]));
    }
    assert_false(http_query_next(&query, &name, &value));
    cleanup_buf struct buf out;
    buf_init(&out, 32);
    assert_true(http_query_decode(SLICE("b%3D+="), &out));
    assert_true(slice_is(buf_slice(&out), "b= ="));
    assert_false(http_query_decode(SLICE("%00"), &out));
    assert_false(http_query_decode(SLICE("%4"), &out));
}

/* ---- chunked ---- */

struct chunk_case {
    const char *name;
    struct slice in;
    enum http_step want;
    const char *body;
    size_t rest; /* bytes behind the end that are not ours */
};

#define CHUNKS(name, text, step, body, rest)                                                                 \
    { name, {text, sizeof(text) - 1}, step, body, rest }

static const struct chunk_case chunk_cases[] = {
    CHUNKS("empty", "0\r\n\r\n", HTTP_DONE, "", 0),
    CHUNKS("one", "5\r\nhello\r\n0\r\n\r\n", HTTP_DONE, "hello", 0),
    CHUNKS("two", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", HTTP_DONE, "hello world", 0),
    CHUNKS("hex of both cases", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", HTTP_DONE,
           "01234567890123456789a", 0),
    CHUNKS("leading zeros", "0005\r\nhello\r\n000\r\n\r\n", HTTP_DONE, "hello", 0),
    CHUNKS("extension", "5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n", HTTP_DONE, "hello", 0),
    CHUNKS("trailer", "0\r\nA: b\r\nC:d\r\n\r\n", HTTP_DONE, "", 0),
    CHUNKS("what follows stays", "0\r\n\r\nGET /", HTTP_DONE, "", 5),
    CHUNKS("line ends in the data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", HTTP_DONE, "\r\n\r\n", 0),
    CHUNKS("unfinished data", "5\r\nhel", HTTP_MORE, "hel", 0),
    CHUNKS("unfinished end", "0\r\n\r", HTTP_MORE, "", 0),
    CHUNKS("no size", "\r\n\r\n", HTTP_BAD, "", 0),
    CHUNKS("space before the size", " 5\r\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("space behind the size", "5 \r\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("signed size", "-5\r\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("plus size", "+5\r\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("0x size", "0x5\r\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("size with LF only", "5\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("size with CR only", "5\rhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("LF in the extension", "5;a\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("NUL in the extension", "5;\0\r\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("size too large", "8000000000000000\r\n", HTTP_BAD, "", 0),
    CHUNKS("size of many digits", "10000000000000005\r\nhello\r\n", HTTP_BAD, "", 0),
    CHUNKS("largest size", "7fffffffffffffff\r\nab", HTTP_MORE, "ab", 0),
    CHUNKS("data longer than said", "3\r\nhello\r\n", HTTP_BAD, "hel", 0),
    CHUNKS("no line end behind the data", "5\r\nhello0\r\n\r\n", HTTP_BAD, "hello", 0),
    CHUNKS("LF only behind the data", "5\r\nhello\n0\r\n\r\n", HTTP_BAD, "hello", 0),
    CHUNKS("LF only at the end", "0\r\n\n", HTTP_BAD, "", 0),
    CHUNKS("CR and no LF at the end", "0\r\n\rX", HTTP_BAD, "", 0),
    CHUNKS("trailer without colon", "0\r\nabc\r\n\r\n", HTTP_BAD, "", 0),
    CHUNKS("trailer with folded line", "0\r\nA: b\r\n c\r\n\r\n", HTTP_BAD, "", 0),
    CHUNKS("trailer with LF", "0\r\nA: b\n\r\n", HTTP_BAD, "", 0),
    CHUNKS("trailer with control byte", "0\r\nA: \x01\r\n\r\n", HTTP_BAD, "", 0),
};

/* Decodes in place, `step` bytes at a time, moving the body together at the front. */
static enum http_step decode_by(struct slice in, size_t step, char *to, size_t *ret_len, size_t *ret_rest) {
    struct http_chunked c;
    http_chunked_init(&c);
    size_t at = 0, len = 0;
    enum http_step got = HTTP_MORE;
    memcpy(to, in.ptr, in.len);
    while (at < in.len && got == HTTP_MORE) {
        size_t part = step < in.len - at ? step : in.len - at, used, made;
        got = http_chunked_decode(&c, to + at, part, to + len, &used, &made);
        assert_true(got != HTTP_MORE || used == part);
        at += used;
        len += made;
    }
    *ret_len = len;
    *ret_rest = in.len - at;
    return got;
}

static void test_chunked(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(chunk_cases); i++) {
        const struct chunk_case *c = &chunk_cases[i];
        for (size_t step = 1; step <= c->in.len; step++) {
            cleanup_free char *to = mem_alloc(c->in.len);
            size_t len, rest;
            enum http_step got = decode_by(c->in, step, to, &len, &rest);
            if (got != c->want || !slice_is(slice_of(to, len), c->body) ||
                (got == HTTP_DONE && rest != c->rest))
                fail_msg("%s by %zu: step %d, body `%.*s`, rest %zu", c->name, step, (int)got, (int)len, to,
                         rest);
        }
    }
}

static enum http_step decode_all(const struct buf *b) {
    struct http_chunked c;
    size_t used, made;
    char none[1];
    http_chunked_init(&c);
    return http_chunked_decode(&c, b->ptr, b->len, none, &used, &made);
}

static void test_chunked_ceilings(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf size, extension, trailer;
        buf_init(&size, 1 << 20);
        buf_init(&extension, 1 << 20);
        buf_init(&trailer, 1 << 20);
        put_fill(&size, '0', HTTP_CHUNK_LINE_MAX - 1 + (size_t)over);
        buf_put_str(&size, "\r\n\r\n");
        assert_int_equal(decode_all(&size), over ? HTTP_BAD : HTTP_DONE);
        buf_put_str(&extension, "0;");
        put_fill(&extension, 'a', HTTP_CHUNK_LINE_MAX - 2 + (size_t)over);
        buf_put_str(&extension, "\r\n\r\n");
        assert_int_equal(decode_all(&extension), over ? HTTP_BAD : HTTP_DONE);
        buf_put_str(&trailer, "0\r\nA:");
        put_fill(&trailer, 'b', HTTP_TRAILER_MAX - strlen("A:\r\n\r") + (size_t)over);
        buf_put_str(&trailer, "\r\n\r\n");
        assert_int_equal(decode_all(&trailer), over ? HTTP_BAD : HTTP_DONE);
    }
}

static void test_chunked_stays_ended(void **state) {
    (void)state;
    struct http_chunked c;
    size_t used, made;
    char to[8];
    http_chunked_init(&c);
    assert_int_equal(http_chunked_decode(&c, "0\r\n\r\n", 5, to, &used, &made), HTTP_DONE);
    assert_int_equal(http_chunked_decode(&c, "5\r\n", 3, to, &used, &made), HTTP_DONE);
    assert_int_equal(used, 0);
    http_chunked_init(&c);
    assert_int_equal(http_chunked_decode(&c, "x", 1, to, &used, &made), HTTP_BAD);
    assert_int_equal(http_chunked_decode(&c, "0\r\n\r\n", 5, to, &used, &made), HTTP_BAD);
}

/* ---- URLs ---- */

static void test_urls(void **state) {
    (void)state;
    static const struct {
        const char *url;
        bool tls;
        const char *host;
        int port;
        const char *target;
        const char *authority;
    } cases[] = {
        {"http://a", false, "a", 80, "/", "a"},
        {"https://a", true, "a", 443, "/", "a"},
        {"HTTPS://A.Example:8443/x?y=z#frag", true, "A.Example", 8443, "/x?y=z", "A.Example:8443"},
        {"http://127.0.0.1:3000/mcp", false, "127.0.0.1", 3000, "/mcp", "127.0.0.1:3000"},
        {"http://[::1]:3000/mcp", false, "::1", 3000, "/mcp", "[::1]:3000"},
        {"http://[2001:db8::1]", false, "2001:db8::1", 80, "/", "[2001:db8::1]"},
        {"http://[::ffff:127.0.0.1]/", false, "::ffff:127.0.0.1", 80, "/", "[::ffff:127.0.0.1]"},
        {"http://a_b.c-d:65535/", false, "a_b.c-d", 65535, "/", "a_b.c-d:65535"},
        {"http://a#b", false, "a", 80, "/", "a"},
        {"http://a/?#b", false, "a", 80, "/?", "a"},
        {"http://a/b@c", false, "a", 80, "/b@c", "a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_url u;
        if (http_parse_url(slice_str(cases[i].url), &u, &why_text) < 0)
            fail_msg("%s: %s", cases[i].url, why_text);
        assert_int_equal(u.tls, cases[i].tls);
        assert_slice(u.host, cases[i].host);
        assert_int_equal(u.port, cases[i].port);
        assert_slice(u.target, cases[i].target);
        assert_slice(u.authority, cases[i].authority);
        assert_int_equal(u.ipv6, strchr(cases[i].host, ':') != NULL);
    }
}

static void test_urls_refused(void **state) {
    (void)state;
    static const char *const urls[] = {
        "",
        "a",
        "/mcp",
        "http:",
        "http:/a",
        "http:a",
        "http://",
        "http:///x",
        "ftp://a",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "://a",
        "http://u@a",
        "http://u:p@a/",
        "http://a:0/",
        "http://a:/",
        "http://a:65536/",
        "http://a:99999999999999999999/",
        "http://a:1x/",
        "http://a:-1/",
        "http://a:8 0/",
        "http://a b/",
        "http://a?x=1",
        "http://a/ b",
        "http://a/\r\nX: y",
        "http://a\r\n/",
        "http://a\\b/",
        "http://a/\\b",
        "http://a%62/",
        "http://\xc3\xa9/",
        "http://a/\xc3\xa9",
        "http://[::1",
        "http://[::1]x/",
        "http://[::1]:/",
        "http://[::g]/",
        "http://[]/",
        "http://[fe80::1%25lo]/",
        "http://::1/",
        "http://[1.2.3.4]/",
        " http://a",
        "http://a/\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct http_url u = {.port = 7};
        if (http_parse_url(slice_str(urls[i]), &u, &why_text) == 0)
            fail_msg("%s was taken", urls[i]);
        assert_int_equal(u.port, 7);
    }
    cleanup_buf struct buf b;
    struct http_url u;
    buf_init(&b, 1 << 20);
    buf_put_str(&b, "http://a/");
    put_fill(&b, 'a', HTTP_LINE_MAX);
    assert_int_equal(http_parse_url(buf_slice(&b), &u, &why_text), -1);
}

static void test_same_origin(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"https://a.example/x", "https://A.Example:443/y?z", true},
        {"https://a.example/x", "https://a.example:444/x", false},
        {"https://a.example/x", "http://a.example:443/x", false},
        {"https://a.example/x", "https://b.example/x", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_url a, b;
        const char *why;
        assert_int_equal(http_parse_url(slice_str(cases[i].a), &a, &why), 0);
        assert_int_equal(http_parse_url(slice_str(cases[i].b), &b, &why), 0);
        assert_int_equal(http_is_same_origin(&a, &b), cases[i].same);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_media_is),
        cmocka_unit_test(test_value_and_token_ok),
        cmocka_unit_test(test_reason),
        cmocka_unit_test(test_query_get),
        cmocka_unit_test(test_query_parameters_one_by_one),
        cmocka_unit_test(test_chunked),
        cmocka_unit_test(test_chunked_ceilings),
        cmocka_unit_test(test_chunked_stays_ended),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_urls_refused),
        cmocka_unit_test(test_same_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
