#include "egress/egress_head.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define H "Host: x\r\n"

static void test_requests(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int status; /* 0: taken, whole */
        const char *host;
        uint16_t port;
    } rows[] = {
        {"CONNECT api.example.com:443 HTTP/1.1\r\n" H "\r\n", 0, "api.example.com", 443},
        {"CONNECT API.Example.com.:443 HTTP/1.0\r\n\r\n", 0, "api.example.com", 443},
        {"CONNECT [::1]:8443 HTTP/1.1\r\n" H "\r\n", 0, "::1", 8443},
        {"CONNECT 0x7f.1:80 HTTP/1.1\r\n" H "\r\n", 0, "127.0.0.1", 80},
        {"GET http://a.example/x?y HTTP/1.1\r\n" H "\r\n", 0, "a.example", 80},
        {"POST http://a.example:8080 HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n", 0, "a.example", 8080},
        {"CONNECT a.example HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"CONNECT a.example:443/ HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"CONNECT u@a.example:443 HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"CONNECT a.example:443 HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 400, NULL, 0},
        {"CONNECT ::1:443 HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"GET / HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"GET https://a.example/ HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"GET http://a.example/ HTTP/1.1 \r\n" H "\r\n", 400, NULL, 0},
        {"GET\thttp://a.example/ HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"GET http://a.example/ HTTP/1.1\r\n" H H "\r\n", 400, NULL, 0},
        {"GET http://a.example/\r\nX: http://b.example/ HTTP/1.1\r\n" H "\r\n", 400, NULL, 0},
        {"\r\n\r\n", 400, NULL, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct egress_head head;
        const char *why = "";
        const struct slice in = slice_str(rows[i].text);
        cleanup_arena struct arena a;
        arena_init(&a);
        const int got = egress_head_read(in, &a, &head, &why);
        if (got != (rows[i].status ? -rows[i].status : (int)in.len))
            fail_msg("%s: %d, %s", rows[i].text, got, why);
        if (!rows[i].status) {
            assert_true(slice_is(head.host, rows[i].host));
            assert_int_equal(head.port, rows[i].port);
        }
        for (size_t n = 0; got > 0 && n + 1 < in.len; n++)
            assert_int_equal(egress_head_read(slice_upto(in, n), &a, &head, &why), 0);
    }
}

static void test_what_is_sent(void **state) {
    (void)state;
    struct egress_head head;
    const char *why;
    cleanup_arena struct arena a;
    arena_init(&a);
    const struct slice in = SLICE(
        "POST http://a.example/p HTTP/1.0\r\nHost: other\r\nauthorization: mine\r\nProxy-Authorization: x\r\n"
        "Connection: keep-alive\r\nUpgrade: h2c\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\n");
    const struct slice added[] = {SLICE("Authorization: Bearer s"), SLICE("X-More: 2")};
    assert_int_equal(egress_head_read(in, &a, &head, &why), in.len);
    cleanup_buf struct buf out;
    buf_init(&out, HTTP_HEAD_MAX);
    egress_head_write(&head.http, head.target, egress_head_authority(head.host, head.port, 80, &a), added, 2,
                      &out);
    assert_true(slice_is(buf_slice(&out),
                         "POST /p HTTP/1.1\r\nHost: a.example\r\nX-Kept: 1\r\nContent-Length: 2\r\n"
                         "Authorization: Bearer s\r\nX-More: 2\r\nConnection: close\r\n\r\n"));
}

static void test_authority(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    assert_true(slice_is(egress_head_authority(SLICE("::1"), 443, 443, &a), "[::1]"));
    assert_true(slice_is(egress_head_authority(SLICE("::1"), 80, 443, &a), "[::1]:80"));
    assert_true(slice_is(egress_head_authority(SLICE("a"), 80, 80, &a), "a"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_requests), cmocka_unit_test(test_what_is_sent),
                                       cmocka_unit_test(test_authority)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
