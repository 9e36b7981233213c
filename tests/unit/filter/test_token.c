#include "filter_test.h"

static void shape_and_stability(void **state) {
    (void)state;
    struct rig a, b;
    rig_init(&a, 1);
    rig_init(&b, 2);
    cleanup_free char *one = rig_hide(&a, "bob@example.org");
    cleanup_free char *again = rig_hide(&a, "bob@example.org");
    cleanup_free char *other = rig_hide(&b, "bob@example.org");
    assert_int_equal(strlen(one), strlen("[EMAIL_7K3QX9M2]"));
    assert_memory_equal(one, "[EMAIL_", 7);
    assert_int_equal(strspn(one + 7, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 8);
    assert_string_equal(one, again);
    assert_string_not_equal(one, other);
    /* another scope knows nothing of it */
    cleanup_free char *foreign = rig_back(&b, one);
    assert_string_equal(foreign, one);
    assert_int_equal(b.report.unknown, 1);
    rig_free(&a);
    rig_free(&b);
}

/* The names that Code Execution MCP has for two kinds are read as those kinds. */
static void other_names(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    cleanup_free char *token = rig_hide(&r, "192.168.7.9");
    char text[64];
    snprintf(text, sizeof(text), "at [IP_ADDRESS_%s now", token + 4);
    cleanup_free char *back = rig_back(&r, text);
    assert_string_equal(back, "at 192.168.7.9 now");
    cleanup_free char *plain = rig_back(&r, token);
    assert_string_equal(plain, "192.168.7.9");
    /* and what only looks like one is made harmless like any other token */
    cleanup_free char *foreign = rig_hide(&r, "see [API_KEY_7K3QX9M2] there");
    assert_non_null(strstr(foreign, "[LITERAL_"));
    rig_free(&r);
}

/* Spellings that a model makes of a token, as printf formats over its id; the value must be restored. */
static void mutations(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    cleanup_free char *token = rig_hide(&r, "bob@example.org");
    char id[32], chars[32], low[32], title[32];
    snprintf(id, sizeof(id), "%.*s", (int)strlen(token) - 2, token + 1);
    snprintf(chars, sizeof(chars), "%s", id + 6);
    for (size_t i = 0; i <= strlen(id); i++)
        low[i] = title[i] = (char)(id[i] >= 'A' && id[i] <= 'Z' ? id[i] + 32 : id[i]);
    title[0] = 'E';
    char texts[26][128];
    size_t n = 0;
    snprintf(texts[n++], 128, "%s", token);
    snprintf(texts[n++], 128, "[%s]", low);
    snprintf(texts[n++], 128, "[%s]", title);
    snprintf(texts[n++], 128, "%s", id);
    snprintf(texts[n++], 128, "%s", low);
    snprintf(texts[n++], 128, "[EMAIL\\_%s]", chars);
    snprintf(texts[n++], 128, "\\[EMAIL\\_%s\\]", chars);
    snprintf(texts[n++], 128, "`[%s]`", id);
    snprintf(texts[n++], 128, "**%s**", id);
    snprintf(texts[n++], 128, "*[%s]*", id);
    snprintf(texts[n++], 128, "[[%s]](mailto:[%s])", id, id);
    snprintf(texts[n++], 128, "<a href=\"mailto:%s\">", id);
    snprintf(texts[n++], 128, "&#91;EMAIL&#95;%s&#93;", chars);
    snprintf(texts[n++], 128, "%%5BEMAIL_%s%%5D", chars);
    snprintf(texts[n++], 128, "\\u005bEMAIL_%s\\u005d", chars);
    snprintf(texts[n++], 128, "[EMAIL %s]", chars);
    snprintf(texts[n++], 128, "[EMAIL-%s]", chars);
    snprintf(texts[n++], 128, "[EMAIL_%.4s\n%s]", chars, chars + 4);
    snprintf(texts[n++], 128, "[EMAIL_%.6s", chars);
    snprintf(texts[n++], 128, "\xef\xbc\xbb%s\xef\xbc\xbd", id);
    snprintf(texts[n++], 128, "\xe3\x80\x90%s\xe3\x80\x91", id);
    snprintf(texts[n++], 128, "{%s}", id);
    snprintf(texts[n++], 128, "<%s>", id);
    snprintf(texts[n++], 128, "(%s)", id);
    snprintf(texts[n++], 128, "[EMAIL_%.4s\xe2\x80\x8b%s]", chars, chars + 4);
    snprintf(texts[n++], 128, "\"%s\", %s.", id, id);
    for (size_t i = 0; i < n; i++) {
        cleanup_free char *back = rig_back(&r, texts[i]);
        if (!strstr(back, "bob@example.org") || strstr(back, chars))
            fail_msg("`%s` became `%s`", texts[i], back);
    }
    rig_free(&r);
}

/* A token with one wrong character is plain text, never the value of another token. */
static void never_a_wrong_value(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    for (int i = 0; i < 400; i++) {
        char mail[40];
        snprintf(mail, sizeof(mail), "user%d@example.org", i);
        free(rig_hide(&r, mail));
    }
    cleanup_free char *token = rig_hide(&r, "bob@example.org");
    for (size_t at = 7; at < 15; at++)
        for (size_t c = 0; c < 32; c++) {
            char text[32];
            snprintf(text, sizeof(text), "%s", token);
            if (text[at] == alphabet[c])
                continue;
            text[at] = alphabet[c];
            cleanup_free char *back = rig_back(&r, text);
            assert_string_equal(back, text);
        }
    for (size_t at = 7; at < 14; at++) { /* two neighbours changed places */
        char text[32];
        snprintf(text, sizeof(text), "%s", token);
        if (text[at] == text[at + 1])
            continue;
        text[at] = token[at + 1];
        text[at + 1] = token[at];
        cleanup_free char *back = rig_back(&r, text);
        assert_string_equal(back, text);
    }
    rig_free(&r);
}

static void outside_tokens_are_neutralised(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    cleanup_free char *mine = rig_hide(&r, "key ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    char bare[64];
    snprintf(bare, sizeof(bare), "%.*s", (int)strlen(mine) - 6, mine + 5);
    const char *const forms[] = {mine, bare, "[EMAIL_7K3QX9M2]", "mail [email_7k3qx9m2] x", "[SECRET_7K3QX"};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        cleanup_free char *hidden = rig_hide(&r, forms[i]);
        assert_non_null(strstr(hidden, "[LITERAL_"));
        assert_null(strstr(hidden, bare));
        cleanup_free char *back = rig_back(&r, hidden);
        assert_string_equal(back, forms[i]); /* the text, not the secret */
    }
    rig_free(&r);
}

static void secrets_go_home_only(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    r.opt.origin = SLICE("github");
    cleanup_free char *token = rig_hide(&r, "ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    r.rules.server = SLICE("evil");
    cleanup_free char *kept = rig_back(&r, token);
    assert_string_equal(kept, token);
    assert_int_equal(r.report.refused[PII_SECRET], 1);
    r.rules.server = SLICE("github");
    cleanup_free char *home = rig_back(&r, token);
    assert_string_equal(home, "ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    const struct slice from[] = {SLICE("github")};
    r.rules = (struct filter_rules){
        .server = SLICE("ci"), .kinds = UINT64_MAX, .secrets_from = from, .secrets_from_count = 1};
    cleanup_free char *friend = rig_back(&r, token);
    assert_string_equal(friend, "ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    r.rules.kinds = PII_BIT(PII_EMAIL);
    cleanup_free char *kind = rig_back(&r, token);
    assert_string_equal(kind, token);
    rig_free(&r);
}

/* A vault in which every short id belongs to another value: the token grows. */
static enum filter_put crowded_put(void *ctx, struct slice id, const struct filter_entry *e) {
    const struct filter_vault inner = filter_memory_vault(ctx);
    return id.len < strlen("EMAIL_") + 10 ? FILTER_PUT_TAKEN : inner.ops->put(inner.ctx, id, e);
}

static void collisions_make_longer_tokens(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    const struct filter_vault inner = filter_memory_vault(r.memory);
    const struct filter_vault_ops ops = {crowded_put, inner.ops->get, inner.ops->prefix};
    const uint8_t key[32] = {9};
    struct filter_scope *crowded = filter_scope_new(r.engine, key, (struct filter_vault){&ops, r.memory});
    struct filter_scope *usual = r.scope;
    r.scope = crowded;
    cleanup_free char *token = rig_hide(&r, "bob@example.org");
    assert_int_equal(strlen(token), strlen("[EMAIL_") + 10 + 1);
    cleanup_free char *back = rig_back(&r, token);
    assert_string_equal(back, "bob@example.org");
    r.scope = usual;
    filter_scope_free(crowded);
    rig_free(&r);
}

static void formats_are_kept_where_asked(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    r.opt.preserve = true;
    r.opt.modes[PII_URL] = FILTER_TOKENIZE;
    cleanup_free char *mail = rig_hide(&r, "bob@example.org");
    assert_memory_equal(mail, "tok-", 4);
    assert_string_equal(strchr(mail, '@'), "@pii.invalid");
    cleanup_free char *back = rig_back(&r, mail);
    assert_string_equal(back, "bob@example.org");
    cleanup_free char *url = rig_hide(&r, "https://example.org/secret/path");
    assert_memory_equal(url, "https://pii.invalid/tok-", 24);
    cleanup_free char *url_back = rig_back(&r, url);
    assert_string_equal(url_back, "https://example.org/secret/path");
    rig_free(&r);
}

static void addresses_and_days_are_kept(void **state) {
    (void)state;
    static const struct {
        const char *text, *starts;
        size_t len;
    } cases[] = {
        {"2a02:8388:1::7", "2001:db8:7069:", 38},
        {"198.51.100.7", "24", 0},
        {"203.0.113.9", "2", 0},
        {"dob: 1989-04-17", "dob: ", 15},
    };
    struct rig r;
    rig_init(&r, 1);
    r.opt.preserve = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup_free char *hidden = rig_hide(&r, cases[i].text);
        assert_string_not_equal(hidden, cases[i].text);
        assert_null(strchr(hidden, '['));
        assert_memory_equal(hidden, cases[i].starts, cases[i].starts[0] == '2' ? 1 : strlen(cases[i].starts));
        if (cases[i].len)
            assert_int_equal(strlen(hidden), cases[i].len);
        cleanup_free char *again = rig_hide(&r, cases[i].text);
        assert_string_equal(again, hidden);
        cleanup_free char *back = rig_back(&r, hidden);
        assert_string_equal(back, cases[i].text);
        /* from outside it is text like any other: it does not turn into the value */
        cleanup_free char *literal = rig_hide(&r, hidden);
        assert_string_not_equal(literal, hidden);
        cleanup_free char *unhidden = rig_back(&r, literal);
        assert_string_equal(unhidden, hidden);
    }
    rig_free(&r);
}

static void no_day_and_no_address_is_another(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    r.opt.preserve = true;
    char text[64];
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(text, sizeof(text), "dob: %u-%02u-%02u, ip 198.%u.%u.%u", 1930 + i % 70, 1 + i % 12,
                 1 + i % 28, 1 + i % 250, 1 + i / 250, 1 + i * 7 % 250);
        cleanup_free char *hidden = rig_hide(&r, text);
        assert_null(strstr(hidden, "ip 198."));
        cleanup_free char *back = rig_back(&r, hidden);
        assert_string_equal(back, text);
    }
    rig_free(&r);
}

/* Long texts are read in blocks: a token is found wherever in one it starts, and across two of them. */
static void found_at_every_place(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    static const char *const values[] = {"bob@example.org", "192.168.7.9", "+1 202-555-0143"};
    for (size_t v = 0; v < ARRAY_LEN(values); v++) {
        cleanup_free char *token = rig_hide(&r, values[v]);
        for (size_t before = 6; before <= 600; before++) {
            char text[700] = "", want[700] = "";
            memset(text, 'x', before);
            memset(want, 'x', before);
            static const char *const fronts[] = {" ", "\\n", "%20", "\\u0022"};
            const char *front = fronts[before % ARRAY_LEN(fronts)];
            memcpy(text + before - strlen(front), front, strlen(front));
            memcpy(want + before - strlen(front), front, strlen(front));
            snprintf(text + before, sizeof(text) - before, "%.*s 7 %s", (int)strlen(token) - 2, token + 1,
                     token);
            snprintf(want + before, sizeof(want) - before, "%s 7 %s", values[v], values[v]);
            cleanup_free char *back = rig_back(&r, text);
            assert_string_equal(back, want);
        }
    }
    rig_free(&r);
}

/* What restoring would find, a scan for tokens has to notice: without it the arguments are not read again.
 * And blocks find what the look at every byte does: a short text is read by the one, with blanks around it by
 * the other. */
static void noticed_when_it_can_be_found(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    static const char *const values[] = {"bob@example.org", "192.168.7.9", "+1 202-555-0143",
                                         "dob: 1989-04-17", "2a02:8388:1::7"};
    static const char *const others[] = {" ",
                                         "%5b",
                                         "\\u005b",
                                         "\\n",
                                         "%20",
                                         "&#91;",
                                         "]",
                                         "tok",
                                         "to",
                                         "Email_",
                                         "IP 240",
                                         "secret-",
                                         "data",
                                         "241.7.",
                                         "5312-01-1",
                                         "2001:db8:7069:",
                                         "\xe2\x80\x8b",
                                         "7",
                                         "api_key_",
                                         "url",
                                         "x",
                                         "\xc3\xa9"};
    char *parts[2 * ARRAY_LEN(values) + ARRAY_LEN(others)];
    size_t count = 0, found = 0;
    for (size_t i = 0; i < 2 * ARRAY_LEN(values); i++) {
        r.opt.preserve = i % 2;
        parts[count++] = rig_hide(&r, values[i / 2]);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        parts[count++] = mem_dup(others[i], strlen(others[i]));
    uint32_t seed = 7;
    for (unsigned round = 0; round < 40000; round++) {
        char padded[1024];
        size_t len = 0;
        memset(padded, ' ', sizeof(padded));
        const size_t before = 300 + round % 64;
        for (unsigned i = 0; i < 5; i++) {
            seed = seed * 1664525 + 1013904223;
            const char *part = parts[(seed >> 16) % count];
            const size_t most = strlen(part), cut = seed >> 8 & 3 ? most : (seed >> 10) % (most + 1);
            memcpy(padded + before + len, part, cut);
            len += cut;
        }
        struct token_match near, far;
        const bool is_there = filter_token_find(r.engine, slice_of(padded + before, len), 0, &near);
        const bool in_blocks = filter_token_find(r.engine, slice_of(padded, sizeof(padded)), 0, &far);
        assert_int_equal(is_there, in_blocks);
        if (is_there)
            assert_int_equal(near.start + before, far.start);
        for (unsigned whole = 0; whole < 2; whole++) {
            cleanup_pii_spans struct pii_spans s;
            pii_spans_init(&s);
            const struct slice text =
                whole ? slice_of(padded, sizeof(padded)) : slice_of(padded + before, len);
            pii_engine_scan(r.engine, &(struct pii_options){.tokens = true}, text, NULL, &s);
            assert_true(s.has_token || !is_there);
            for (uint32_t i = 0; i < s.count; i++)
                assert_int_not_equal(s.at[i].kind, PII_LITERAL);
        }
        found += is_there;
    }
    assert_true(found > 4000 && found < 39000);
    for (size_t i = 0; i < count; i++)
        free(parts[i]);
    rig_free(&r);
}

static void modes(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    filter_options_set(&r.opt, FILTER_REDACT);
    cleanup_free char *redacted = rig_hide(&r, "bob@example.org");
    assert_string_equal(redacted, "[EMAIL]");
    filter_options_set(&r.opt, FILTER_REPORT);
    r.report = (struct filter_report){0};
    cleanup_free char *left = rig_hide(&r, "bob@example.org");
    assert_string_equal(left, "bob@example.org");
    assert_int_equal(r.report.counts[PII_EMAIL], 1);
    r.opt.modes[PII_EMAIL] = FILTER_BLOCK;
    assert_null(rig_hide(&r, "bob@example.org"));
    filter_options_set(&r.opt, FILTER_OFF);
    assert_false(filter_wanted(&r.opt));
    assert_int_equal(filter_mode_from(SLICE("redact")), FILTER_REDACT);
    assert_int_equal(filter_mode_from(SLICE("mask")), -1);
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_and_stability),
        cmocka_unit_test(other_names),
        cmocka_unit_test(mutations),
        cmocka_unit_test(never_a_wrong_value),
        cmocka_unit_test(outside_tokens_are_neutralised),
        cmocka_unit_test(secrets_go_home_only),
        cmocka_unit_test(collisions_make_longer_tokens),
        cmocka_unit_test(formats_are_kept_where_asked),
        cmocka_unit_test(addresses_and_days_are_kept),
        cmocka_unit_test(no_day_and_no_address_is_another),
        cmocka_unit_test(found_at_every_place),
        cmocka_unit_test(noticed_when_it_can_be_found),
        cmocka_unit_test(modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
