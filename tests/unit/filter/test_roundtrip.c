/* Random documents of things that matter, in text and in JSON: restore(tokenize(x)) is x. The number of
 * documents is small here; FILTER_ROUNDS raises it. */
#include "filter_test.h"

static uint32_t seed;

static uint32_t next(uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 9) % below;
}

static const char *const bits[] = {
    "bob@example.org",
    "+41 78 167 07 25",
    "4111 1111 1111 1111",
    "219-09-9999",
    "DE89370400440532013000",
    "192.0.2.17",
    "2001:db8::8:3ea5",
    "9d:cd:26:52:75:95",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "[EMAIL_7K3QX9M2]",
    "EMAIL_7K3QX",
    "[",
    "]",
    "\\",
    "\"",
    "_",
    " ",
    "\n",
    "EMAIL",
    "phone ",
    "SECRET_",
    "%5B",
    "%5D",
    "%40",
    "&#91;",
    "\\u005b",
    "x",
    "0",
    "dob: 1989-04-17",
    "password=hunter2-Tr9",
    "Ym9iQGV4YW1wbGUub3JnIGlzIG15IGFkZHJlc3M=",
    "bob%40example.org",
    "\xe2\x80\x8b",
    "\xd0\xbe",
    "\xc2\xa0",
    "{",
    "}",
    ":",
    ",",
    "IP-",
    "tok-7k3qx9m2@pii.invalid",
    "a,b\n1,2\n",
    "\t",
    "token: ",
    "[LITERAL_00000000]",
    "7K3QX9M2",
    "\xef\xbc\xbb",
    "**",
    "`",
    "@",
    "example.org",
    "@example.org",
    "41",
    "ssn ",
};

static void compose(struct buf *out, bool json) {
    for (uint32_t n = next(12) + 1; n; n--) {
        const struct slice bit = slice_str(bits[next(ARRAY_LEN(bits))]);
        if (!json) {
            buf_put_slice(out, bit);
            continue;
        }
        for (size_t i = 0; i < bit.len; i++) {
            const uint8_t c = (uint8_t)bit.ptr[i];
            if (c == '"' || c == '\\')
                buf_printf(out, "\\%c", c);
            else if (c < 0x20 || (c < 0x80 && next(16) == 0))
                buf_printf(out, "\\u%04x", c);
            else
                buf_put_char(out, (char)c);
        }
    }
}

static void compose_json(struct buf *out) {
    static const char *const keys[] = {"text", "phone", "card_number", "order_id", "password", "x", "dob"};
    buf_put_str(out, "[");
    for (uint32_t n = next(4) + 1; n; n--) {
        buf_printf(out, "{\"%s\": ", keys[next(ARRAY_LEN(keys))]);
        if (next(4) == 0) {
            buf_put_str(out, next(2) ? "4111111111111111" : "219099999");
        } else {
            buf_put_char(out, '"');
            compose(out, true);
            buf_put_char(out, '"');
        }
        buf_put_str(out, n > 1 ? "}," : "}");
    }
    buf_put_str(out, "]");
}

static void documents(void **state) {
    (void)state;
    const char *rounds = getenv("FILTER_ROUNDS");
    const unsigned long count = rounds ? strtoul(rounds, NULL, 10) : 20000;
    struct rig r;
    rig_init(&r, 1);
    for (unsigned long i = 0; i < count; i++) {
        if (i % 20000 == 19999) { /* a fresh vault before the old one is full */
            rig_free(&r);
            rig_init(&r, 1);
        }
        cleanup_buf struct buf doc;
        buf_init(&doc, 1 << 20);
        seed = (uint32_t)i * 2654435761u + 1;
        const bool json = i % 2;
        r.opt.preserve = i % 3 == 0;
        json ? compose_json(&doc) : compose(&doc, false);
        buf_put_char(&doc, '\0');
        cleanup_free char *hidden = json ? rig_json(&r, doc.ptr, false) : rig_hide(&r, doc.ptr);
        assert_non_null(hidden);
        cleanup_free char *back = json ? rig_json(&r, hidden, true) : rig_back(&r, hidden);
        if (strcmp(back, doc.ptr) != 0)
            fail_msg("document %lu\n%s\nbecame\n%s\nand came back as\n%s", i, doc.ptr, hidden, back);
    }
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(documents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
