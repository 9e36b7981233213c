/* Which webhooks may be started. Delivery is tested end to end (tests/e2e/admin). */
#include "approval/webhook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "0123456789abcdef0123456789abcdef"

static void test_good_ones(void **state) {
    (void)state;
    static const struct webhook_config good[] = {
        {0},
        {.secret = SECRET},
        {.url = "https://hooks.example.com/x", .secret = SECRET},
        {.url = "http://127.0.0.1:9000/", .secret = SECRET},
        {.url = "http://localhost:9000/", .secret = SECRET},
        {.url = "https://hooks.slack.com/services/T/B/x", .slack = true},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct err err = {0};
        if (webhook_check(&good[i], &err) < 0)
            fail_msg("%zu: %s", i, err.text);
    }
}

static void test_refused_ones(void **state) {
    (void)state;
    static const struct {
        struct webhook_config config;
        const char *why;
    } bad[] = {
        {{.url = "https://hooks.example.com/x"}, "needs a secret"},
        {{.url = "https://hooks.example.com/x", .secret = "short"}, "at least"},
        {{.secret = ""}, "at least"},
        {{.url = "http://hooks.example.com/x", .secret = SECRET}, "only https"},
        {{.url = "http://127.0.0.1.example.com/", .secret = SECRET}, "only https"},
        {{.url = "http://hooks.slack.com/x", .slack = true}, "only https"},
        {{.url = "ftp://127.0.0.1/", .secret = SECRET}, "only https"},
        {{.url = "", .secret = SECRET}, "only https"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct err err = {0};
        int rc = webhook_check(&bad[i].config, &err);
        if (rc == 0 || !strstr(err.text, bad[i].why))
            fail_msg("%zu: %s", i, rc == 0 ? "it was taken" : err.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_ones),
        cmocka_unit_test(test_refused_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
