#include "risk/catalogue.h"

#include "base/clock.h"
#include "io/file.h"
#include "risk/catalogue_file.h"
#include "risk/catalogue_place.h"
#include "risk/lookalike.h"
#include "risk/trust.h"
#include "risk_test.h"

#include <stdlib.h>

static char home[] = "/tmp/catalogue-test-XXXXXX";

static bool find_home(char ret_path[PATH_MAX]) {
    snprintf(ret_path, PATH_MAX, "%s", home);
    return true;
}

static void hash_of(uint64_t head, uint8_t hash[RISK_HASH_BYTES]) {
    memset(hash, 0, RISK_HASH_BYTES);
    for (int i = 0; i < 8; i++)
        hash[i] = (uint8_t)(head >> (56 - 8 * i));
}

static void every_row_is_found(void **state) {
    (void)state;
    assert_true(risk_catalogue_count() > 3000);
    assert_true(risk_catalogue_names() > 100);
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        struct risk_known row, found;
        uint8_t hash[RISK_HASH_BYTES];
        risk_catalogue_get(i, &row);
        assert_true(row.cls >= RISK_READ && row.cls < RISK_CLASSES && row.package.len);
        if (!row.full)
            continue;
        hash_of(row.full, hash);
        assert_true(risk_catalogue_find(hash, &found));
        assert_true(found.full == row.full && slice_eq(found.tool, row.tool));
        hash_of(row.shape, hash);
        assert_true(risk_catalogue_find_shape(hash, &found));
        assert_true(found.shape == row.shape);
    }
    uint8_t zero[RISK_HASH_BYTES] = {0};
    struct risk_known none;
    assert_false(risk_catalogue_find(zero, &none));
    assert_false(risk_catalogue_find_shape(zero, &none));
}

static void every_server_and_name_is_found(void **state) {
    (void)state;
    size_t newest = 0, tools = 0;
    for (size_t i = 0; i < risk_catalogue_servers(); i++) {
        struct risk_published s;
        size_t found;
        risk_catalogue_server(i, &s);
        newest += s.newest;
        tools += s.tools;
        assert_true(risk_catalogue_find_server(s.registry, s.name, s.version, &found));
        assert_int_equal(found, i);
    }
    assert_int_equal(newest, risk_catalogue_names());
    assert_int_equal(tools, risk_catalogue_count());
    for (size_t i = 0; i < risk_catalogue_count(); i += 11) {
        struct risk_known row;
        size_t place, n;
        bool met = false;
        risk_catalogue_get(i, &row);
        n = risk_catalogue_named(row.tool, &place);
        for (size_t k = 0; k < n; k++)
            met |= risk_catalogue_in_order(place + k) == i;
        assert_true(met);
    }
    size_t none;
    assert_int_equal(risk_catalogue_named(SLICE("no tool has this name"), &none), 0);
    assert_false(risk_catalogue_find_server(RISK_NPM, SLICE("no-such-server"), SLICE(""), &none));
}

/* A tool whose definition is known, of a server that was listed. */
static struct risk_known listed_tool(void) {
    struct risk_known row = {0};
    for (size_t i = 0; i < risk_catalogue_count() && !row.full; i++)
        risk_catalogue_get(i, &row);
    return row;
}

static void another_definition_of_a_known_version(void **state) {
    (void)state;
    struct risk_known row = listed_tool();
    uint8_t hash[RISK_HASH_BYTES];
    hash_of(row.full, hash);
    assert_false(risk_catalogue_differs(row.registry, row.package, row.version, row.tool, hash));
    hash[0] ^= 1;
    assert_true(risk_catalogue_differs(row.registry, row.package, row.version, row.tool, hash));
    assert_false(risk_catalogue_differs(RISK_GITHUB, row.package, row.version, row.tool, hash));
    assert_false(risk_catalogue_differs(row.registry, row.package, SLICE("0.0.0-none"), row.tool, hash));
}

static struct risk_lookalike like(enum risk_registry registry, const char *name) {
    struct risk_lookalike l;
    risk_lookalike_find(registry, slice_str(name), &arena, &l);
    return l;
}

static void impostors(void **state) {
    (void)state;
    struct risk_lookalike l = like(RISK_NPM, "@modelcontextprotocl/server-github");
    assert_true(l.refuse && slice_is(l.of, "@modelcontextprotocol/server-github"));
    assert_true(l.score >= RISK_LOOKALIKE_REFUSE && memmem(l.reasons.ptr, l.reasons.len, "one edit", 8));
    l = like(RISK_NPM, "@mode1contextprotocol/server-github");
    assert_true(l.refuse && memmem(l.reasons.ptr, l.reasons.len, "same in print", 13));
    assert_int_equal(like(RISK_NPM, "@modelcontextprotocol/server-github").of.len, 0);
    assert_int_equal(like(RISK_NPM, "@modelcontextprotocol/server-githup").of.len, 0); /* in its own scope */
    assert_int_equal(like(RISK_NPM, "a-name-of-its-own").of.len, 0);
    assert_int_equal(like(RISK_NPM, "").of.len, 0);
}

static void names_are_compared_within_a_registry(void **state) {
    (void)state;
    assert_true(like(RISK_NPM, "mcp-server-gsk").of.len > 0);
    assert_int_equal(like(RISK_PYPI, "mcp-server-git").of.len, 0);
    assert_int_equal(like(RISK_CRATES, "mcp-server-gsk").of.len, 0);
}

static void a_trusted_name_is_on_record(void **state) {
    (void)state;
    struct err err;
    struct risk_trust *list;
    size_t count;
    struct risk_trust decision = {.registry = RISK_NPM,
                                  .name = SLICE("@modelcontextprotocl/server-github"),
                                  .by = SLICE("cli:tester"),
                                  .reason = SLICE("our own \"fork\""),
                                  .at = SLICE("2026-11-17T00:00:00Z")};
    assert_int_equal(risk_trust_add(&decision, &err), 0);
    struct risk_lookalike l = like(RISK_NPM, "@modelcontextprotocl/server-github");
    assert_true(l.of.len && l.trusted && !l.refuse);
    decision.undone = true;
    assert_int_equal(risk_trust_add(&decision, &err), 0);
    assert_true(like(RISK_NPM, "@modelcontextprotocl/server-github").refuse);
    assert_int_equal(risk_trust_read(&arena, &list, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_true(slice_eq(list[0].reason, decision.reason) && !list[0].undone && list[1].undone);
}

/* ---- the file ---- */

static void read_whole(struct buf *ret_bytes) {
    struct err err;
    buf_init(ret_bytes, RISK_CATALOGUE_BYTES_MAX);
    assert_int_equal(io_file_read(getenv("SALLYPORT_CATALOGUE"), ret_bytes, NULL, &err), 0);
}

static void a_changed_file_is_told(void **state) {
    (void)state;
    struct catalogue_file f;
    struct err err;
    cleanup_buf struct buf bytes;
    read_whole(&bytes);
    assert_int_equal(catalogue_file_read(buf_slice(&bytes), &f, &err), 0);
    assert_true(catalogue_file_is_genuine(&f));
    bytes.ptr[bytes.len - 1] ^= 1; /* a letter of the last text */
    assert_false(catalogue_file_is_genuine(&f));
    bytes.ptr[bytes.len - 1] ^= 1;
    ((struct catalogue_header *)(void *)bytes.ptr)->made++;
    assert_false(catalogue_file_is_genuine(&f));
}

/* Whatever 32 bits are changed, the file is refused or every text in it can still be read. */
static void a_hostile_file_leads_nowhere(void **state) {
    (void)state;
    struct err err;
    cleanup_buf struct buf bytes;
    read_whole(&bytes);
    uint32_t seed = 1, refused = 0;
    for (int round = 0; round < 300; round++) {
        struct catalogue_file f;
        seed = seed * 1664525 + 1013904223;
        size_t at = (seed % (bytes.len / 4)) * 4;
        uint32_t old, bad = round % 2 ? UINT32_MAX : seed;
        memcpy(&old, bytes.ptr + at, 4);
        memcpy(bytes.ptr + at, &bad, 4);
        if (catalogue_file_read(buf_slice(&bytes), &f, &err) < 0)
            refused++;
        memcpy(bytes.ptr + at, &old, 4);
    }
    assert_true(refused > 50);
    for (size_t len = 0; len < 400; len += 7)
        assert_int_equal(catalogue_file_read(slice_of(bytes.ptr, len), &(struct catalogue_file){0}, &err),
                         -1);
}

static void an_update_needs_the_key(void **state) {
    (void)state;
    struct err err;
    struct risk_catalogue_about about;
    char path[PATH_MAX], key[PATH_MAX];
    snprintf(path, sizeof(path), "%s/other.bin", home);
    snprintf(key, sizeof(key), "%s/other.key", home);
    assert_int_equal(risk_catalogue_update(getenv("SALLYPORT_CATALOGUE"), NULL, &about, &err), 0);
    assert_true(about.genuine);
    assert_int_equal(risk_catalogue_sign(getenv("SALLYPORT_CATALOGUE"), path, key, &err), 0);
    assert_int_equal(risk_catalogue_update(path, NULL, &about, &err), -1);
    char *digits = strstr(err.text, "another key, ");
    assert_non_null(digits);
    digits += strlen("another key, ");
    digits[64] = '\0';
    struct err ignored;
    assert_int_equal(risk_catalogue_update(path, digits, &about, &ignored), 0);
    assert_int_equal(risk_catalogue_update(path, NULL, &about, &ignored), 0); /* accepted permanently */
}

/* Not judged: how long a look-up takes. */
static void speed(void **state) {
    (void)state;
    enum { ROUNDS = 100 };
    size_t found = 0, count = risk_catalogue_count();
    uint8_t(*hashes)[RISK_HASH_BYTES] = arena_alloc(&arena, count * RISK_HASH_BYTES);
    for (size_t i = 0; i < count; i++) {
        struct risk_known known;
        risk_catalogue_get(i, &known);
        hash_of(known.full, hashes[i]);
    }
    uint64_t start = clock_mono_us();
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i += 7) {
            struct risk_known known;
            found += risk_catalogue_find(hashes[i], &known);
        }
    assert_true(found > 0);
    print_message("catalogue: %.0f ns a look-up of %zu\n",
                  1000.0 * (double)(clock_mono_us() - start) / (double)found, count);
}

int main(void) {
    if (!mkdtemp(home))
        return 1;
    risk_catalogue_set_home(find_home);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_row_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(every_server_and_name_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(another_definition_of_a_known_version, setup, teardown),
        cmocka_unit_test_setup_teardown(impostors, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_compared_within_a_registry, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trusted_name_is_on_record, setup, teardown),
        cmocka_unit_test_setup_teardown(a_changed_file_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hostile_file_leads_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(an_update_needs_the_key, setup, teardown),
        cmocka_unit_test_setup_teardown(speed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
