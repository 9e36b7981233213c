/* Tokens and key sets from untrusted clients: no token is valid that no key has signed. The input is a token,
 * then a line feed, then a key set. */
#include "crypto/jwt.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct jwt jwt;
    struct jwt_keys *keys = NULL;
    struct err err;
    static const char *const audiences[] = {"gate"};
    const struct jwt_rules rules = {"https://idp", audiences, 1, 60};
    uint64_t expires;
    struct slice rest = slice_of((const char *)data, size), token;
    slice_cut(&rest, '\n', &token);
    arena_init(&a);
    bool has_keys = jwt_keys_read(rest, &keys, &err) == 0;
    if (jwt_read(token, &a, &jwt) == JWT_OK) {
        CHECK(jwt.subject.len && jwt.issuer.len);
        CHECK(jwt_verify(&jwt, keys, 0) == JWT_ALGORITHM);
        CHECK(has_keys || jwt_verify(&jwt, NULL, JWT_ALGORITHMS_ALL) == JWT_KEY);
        if (has_keys)
            jwt_verify(&jwt, keys, JWT_ALGORITHMS_ALL);
        if (jwt_judge(&jwt, &rules, 1800000000, &expires) == JWT_OK)
            CHECK(expires > 1800000000 && slice_is(jwt.issuer, rules.issuer));
        jwt_claim_has(&jwt, "scope", SLICE("mcp"));
    }
    jwt_free(&jwt);
    jwt_keys_free(keys);
    arena_free(&a);
    return 0;
}
