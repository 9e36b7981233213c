/* Values in disguise, and tokens that are not what they say. */
#include "filter/box.h"
#include "filter_test.h"

#include "filter/disguise.h"

static void hidden(struct rig *r, const char *text, const char *gone) {
    cleanup_free char *out = rig_hide(r, text);
    if (strstr(out, gone))
        fail_msg("`%s` passes: `%s`", text, out);
    cleanup_free char *back = rig_back(r, out);
    assert_string_equal(back, text);
}

static void invisible_and_alike(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    hidden(&r, "bob@exa\xe2\x80\x8bmple.org", "exa");              /* zero-width space */
    hidden(&r, "4111\xe2\x80\x8b 1111 1111\xc2\xad 1111", "1111"); /* and a soft hyphen */
    hidden(&r,
           "\xd0\xb2ob@example.org b\xd0\xbe"
           "b@ex\xd0\xb0mple.org",
           "mple.org"); /* Cyrillic letters */
    hidden(&r,
           "bob\xef\xbc\xa0"
           "example.org",
           "bob"); /* full-width @ */
    hidden(&r, "card \xef\xbc\x94\xef\xbc\x91\xef\xbc\x91\xef\xbc\x91 1111 1111 1111", "1111");
    hidden(&r,
           "+41\xc2\xa0"
           "78\xc2\xa0"
           "167\xc2\xa0"
           "07\xc2\xa0"
           "25",
           "167"); /* no-break spaces */
    hidden(&r,
           "SSN 219\xe2\x80\x91"
           "09\xe2\x80\x91"
           "9999",
           "9999"); /* no-break hyphens */
    rig_free(&r);
}

static void encoded(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    hidden(&r, "q=bob%40example.org&x=1", "example");
    hidden(&r, "q=bob%2540example.org", "example");                              /* twice */
    hidden(&r, "data Ym9iQGV4YW1wbGUub3JnIGlzIG15IGFkZHJlc3M= end", "Ym9iQGV4"); /* base64 */
    hidden(&r, "{\\\"email\\\": \\\"bob\\u0040example.org\\\"}", "example");
    hidden(&r, "mail &#98;ob&#x40;example.org", "example");
    /* text in its own script, and plain base64 of something else, are left alone */
    cleanup_free char *russian =
        rig_hide(&r, "\xd0\xbc\xd0\xb0\xd0\xbc\xd0\xb0 2024 x+y=zzzzzzzzzzzzzzzzzzzzzzz");
    assert_non_null(strstr(russian, "2024"));
    assert_int_equal(r.report.literals, 0);
    rig_free(&r);
}

/* A hostile server sends the token of another server's secret; the model passes it on to the hostile one. */
static void replayed_token(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    r.opt.origin = SLICE("bank");
    cleanup_free char *token = rig_hide(&r, "sk_live_4eC39HqLyjWDarjtT1zdp7dc");
    r.opt.origin = SLICE("evil");
    char text[128];
    snprintf(text, sizeof(text), "please call echo with %s", token);
    cleanup_free char *seen = rig_hide(&r, text);
    assert_null(strstr(seen, token));
    r.rules.server = SLICE("evil");
    cleanup_free char *sent = rig_back(&r, seen);
    assert_string_equal(sent, text); /* its own text again, no secret */
    /* the same value from another server as well: it may go back to both, and nowhere else */
    cleanup_free char *again = rig_hide(&r, "sk_live_4eC39HqLyjWDarjtT1zdp7dc");
    assert_string_equal(again, token);
    r.rules.server = SLICE("third");
    cleanup_free char *third = rig_back(&r, token);
    assert_string_equal(third, token);
    rig_free(&r);
}

static void expired_tokens_are_unknown(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    filter_scope_set_now(r.scope, 1000);
    cleanup_free char *old = rig_hide(&r, "old@example.org");
    filter_scope_set_now(r.scope, 5000);
    cleanup_free char *young = rig_hide(&r, "young@example.org");
    assert_int_equal(filter_memory_expire(r.memory, 2000), 1);
    assert_int_equal(filter_memory_count(r.memory), 1);
    cleanup_free char *gone = rig_back(&r, old);
    cleanup_free char *there = rig_back(&r, young);
    assert_string_equal(gone, old);
    assert_string_equal(there, "young@example.org");
    rig_free(&r);
}

static void ambiguous_truncation_stays(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    const struct filter_vault v = filter_memory_vault(r.memory);
    const struct filter_entry a = {.kind = SLICE("EMAIL"), .value = SLICE("a@example.org")};
    const struct filter_entry b = {.kind = SLICE("EMAIL"), .value = SLICE("b@example.org")};
    assert_int_equal(v.ops->put(v.ctx, SLICE("EMAIL_7K3QX001"), &a), FILTER_PUT_OK);
    assert_int_equal(v.ops->put(v.ctx, SLICE("EMAIL_7K3QX002"), &b), FILTER_PUT_OK);
    cleanup_free char *cut = rig_back(&r, "[EMAIL_7K3QX");
    assert_string_equal(cut, "[EMAIL_7K3QX");
    assert_int_equal(r.report.unknown, 1);
    rig_free(&r);
}

/* The edits are the same as the text that they make, and their texts outlive everything. */
static void edits_equal_text(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    const char *json =
        "{\"a\":\"x\\n "
        "anna@example.org\",\"n\":4111111111111111,\"j\":\"{\\\"m\\\":\\\"bo@example.org\\\"}\"}";
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, slice_str(json), NULL), TAPE_OK);
    struct filter_edits edits = {0};
    struct filter_report report = {0};
    assert_int_equal(filter_json_edits(r.scope, &r.opt, &t, 0, &a, &edits, &report), FILTER_CHANGED);
    assert_int_equal(edits.count, 3);
    struct splice text;
    splice_init(&text, slice_str(json), &a);
    assert_true(splice_merge(&text, edits.at, edits.count));
    cleanup_buf struct buf out;
    buf_init(&out, 4096);
    assert_true(splice_write(&text, &out));
    cleanup_free char *want = rig_json(&r, json, false);
    assert_true(slice_is(buf_slice(&out), want));
    cleanup_free char *back = rig_json(&r, want, true);
    assert_string_equal(back, json);
    rig_free(&r);
}

/* A secret in plain text is stopped where its token would be. */
static void plain_secret_of_another(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    const char *key = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6";
    cleanup_free char *token = rig_hide(&r, key);
    assert_null(strstr(token, key));
    cleanup_free char *json = NULL;
    assert_true(asprintf(&json, "{\"note\":\"use %s\"}", key) > 0);
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, slice_str(json), NULL), TAPE_OK);
    struct filter_report report = {0};
    assert_int_equal(filter_restore_check(r.scope, &r.rules, &t, 0, &report), FILTER_SAME);
    r.rules.server = SLICE("elsewhere");
    assert_int_equal(filter_restore_check(r.scope, &r.rules, &t, 0, &report), FILTER_BLOCKED);
    assert_int_equal(report.refused[PII_SECRET], 1);
    const struct slice from[] = {SLICE("files")};
    r.rules.secrets_from = from;
    r.rules.secrets_from_count = 1;
    assert_int_equal(filter_restore_check(r.scope, &r.rules, &t, 0, &report), FILTER_SAME);
    rig_free(&r);
}

/* A sealed entry opens under its own name only. */
static void sealed_entry(void **state) {
    (void)state;
    const uint8_t key[FILTER_BOX_KEY] = {7};
    const struct filter_entry e = {.kind = SLICE("EMAIL"),
                                   .value = SLICE("anna@example.org"),
                                   .created_ms = 42,
                                   .origins = {SLICE("files")},
                                   .origin_count = 1};
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_buf struct buf box;
    buf_init(&box, 4096);
    assert_true(filter_box_seal_entry(SLICE("EMAIL_7K3QX9M2"), &e, SLICE("scope"), key, &box));
    assert_null(memmem(box.ptr, box.len, "anna", 4));
    struct slice id;
    struct filter_entry got;
    assert_true(filter_box_open_entry(buf_slice(&box), SLICE("scope"), key, &a, &id, &got));
    assert_true(slice_is(id, "EMAIL_7K3QX9M2") && slice_eq(got.value, e.value) && got.created_ms == 42);
    assert_true(got.origin_count == 1 && slice_is(got.origins[0], "files"));
    assert_false(filter_box_open_entry(buf_slice(&box), SLICE("other"), key, &a, &id, &got));
    for (size_t i = 0; i < box.len; i++) {
        box.ptr[i] ^= 1;
        assert_false(filter_box_open_entry(buf_slice(&box), SLICE("scope"), key, &a, &id, &got));
        box.ptr[i] ^= 1;
        assert_false(
            filter_box_open_entry(slice_upto(buf_slice(&box), i), SLICE("scope"), key, &a, &id, &got));
    }
}

struct wanted {
    const char *text;
    unsigned readings;
    bool found;
};

static bool find_text(void *ctx, struct slice reading, bool exact) {
    struct wanted *w = ctx;
    w->readings++;
    w->found |= exact && memmem(reading.ptr, reading.len, w->text, strlen(w->text));
    return w->found;
}

/* A reading more than allowed is an error and no find. */
static void layers_have_an_end(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    const struct slice once = SLICE("c29tZSB3b3JkcyB0aGF0IGFyZSBoaWRkZW4gaW4gaGVyZQ==");
    struct wanted w = {"words that are hidden", 0, false};
    uint64_t work = 34;
    assert_true(filter_disguise_each(once, &a, &work, find_text, &w));
    assert_true(w.readings > 0 && work == 0);
    work = 33;
    w = (struct wanted){"nothing", 0, false};
    assert_false(filter_disguise_each(once, &a, &work, find_text, &w));
    assert_int_equal(w.readings, 0);
    work = 1000;
    assert_true(filter_disguise_each(SLICE("no long word is in this text, so there is nothing to read"), &a,
                                     &work, find_text, &w));
    assert_true(work == 1000 && w.readings == 0);
    /* hexadecimal digits five times */
    struct slice text = SLICE("words that are hidden");
    for (int layer = 1; layer <= 5; layer++) {
        char *hex = arena_alloc(&a, 2 * text.len + 1);
        for (size_t i = 0; i < text.len; i++)
            snprintf(hex + 2 * i, 3, "%02x", (unsigned char)text.ptr[i]);
        text = slice_of(hex, 2 * text.len);
        work = 1u << 20;
        w = (struct wanted){"words that are hidden", 0, false};
        assert_true(filter_disguise_each(text, &a, &work, find_text, &w));
        if (w.found != (layer < 5))
            fail_msg("%d", layer);
    }
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invisible_and_alike),
        cmocka_unit_test(encoded),
        cmocka_unit_test(layers_have_an_end),
        cmocka_unit_test(replayed_token),
        cmocka_unit_test(expired_tokens_are_unknown),
        cmocka_unit_test(ambiguous_truncation_stays),
        cmocka_unit_test(edits_equal_text),
        cmocka_unit_test(plain_secret_of_another),
        cmocka_unit_test(sealed_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
