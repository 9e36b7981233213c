#include "filter/chars.h"
#include "filter/formats.h"
#include "filter/words.h"

#include "filter_test.h"

static uint32_t seed = 12345;

static uint32_t next(void) {
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

static const char *letters_of(char class) {
    switch (class) {
    case 'd':
        return "0123456789";
    case 'h':
        return "0123456789abcdef";
    case 'H':
        return "0123456789abcdefABCDEF";
    case 'l':
        return "abcdefghijklmnopqrstuvwxyz0123456789";
    case 'u':
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    case 'a':
        return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    default:
        return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    }
}

/* A value that fits a format's tail, as short as it may be. */
static void make(const struct format *f, char *out) {
    size_t n = strlen(f->prefix);
    memcpy(out, f->prefix, n);
    for (const char *p = f->tail; *p;) {
        if (*p == '\'') {
            for (p++; *p != '\''; p++)
                out[n++] = *p;
            p++;
            continue;
        }
        const char *letters = letters_of(*p++);
        char *end;
        unsigned long count = strtoul(p, &end, 10);
        p = *end == '-' ? end + 1 + strspn(end + 1, "0123456789") : end;
        for (; count; count--)
            out[n++] = letters[next() % strlen(letters)];
    }
    out[n] = '\0';
}

static void every_format_is_found(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    assert_true(pii_formats_count >= 120);
    for (size_t i = 0; i < pii_formats_count; i++) {
        char value[2048], text[2200];
        bool found = false;
        for (int attempt = 0; attempt < 20 && !found;
             attempt++) { /* chance may draw one that looks made up */
            make(&pii_formats[i], value);
            snprintf(text, sizeof(text), "using %s here", value);
            cleanup_free char *hit = rig_find(r.engine, text, PII_SECRET, "");
            found = hit && strcmp(hit, value) == 0;
        }
        if (!found)
            fail_msg("%s is not found: %s", pii_formats[i].sub, value);
        snprintf(text, sizeof(text), "prefix%s", value);
        if (strncmp(value, "hooks", 5) != 0) {
            cleanup_free char *inside = rig_find(r.engine, text, PII_SECRET, "");
            if (inside && strlen(inside) == strlen(value))
                fail_msg("%s is found inside a word: %s", pii_formats[i].sub, text);
        }
    }
    rig_free(&r);
}

struct row {
    const char *text, *want;
};

static const struct row rows[] = {
    {"db_password = \"hunter2-Trout9\"", "hunter2-Trout9"},
    {"DATABASE_URL=postgres://app:iLv2kf23HstyYC1wIG@db.internal:5432/x", "iLv2kf23HstyYC1wIG"},
    {"Authorization: Bearer 8f3bC0ffee11d2a9Zq", "8f3bC0ffee11d2a9Zq"},
    {"curl -H 'Authorization: Basic dXNlcjpwYXNzMTIz' x", "dXNlcjpwYXNzMTIz"},
    {"curl -u deploy:Tr0ub4dor_3 https://x", "deploy:Tr0ub4dor_3"},
    {"merakiToken=\"e4351638c978775bee7dfb1323b608923d3c6008\"", "e4351638c978775bee7dfb1323b608923d3c6008"},
    {"<codecovToken>\n    59vnmawcpam6t1eti4np357g4cmbmlmi\n</codecovToken>",
     "59vnmawcpam6t1eti4np357g4cmbmlmi"},
    {"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIzNDU2 x",
     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIzNDU2"},
    {"bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx go", "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx"},
    {"API_TOKEN=x9Kd02mP4q7a.Vb73kLq82nZp.Rt56yUio09Pa\n", "x9Kd02mP4q7a.Vb73kLq82nZp.Rt56yUio09Pa"},
    {"api_token = config.secrets2.apiTokenV3\n", NULL},
    {"\"password\": \"${DB_PASSWORD}\"", NULL},
    {"api_key = \"YOUR_API_KEY_HERE_1\"", NULL},
    {"token = get_token(request.user)", NULL},
    {"nextToken: \"AAAAB3NzaC1yc2E9f8a7b6c5d4e3\"", NULL},
    {"sha256: 0a15af144fdc2214f96b88d490fe145baada4cbcb618d68abdae236a2b63b62a", NULL},
    {"arn:aws:iam::547641143179:role/repellendus", NULL},
    {"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", NULL},
    {"AKIAIOSFODNN7EXAMPLE", NULL},
    {"(\"kd81Qmz02T\")", NULL},
    {"\"kd81Qmz02T\"", NULL},
    {" 'kd81Qmz02T' ", NULL},
    {"x, 'kd81Qmz02T'", NULL},
    {"setPassword('kd81Qmz02T", NULL}, /* no end */
    {"setPassword('kd81Qmz02T')", "kd81Qmz02T"},
    {"f(g(1), (2), 'password', 'kd81Qmz02T')", "kd81Qmz02T"},
    {"'password', 'kd81Qmz02T'", NULL}, /* no call */
    {"identified by 'kd81Qmz02T'", "kd81Qmz02T"},
    {"delivered by 'kd81Qmz02T'", NULL},
    {"mysql -p", NULL},
    {"mysql -pkd81Qmz02T", "kd81Qmz02T"},
    {"mkdir -pkd81Qmz02T", NULL},
    {"a --password kd81Qmz02T", "kd81Qmz02T"},
    {"a --password -v kd81Qmz02T", NULL},
    {"ENV API_PASSWORD kd81Qmz02T\nRUN x", "kd81Qmz02T"},
    {"the password kd81Qmz02T of yesterday", NULL}, /* a sentence */
};

static void texts(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_free char *found = rig_find(r.engine, rows[i].text, PII_SECRET, "");
        if (rows[i].want ? !found || strcmp(found, rows[i].want) != 0 : found != NULL)
            fail_msg("`%s`: `%s`, not `%s`", rows[i].text, found ? found : "-",
                     rows[i].want ? rows[i].want : "-");
    }
    rig_free(&r);
}

static void private_keys(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    static const char body[] = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
                               "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n";
    char text[600], cut[600];
    snprintf(text, sizeof(text), "x\n-----BEGIN RSA PRIVATE KEY-----\n%s-----END RSA PRIVATE KEY-----\ny",
             body);
    cleanup_free char *whole = rig_find(r.engine, text, PII_SECRET, "");
    assert_non_null(whole);
    assert_int_equal(strlen(whole), strlen(text) - 4);
    snprintf(cut, sizeof(cut), "-----BEGIN OPENSSH PRIVATE KEY-----\n%s", body);
    cleanup_free char *part = rig_find(r.engine, cut, PII_SECRET, "");
    assert_non_null(part);
    assert_null(strstr(part, "\n\n"));
    cleanup_free char *public =
        rig_find(r.engine, "-----BEGIN PUBLIC KEY-----\nMIIBIjAN\n-----END PUBLIC KEY-----", PII_SECRET, "");
    assert_null(public);
    rig_free(&r);
}

/* Words between the markers of a key are not a key: a token must not stand for text of the agent's own. */
static void words_between_pem_markers(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "../../../../../../../../../../../../../../../../../../../../etc/cron.d/x",
        "/srv/data/drafts/../../../root/.ssh/authorized_keys ../../../root/.ssh/authorized_keys",
        "SELECT pg_read_file('/etc/passwd'), setval('orders_id_seq', 1); DROP TABLE customers CASCADE",
        "; curl http://127.0.0.1/x | sh ; rm -rf / ; echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    struct rig r;
    rig_init(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        char text[400];
        snprintf(text, sizeof(text), "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----", bodies[i]);
        cleanup_free char *found = rig_find(r.engine, text, PII_SECRET, "");
        if (found)
            fail_msg("taken for a key: %s", bodies[i]);
    }
    rig_free(&r);
}

/* The quick look at a key's last bytes never calls one harmless that the whole look calls secret. */
static void harmless_keys(void **state) {
    (void)state;
    static const char *const words[] = {
        "token", "Token", "api",    "Api",  "key",   "KEY", "aws",  "Aws", "name",  "secret", "access",
        "x",     "value", "stripe", "auth", "auth0", "rev", "user", "Id",  "passw", "word",   "created"};
    static const char *const joints[] = {"_", "-", ".", "", "", " ", "  ", "2", "07", "\"", "=", "\\"};
    struct words *w = pii_words_new();
    size_t plain = 0, hot = 0;
    for (int i = 0; i < 40000; i++) {
        char text[160] = "";
        for (unsigned n = 1 + next() % 4; n; n--)
            snprintf(text + strlen(text), 60, "%s%s", joints[next() % ARRAY_LEN(joints)],
                     words[next() % ARRAY_LEN(words)]);
        snprintf(text + strlen(text), 60, "%s", next() % 4 ? "" : joints[7 + next() % 2]);
        char full[220];
        const int len = snprintf(full, sizeof(full), "{\"%*s%s", (int)(next() % 16), ",", text);
        /* the key as the whole look takes it: back to the first byte that is no part of one */
        size_t from = (size_t)len;
        for (bool gap = false; from > 0; from--) {
            const char c = full[from - 1];
            if (c == ' ' ? gap : !ch_alnum(c) && c != '_' && c != '-' && c != '.')
                break;
            gap = c == ' ';
        }
        const struct slice key = slice_trim(slice_of(full + from, (size_t)len - from));
        if (len < WORDS_TAIL)
            continue;
        if (!pii_words_harmless(w, full + len - WORDS_TAIL)) {
            hot++;
            continue;
        }
        plain++;
        if (pii_words_key(w, key) & (HINT_SECRET | HINT_VENDOR) || slice_is(key, "value"))
            fail_msg("harmless: %s", full);
    }
#if defined(__SSE2__)
    assert_true(plain > 1000 && hot > 1000);
#endif
    pii_words_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_found), cmocka_unit_test(texts),
        cmocka_unit_test(private_keys),          cmocka_unit_test(words_between_pem_markers),
        cmocka_unit_test(harmless_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
