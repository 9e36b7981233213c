#include "filter/checks.h"

#include "filter_test.h"

static void luhn_and_cards(void **state) {
    (void)state;
    const char *brand = NULL;
    assert_true(pii_check_luhn("79927398713", 11));
    assert_false(pii_check_luhn("79927398714", 11));
    assert_true(pii_check_card("4111111111111111", 16, false, &brand));
    assert_string_equal(brand, "visa");
    assert_true(pii_check_card("378282246310005", 15, false, &brand));
    assert_string_equal(brand, "amex");
    assert_false(pii_check_card("4222222222222", 13, false, &brand)); /* thirteen digits need a word nearby */
    assert_true(pii_check_card("4222222222222", 13, true, &brand));
    assert_false(pii_check_card("4111111111111112", 16, true, &brand));
    assert_false(pii_check_card("9999999999999995", 16, true, &brand));
}

static void ibans(void **state) {
    (void)state;
    static const char *const good[] = {"DE89370400440532013000", "GB82WEST12345698765432",
                                       "fr1420041010050500013m02606", "NO9386011117947",
                                       "MT84MALT011000012345MTLCAST001S"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(pii_check_iban(good[i], strlen(good[i])));
    assert_false(pii_check_iban("DE88370400440532013000", 22));
    assert_false(pii_check_iban("DE8937040044053201300", 21));
    assert_false(pii_check_iban("ZZ89370400440532013000", 22));
}

static void social_security(void **state) {
    (void)state;
    assert_true(pii_check_ssn("219099999"));
    assert_false(pii_check_ssn("000121234"));
    assert_false(pii_check_ssn("666121234"));
    assert_false(pii_check_ssn("219009999"));
    assert_false(pii_check_ssn("219090000"));
    assert_true(pii_check_ssn("912701234")); /* an ITIN */
    assert_false(pii_check_ssn("912121234"));
}

static void entropy_grows_with_surprise(void **state) {
    (void)state;
    assert_int_equal(pii_check_entropy("aaaaaaaa", 8), 0);
    assert_int_equal(pii_check_entropy("abababab", 8), 100);
    assert_int_equal(pii_check_entropy("abcdefgh", 8), 300);
    assert_in_range(pii_check_entropy("f9b2ecbb25af6d8f366436809449127c", 32), 330, 400);
}

static void days_and_codes(void **state) {
    (void)state;
    assert_true(pii_check_date(1990, 2, 28));
    assert_false(pii_check_date(1990, 13, 1));
    assert_false(pii_check_date(1890, 1, 1));
    assert_int_equal(pii_check_calling_code("14155550123", 11), 1);
    assert_int_equal(pii_check_calling_code("41781670725", 11), 2);
    assert_int_equal(pii_check_calling_code("353850123611", 12), 3);
    assert_int_equal(pii_check_calling_code("0781670725", 10), 0);
}

/* Every national identifier: one that fits, and the same with its last character changed. */
static void national_identifiers(void **state) {
    (void)state;
    static const struct {
        const char *label, *value, *sub;
    } rows[] = {
        {"cpf", "111.444.777-35", "br-cpf"},
        {"cnpj", "11.222.333/0001-81", "br-cnpj"},
        {"pesel", "44051401359", "pl-pesel"},
        {"tckn", "10000000146", "tr-tckn"},
        {"codice fiscale", "RSSMRA85T10A562S", "it-cf"},
        {"dni", "12345678Z", "es-dni"},
        {"nie", "X1234567L", "es-nie"},
        {"bsn", "111222333", "nl-bsn"},
        {"steuer id", "86095742719", "de-steuer-id"},
        {"nir", "255081416802538", "fr-nir"},
        {"rijksregister", "85.07.30-033.28", "be-nrn"},
        {"nhs number", "943 476 5919", "gb-nhs"},
        {"hetu", "131052-308T", "fi-hetu"},
        {"personnummer", "811218-9876", "se-pnr"},
        {"ahv", "756.9217.0769.85", "ch-ahv"},
        {"svnr", "1237 010180", "at-svnr"},
        {"oib", "69435151530", "hr-oib"},
        {"cnp", "1800101221144", "ro-cnp"},
        {"egn", "7523169263", "bg-egn"},
        {"isikukood", "37605030299", "ee-lt-id"},
        {"personal code", "161175-19997", "lv-pk"},
        {"kennitala", "120174-3399", "is-kennitala"},
        {"aadhaar", "2341 2341 2346", "in-aadhaar"},
        {"cuit", "20-05536168-2", "ar-cuit"},
        {"identity number", "8001015009087", "za-id"},
        {"sin", "130 692 544", "ca-sin"},
        {"nric", "S1234567D", "sg-nric"},
        {"national id", "A123456789", "tw-id"},
        {"citizen id", "11010519491231002X", "cn-ric"},
        {"curp", "HEGG560427MVZRRL04", "mx-curp"},
        {"jmbg", "0101006500006", "jmbg"},
        {"rodne cislo", "710319/2745", "cz-rc"},
        {"nif", "123456789", "pt-nif"},
    };
    struct rig r;
    rig_init(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[96];
        snprintf(text, sizeof(text), "%s: %s", rows[i].label, rows[i].value);
        cleanup_free char *found = rig_find(r.engine, text, PII_NATIONAL_ID, "");
        if (!found || strcmp(found, rows[i].value) != 0)
            fail_msg("%s is not found in `%s` (%s)", rows[i].sub, text, found ? found : "nothing");
        char *last = text + strlen(text) - 1;
        *last = *last == '9' ? '3' : *last == 'Z' ? 'Y' : *last == 'X' ? '7' : (char)(*last + 1);
        cleanup_pii_spans struct pii_spans wrong;
        const struct pii_options opt = {.kinds = PII_BIT(PII_NATIONAL_ID)};
        pii_spans_init(&wrong);
        pii_engine_scan(r.engine, &opt, slice_str(text), NULL, &wrong);
        for (uint32_t k = 0; k < wrong.count; k++) /* another country's sum may fit by chance */
            if (strcmp(wrong.at[k].sub, rows[i].sub) == 0)
                fail_msg("%s is taken for %s although its check character is wrong", text, rows[i].sub);
    }
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(luhn_and_cards),  cmocka_unit_test(ibans),
        cmocka_unit_test(social_security), cmocka_unit_test(entropy_grows_with_surprise),
        cmocka_unit_test(days_and_codes),  cmocka_unit_test(national_identifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
