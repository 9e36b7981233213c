#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/mask.h"

static void shows_where_a_url_leads_and_no_credential(void **state) {
    (void)state;
    static const struct {
        const char *url, *shown;
    } rows[] = {
        {"https://mcp.example.com/mcp", "https://mcp.example.com/mcp"},
        {"https://mcp.example.com", "https://mcp.example.com"},
        {"https://user:pw@a.example/mcp", "https://***@a.example/mcp"},
        {"https://user@b:pw@a.example/mcp", "https://***@a.example/mcp"},
        {"https://a.example/?key=v&b=&c", "https://a.example/?key=***&b=***&***"},
        {"wss://a.example?sk_live_1", "wss://a.example?***"},
        {"https://a.example/mcp?a=b=c#key=v", "https://a.example/mcp?a=***"},
        {"https://a.example/s/aB3dE5fG7hJ9kL1mN3pQ/mcp", "https://a.example/s/***/mcp"},
        {"https://a.example/a-long-name-without-digits/", "https://a.example/a-long-name-without-digits/"},
        {"postgres://u:p@db/x", "postgres://***@db/x"},
        {"https://u:p/w@db/x", "https://***"},
        {"https://u:p?w@db/x", "https://***"},
        {"https://a.example:8080/@scope/x", "https://a.example:8080/@scope/x"},
        {"https://[::1]:8/x", "https://[::1]:8/x"},
        {"://", "://"},
        {"no url", "no url"},
        {"", ""},
    };
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice shown = mask_url(slice_str(rows[i].url), &a);
        if (!slice_is(shown, rows[i].shown))
            fail_msg("%s is shown as %.*s", rows[i].url, SLICE_FMT(shown));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shows_where_a_url_leads_and_no_credential)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
