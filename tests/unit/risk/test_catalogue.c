#include "risk/catalogue.h"

#include "base/clock.h"
#include "risk/catalogue_table.h"
#include "risk_test.h"

static void hash_of(uint64_t head, uint8_t hash[RISK_HASH_BYTES]) {
    memset(hash, 0, RISK_HASH_BYTES);
    for (int i = 0; i < 8; i++)
        hash[i] = (uint8_t)(head >> (56 - 8 * i));
}

static void every_row_is_found(void **state) {
    (void)state;
    assert_true(risk_catalogue_count() > 3000);
    assert_true(risk_catalogue_packages() > 100);
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        struct risk_known row, found;
        uint8_t hash[RISK_HASH_BYTES];
        risk_catalogue_get(i, &row);
        hash_of(row.full, hash);
        assert_true(risk_catalogue_find(hash, &found));
        assert_true(found.full == row.full && slice_eq(found.tool, row.tool));
        hash_of(row.shape, hash);
        assert_true(risk_catalogue_find_shape(hash, &found));
        assert_true(found.shape == row.shape);
        assert_true(row.cls >= RISK_READ && row.cls < RISK_CLASSES && row.package.len);
    }
    uint8_t zero[RISK_HASH_BYTES] = {0};
    struct risk_known none;
    assert_false(risk_catalogue_find(zero, &none));
    assert_false(risk_catalogue_find_shape(zero, &none));
}

static void another_definition_of_a_known_version(void **state) {
    (void)state;
    struct risk_known row;
    risk_catalogue_get(0, &row);
    uint8_t hash[RISK_HASH_BYTES];
    hash_of(row.full, hash);
    assert_false(risk_catalogue_differs(row.package, row.version, row.tool, hash));
    hash[0] ^= 1;
    assert_true(risk_catalogue_differs(row.package, row.version, row.tool, hash));
    assert_false(risk_catalogue_differs(row.package, SLICE("0.0.0-none"), row.tool, hash));
}

static void impostors(void **state) {
    (void)state;
    assert_true(slice_is(risk_impostor_of(SLICE("@modelcontextprotocl/server-github"), &arena),
                         "@modelcontextprotocol/server-github"));
    assert_true(slice_is(risk_impostor_of(SLICE("@mode1contextprotocol/server-github"), &arena),
                         "@modelcontextprotocol/server-github"));
    assert_int_equal(risk_impostor_of(SLICE("@modelcontextprotocol/server-github"), &arena).len, 0);
    assert_int_equal(risk_impostor_of(SLICE("a-name-of-its-own"), &arena).len, 0);
    assert_int_equal(risk_impostor_of(SLICE(""), &arena).len, 0);
}

/* Not judged: how long a look-up takes. */
static void speed(void **state) {
    (void)state;
    enum { ROUNDS = 200 };
    size_t found = 0, count = risk_catalogue_count();
    uint64_t start = clock_mono_us();
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i += 7) {
            uint8_t hash[RISK_HASH_BYTES];
            struct risk_known known;
            hash_of(risk_catalogue_rows[i].full, hash);
            found += risk_catalogue_find(hash, &known);
        }
    assert_true(found > 0);
    print_message("catalogue: %.0f ns a look-up\n",
                  1000.0 * (double)(clock_mono_us() - start) / (double)found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_row_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(another_definition_of_a_known_version, setup, teardown),
        cmocka_unit_test_setup_teardown(impostors, setup, teardown),
        cmocka_unit_test_setup_teardown(speed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
