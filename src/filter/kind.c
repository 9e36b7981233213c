#include "filter/kind.h"

static const char *const names[PII_BUILTIN] = {
    [PII_EMAIL] = "EMAIL",
    [PII_PHONE] = "PHONE",
    [PII_SSN] = "SSN",
    [PII_CREDIT_CARD] = "CREDIT_CARD",
    [PII_IBAN] = "IBAN",
    [PII_IP] = "IP",
    [PII_MAC] = "MAC",
    [PII_URL] = "URL",
    [PII_DATE_OF_BIRTH] = "DATE_OF_BIRTH",
    [PII_SECRET] = "SECRET",
    [PII_NATIONAL_ID] = "NATIONAL_ID",
    [PII_CRYPTO] = "CRYPTO",
    [PII_PERSON] = "PERSON",
    [PII_STREET_ADDRESS] = "STREET_ADDRESS",
    [PII_LITERAL] = "LITERAL",
};

const char *pii_kind_name(enum pii_kind kind) { return kind < PII_BUILTIN ? names[kind] : "CUSTOM"; }

const char *pii_kind_alias(unsigned kind) {
    return kind == PII_IP ? "IP_ADDRESS" : kind == PII_SECRET ? "API_KEY" : NULL;
}

int pii_kind_from(struct slice name) {
    for (int i = 0; i < PII_BUILTIN; i++)
        if (slice_eq_nocase(name, slice_str(names[i])))
            return i;
    return -1;
}
