#include "crypto/jwt.h"

#include "base/buf.h"
#include "base/mem.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1800000000u
#define CLAIMS "{\"iss\":\"https://idp\",\"sub\":\"anna\",\"aud\":\"gate\",\"exp\":1800000060}"

static struct arena a;

static int setup(void **state) {
    (void)state;
    arena_init(&a);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_free(&a);
    return 0;
}

/* ---- making tokens ---- */

static struct slice b64(struct slice in) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char *out = arena_alloc(&a, in.len * 2 + 4);
    size_t n = 0;
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < in.len; i++) {
        bits = bits << 8 | (unsigned char)in.ptr[i];
        for (have += 8; have >= 6; have -= 6)
            out[n++] = digits[bits >> (have - 6) & 63];
    }
    if (have)
        out[n++] = digits[bits << (6 - have) & 63];
    return slice_of(out, n);
}

static struct slice b64_bn(EVP_PKEY *key, const char *name, size_t size) {
    BIGNUM *bn = NULL;
    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &bn), 1);
    if (!size)
        size = (size_t)BN_num_bytes(bn);
    unsigned char *bytes = arena_alloc(&a, size);
    assert_int_equal(BN_bn2binpad(bn, bytes, (int)size), (int)size);
    BN_free(bn);
    return b64(slice_of((char *)bytes, size));
}

static struct slice jwk(EVP_PKEY *key, const char *kid, const char *more) {
    if (EVP_PKEY_is_a(key, "RSA"))
        return arena_printf(&a, "{\"kty\":\"RSA\",\"kid\":\"%s\",\"n\":\"%.*s\",\"e\":\"%.*s\"%s}", kid,
                            SLICE_FMT(b64_bn(key, OSSL_PKEY_PARAM_RSA_N, 0)),
                            SLICE_FMT(b64_bn(key, OSSL_PKEY_PARAM_RSA_E, 0)), more);
    if (EVP_PKEY_is_a(key, "ED25519")) {
        char raw[32];
        size_t len = sizeof(raw);
        assert_int_equal(EVP_PKEY_get_raw_public_key(key, (unsigned char *)raw, &len), 1);
        return arena_printf(&a, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"%s\",\"x\":\"%.*s\"%s}", kid,
                            SLICE_FMT(b64(slice_of(raw, len))), more);
    }
    int bits = EVP_PKEY_bits(key);
    size_t size = ((size_t)bits + 7) / 8;
    return arena_printf(&a,
                        "{\"kty\":\"EC\",\"crv\":\"P-%d\",\"kid\":\"%s\",\"x\":\"%.*s\",\"y\":\"%.*s\"%s}",
                        bits, kid, SLICE_FMT(b64_bn(key, OSSL_PKEY_PARAM_EC_PUB_X, size)),
                        SLICE_FMT(b64_bn(key, OSSL_PKEY_PARAM_EC_PUB_Y, size)), more);
}

static struct jwt_keys *keys_of(struct slice one) {
    struct jwt_keys *keys = NULL;
    struct err err = {0};
    if (jwt_keys_read(arena_printf(&a, "{\"keys\":[%.*s]}", SLICE_FMT(one)), &keys, &err) < 0)
        fail_msg("%s", err.text);
    return keys;
}

static struct slice raw_ecdsa(struct slice der, size_t size) {
    const unsigned char *at = (const unsigned char *)der.ptr;
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)der.len);
    assert_non_null(sig);
    unsigned char *raw = arena_alloc(&a, 2 * size);
    BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, (int)size);
    BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + size, (int)size);
    ECDSA_SIG_free(sig);
    return slice_of((char *)raw, 2 * size);
}

static struct slice sign(EVP_PKEY *key, const char *header, const char *claims, const char *digest,
                         bool pss) {
    struct slice part =
        arena_printf(&a, "%.*s.%.*s", SLICE_FMT(b64(slice_str(header))), SLICE_FMT(b64(slice_str(claims))));
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *how = NULL;
    assert_int_equal(EVP_DigestSignInit_ex(ctx, &how, digest, NULL, NULL, key, NULL), 1);
    if (pss) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST), 1);
    }
    size_t len = 1024;
    unsigned char *sig = arena_alloc(&a, len);
    assert_int_equal(EVP_DigestSign(ctx, sig, &len, (const unsigned char *)part.ptr, part.len), 1);
    EVP_MD_CTX_free(ctx);
    struct slice raw = slice_of((char *)sig, len);
    if (EVP_PKEY_is_a(key, "EC"))
        raw = raw_ecdsa(raw, ((size_t)EVP_PKEY_bits(key) + 7) / 8);
    return arena_printf(&a, "%.*s.%.*s", SLICE_FMT(part), SLICE_FMT(b64(raw)));
}

static EVP_PKEY *rsa(void) {
    static EVP_PKEY *key; /* takes a while to make */
    if (!key)
        key = EVP_RSA_gen(2048);
    return key;
}

static enum jwt_fault verify(struct slice token, const struct jwt_keys *keys, uint32_t allowed) {
    struct jwt jwt;
    enum jwt_fault fault = jwt_read(token, &a, &jwt);
    if (fault == JWT_OK)
        fault = jwt_verify(&jwt, keys, allowed);
    jwt_free(&jwt);
    return fault;
}

static enum jwt_fault verify_rs256(const char *header, const char *claims) {
    struct jwt_keys *keys = keys_of(jwk(rsa(), "k", ""));
    enum jwt_fault fault = verify(sign(rsa(), header, claims, "SHA256", false), keys, JWT_ALGORITHMS_ALL);
    jwt_keys_free(keys);
    return fault;
}

/* ---- tests ---- */

static void test_every_algorithm(void **state) {
    (void)state;
    static const struct {
        const char *name, *curve, *digest;
        bool pss;
    } rows[] = {
        {"RS256", NULL, "SHA256", false},    {"RS384", NULL, "SHA384", false},
        {"RS512", NULL, "SHA512", false},    {"PS256", NULL, "SHA256", true},
        {"PS384", NULL, "SHA384", true},     {"PS512", NULL, "SHA512", true},
        {"ES256", "P-256", "SHA256", false}, {"ES384", "P-384", "SHA384", false},
        {"ES512", "P-521", "SHA512", false}, {"EdDSA", "ed", NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        EVP_PKEY *key = !rows[i].curve                     ? rsa()
                        : strcmp(rows[i].curve, "ed") == 0 ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")
                                                           : EVP_EC_gen(rows[i].curve);
        struct jwt_keys *keys = keys_of(jwk(key, "k", ",\"use\":\"sig\""));
        char header[64];
        snprintf(header, sizeof(header), "{\"alg\":\"%s\",\"kid\":\"k\"}", rows[i].name);
        struct slice token = sign(key, header, CLAIMS, rows[i].digest, rows[i].pss);
        uint32_t bit = jwt_algorithm_from(slice_str(rows[i].name));
        assert_int_equal(verify(token, keys, JWT_ALGORITHMS_ALL), JWT_OK);
        assert_int_equal(verify(token, keys, bit), JWT_OK);
        assert_int_equal(verify(token, keys, ~bit), JWT_ALGORITHM);
        /* One changed character in the claims, then in the signature. */
        char *bent = (char *)(uintptr_t)arena_dup(&a, token).ptr;
        size_t at = (size_t)slice_find(token, '.') + 5;
        bent[at] = bent[at] == 'Q' ? 'R' : 'Q';
        assert_int_not_equal(verify(slice_of(bent, token.len), keys, JWT_ALGORITHMS_ALL), JWT_OK);
        bent = (char *)(uintptr_t)arena_dup(&a, token).ptr;
        bent[token.len - 10] = bent[token.len - 10] == 'A' ? 'B' : 'A';
        assert_int_equal(verify(slice_of(bent, token.len), keys, JWT_ALGORITHMS_ALL), JWT_SIGNATURE);
        jwt_keys_free(keys);
        if (rows[i].curve)
            EVP_PKEY_free(key);
    }
}

static void test_no_secret_algorithms(void **state) {
    (void)state;
    struct jwt_keys *keys = keys_of(jwk(rsa(), "k", ""));
    const char *bad[] = {"none", "None", "NONE", "HS256", "hs256", "HS512", "RS1", "", "rs256", "ES256K"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char header[64];
        snprintf(header, sizeof(header), "{\"alg\":\"%s\"}", bad[i]);
        struct slice part =
            arena_printf(&a, "%.*s.%.*s.", SLICE_FMT(b64(slice_str(header))), SLICE_FMT(b64(SLICE(CLAIMS))));
        assert_int_equal(verify(part, keys, JWT_ALGORITHMS_ALL), JWT_ALGORITHM);
        assert_int_equal(jwt_algorithm_from(slice_str(bad[i])), 0);
    }
    jwt_keys_free(keys);
    struct err err = {0};
    assert_int_equal(jwt_keys_read(SLICE("{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}"), &keys, &err), -1);
}

/* A key is only good for the algorithms it fits. */
static void test_key_and_algorithm_agree(void **state) {
    (void)state;
    EVP_PKEY *ec = EVP_EC_gen("P-256"), *p384 = EVP_EC_gen("P-384");
    struct slice token = sign(rsa(), "{\"alg\":\"RS256\",\"kid\":\"k\"}", CLAIMS, "SHA256", false);
    struct jwt_keys *keys = keys_of(jwk(ec, "k", ""));
    assert_int_equal(verify(token, keys, JWT_ALGORITHMS_ALL), JWT_KEY);
    struct slice es = sign(p384, "{\"alg\":\"ES256\",\"kid\":\"k\"}", CLAIMS, "SHA256", false);
    assert_int_equal(verify(es, keys, JWT_ALGORITHMS_ALL), JWT_SIGNATURE);
    jwt_keys_free(keys);
    keys = keys_of(jwk(p384, "k", ""));
    assert_int_equal(verify(es, keys, JWT_ALGORITHMS_ALL), JWT_KEY);
    jwt_keys_free(keys);
    keys = keys_of(jwk(rsa(), "k", ",\"alg\":\"PS256\""));
    assert_int_equal(verify(token, keys, JWT_ALGORITHMS_ALL), JWT_KEY);
    jwt_keys_free(keys);
    keys = keys_of(jwk(rsa(), "other", ""));
    assert_int_equal(verify(token, keys, JWT_ALGORITHMS_ALL), JWT_KEY);
    token = sign(rsa(), "{\"alg\":\"RS256\"}", CLAIMS, "SHA256", false);
    assert_int_equal(verify(token, keys, JWT_ALGORITHMS_ALL), JWT_OK);
    jwt_keys_free(keys);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(p384);
}

static void test_key_sets(void **state) {
    (void)state;
    struct jwt_keys *keys = NULL;
    struct err err = {0};
    const char *bad[] = {"",
                         "[]",
                         "{}",
                         "{\"keys\":{}}",
                         "{\"keys\":[]}",
                         "{\"keys\":[1,null]}",
                         "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
                         "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}]}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(jwt_keys_read(slice_str(bad[i]), &keys, &err), -1);
    EVP_PKEY *small = EVP_RSA_gen(1024);
    struct slice unusable = arena_printf(&a, "%.*s,%.*s", SLICE_FMT(jwk(small, "s", "")),
                                         SLICE_FMT(jwk(rsa(), "e", ",\"use\":\"enc\"")));
    struct slice set = arena_printf(&a, "{\"keys\":[%.*s]}", SLICE_FMT(unusable));
    assert_int_equal(jwt_keys_read(set, &keys, &err), -1);
    set = arena_printf(&a, "{\"keys\":[%.*s,%.*s]}", SLICE_FMT(unusable), SLICE_FMT(jwk(rsa(), "g", "")));
    assert_int_equal(jwt_keys_read(set, &keys, &err), 0);
    jwt_keys_free(keys);
    EVP_PKEY_free(small);
    /* Not on the curve. */
    char zeros[32] = {1};
    struct slice x = b64(slice_of(zeros, 32));
    set = arena_printf(&a, "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%.*s\",\"y\":\"%.*s\"}]}",
                       SLICE_FMT(x), SLICE_FMT(x));
    assert_int_equal(jwt_keys_read(set, &keys, &err), -1);
}

static bool key_is_taken(struct slice one) {
    struct jwt_keys *keys = NULL;
    struct err err = {0};
    bool taken = jwt_keys_read(arena_printf(&a, "{\"keys\":[%.*s]}", SLICE_FMT(one)), &keys, &err) == 0;
    jwt_keys_free(keys);
    return taken;
}

/* What Wycheproof asks of key sets: a key for another use, or half secret, or weak, verifies nothing. */
static void test_uses_of_keys(void **state) {
    (void)state;
    static const struct {
        const char *more;
        bool taken;
    } rows[] = {
        {"", true},
        {",\"use\":\"sig\"", true},
        {",\"use\":\"enc\"", false},
        {",\"use\":\"\"", false},
        {",\"use\":1", false},
        {",\"key_ops\":[\"verify\"]", true},
        {",\"key_ops\":[\"sign\",\"verify\"]", true},
        {",\"key_ops\":[\"sign\"]", false},
        {",\"key_ops\":[\"encrypt\",\"wrapKey\"]", false},
        {",\"key_ops\":[]", false},
        {",\"key_ops\":\"verify\"", false},
        {",\"key_ops\":null", false},
        {",\"use\":\"enc\",\"key_ops\":[\"verify\"]", false},
        {",\"alg\":\"RS256\"", true},
        {",\"alg\":\"HS256\"", false},
        {",\"alg\":\"RSA-OAEP\"", false},
        {",\"alg\":7", false},
        {",\"d\":\"AQAB\"", false},
        {",\"k\":\"AQAB\"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (key_is_taken(jwk(rsa(), "k", rows[i].more)) != rows[i].taken)
            fail_msg("%s", rows[i].more);
}

static struct slice rsa_jwk(struct slice n, const char *e) {
    return arena_printf(&a, "{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"%s\"}", SLICE_FMT(n), e);
}

static void test_weak_rsa(void **state) {
    (void)state;
    struct slice n = b64_bn(rsa(), OSSL_PKEY_PARAM_RSA_N, 0);
    assert_true(key_is_taken(rsa_jwk(n, "AQAB")));
    assert_true(key_is_taken(rsa_jwk(n, "Aw"))); /* 3 */
    static const char *const bad[] = {"", "AA", "AAAA", "AQ", "AAAB", "Ag", "AQAA", "AQAAAAAAAAAB"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(key_is_taken(rsa_jwk(n, bad[i])));
    /* ROCA: a power of 65537 modulo the product of the first primes, plus a multiple of that. */
    static const BN_ULONG primes[] = {11, 13, 17,  19,  37,  53,  61,  71, 73,
                                      79, 97, 103, 107, 109, 127, 151, 157};
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *all = BN_new(), *power = BN_new(), *base = BN_new(), *exponent = BN_new(), *weak = BN_new();
    BN_one(all);
    for (size_t i = 0; i < ARRAY_LEN(primes); i++)
        BN_mul_word(all, primes[i]);
    BN_set_word(base, 65537);
    BN_set_word(exponent, 12345);
    BN_mod_exp(power, base, exponent, all, ctx);
    BN_rand(weak, 2040 - BN_num_bits(all), BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY);
    BN_lshift(weak, weak, 9);
    BN_mul(weak, weak, all, ctx);
    BN_add(weak, weak, power);
    if (!BN_is_odd(weak))
        BN_add(weak, weak, all);
    unsigned char bytes[300];
    int len = BN_bn2bin(weak, bytes);
    assert_true(len >= 256);
    assert_false(key_is_taken(rsa_jwk(b64(slice_of((char *)bytes, (size_t)len)), "AQAB")));
    BN_add_word(weak, 2); /* no longer a power, and odd still */
    len = BN_bn2bin(weak, bytes);
    assert_true(key_is_taken(rsa_jwk(b64(slice_of((char *)bytes, (size_t)len)), "AQAB")));
    BN_add_word(weak, 1);
    len = BN_bn2bin(weak, bytes);
    assert_false(key_is_taken(rsa_jwk(b64(slice_of((char *)bytes, (size_t)len)), "AQAB"))); /* even */
    BN_free(all);
    BN_free(power);
    BN_free(base);
    BN_free(exponent);
    BN_free(weak);
    BN_CTX_free(ctx);
}

/* Signatures that careless verifiers take: zeros, all ones, another length, another encoding. */
static void test_odd_signatures(void **state) {
    (void)state;
    static const struct {
        const char *alg, *curve;
        size_t size;
    } rows[] = {{"ES256", "P-256", 64}, {"ES384", "P-384", 96}, {"ES512", "P-521", 132},
                {"EdDSA", NULL, 64},    {"RS256", "", 256},     {"PS256", "", 256}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        EVP_PKEY *key = !rows[i].curve   ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")
                        : *rows[i].curve ? EVP_EC_gen(rows[i].curve)
                                         : rsa();
        struct jwt_keys *keys = keys_of(jwk(key, "k", ""));
        char header[64], sig[300];
        snprintf(header, sizeof(header), "{\"alg\":\"%s\"}", rows[i].alg);
        struct slice part =
            arena_printf(&a, "%.*s.%.*s", SLICE_FMT(b64(slice_str(header))), SLICE_FMT(b64(SLICE(CLAIMS))));
        const size_t lens[] = {0,     1, rows[i].size / 2, rows[i].size - 1, rows[i].size, rows[i].size + 1,
                               2 * 72};
        for (size_t k = 0; k < ARRAY_LEN(lens); k++)
            for (int fill = 0; fill < 3; fill++) {
                memset(sig, fill == 0 ? 0 : fill == 1 ? 0xff : 1, sizeof(sig));
                if (fill == 2 && lens[k] > 2)
                    memcpy(sig, "\x30\x06\x02", 3);
                struct slice token =
                    arena_printf(&a, "%.*s.%.*s", SLICE_FMT(part), SLICE_FMT(b64(slice_of(sig, lens[k]))));
                assert_int_not_equal(verify(token, keys, JWT_ALGORITHMS_ALL), JWT_OK);
            }
        jwt_keys_free(keys);
        if (key != rsa())
            EVP_PKEY_free(key);
    }
}

static void test_form(void **state) {
    (void)state;
    assert_int_equal(verify_rs256("{\"alg\":\"RS256\"}", CLAIMS), JWT_OK);
    assert_int_equal(verify_rs256("{\"alg\":\"RS256\",\"typ\":\"at+jwt\"}", CLAIMS), JWT_OK);
    assert_int_equal(verify_rs256("{\"alg\":\"RS256\",\"typ\":\"application/at+JWT\"}", CLAIMS), JWT_OK);
    const char *headers[] = {"{\"alg\":\"RS256\",\"crit\":[\"exp\"]}",
                             "{\"alg\":\"RS256\",\"alg\":\"RS256\"}",
                             "{\"alg\":\"RS256\",\"typ\":\"dpop+jwt\"}",
                             "{\"alg\":\"RS256\",\"typ\":1}",
                             "{\"alg\":[\"RS256\"]}",
                             "[]",
                             "{}",
                             "x",
                             "{\"alg\":\"RS256\",\"kid\":7}"};
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        assert_int_equal(verify_rs256(headers[i], CLAIMS), JWT_MALFORMED);
    const char *claims[] = {"",
                            "[]",
                            "1",
                            "{\"iss\":\"x\"}",
                            "{\"sub\":\"x\"}",
                            "{\"iss\":\"x\",\"sub\":\"\"}",
                            "{\"iss\":\"x\",\"sub\":\"y\",\"sub\":\"z\"}",
                            "{\"iss\":\"x\",\"sub\":\"y\\u0000\"}",
                            "{\"iss\":\"x\",\"sub\":5}"};
    for (size_t i = 0; i < ARRAY_LEN(claims); i++)
        assert_int_equal(verify_rs256("{\"alg\":\"RS256\"}", claims[i]), JWT_MALFORMED);
}

static void test_one_way_to_write_a_token(void **state) {
    (void)state;
    struct jwt_keys *keys = keys_of(jwk(rsa(), "k", ""));
    struct slice token = sign(rsa(), "{\"alg\":\"RS256\"}", CLAIMS, "SHA256", false);
    assert_int_equal(verify(token, keys, JWT_ALGORITHMS_ALL), JWT_OK);
    const char *tails[] = {"=", "==", ".", ".AA", " ", "\n", "A"};
    for (size_t i = 0; i < ARRAY_LEN(tails); i++)
        assert_int_not_equal(
            verify(arena_printf(&a, "%.*s%s", SLICE_FMT(token), tails[i]), keys, JWT_ALGORITHMS_ALL), JWT_OK);
    /* 256 bytes leave two bits over in the last character: they must be zero. */
    char *bent = (char *)(uintptr_t)arena_dup(&a, token).ptr;
    bent[token.len - 1]++;
    assert_int_equal(verify(slice_of(bent, token.len), keys, JWT_ALGORITHMS_ALL), JWT_MALFORMED);
    assert_int_equal(verify(SLICE(""), keys, JWT_ALGORITHMS_ALL), JWT_MALFORMED);
    assert_int_equal(verify(SLICE("."), keys, JWT_ALGORITHMS_ALL), JWT_MALFORMED);
    assert_int_equal(verify(SLICE(".."), keys, JWT_ALGORITHMS_ALL), JWT_MALFORMED);
    char *long_one = arena_alloc(&a, CRYPTO_JWT_BYTES_MAX + 1);
    memset(long_one, 'A', CRYPTO_JWT_BYTES_MAX + 1);
    assert_int_equal(verify(slice_of(long_one, CRYPTO_JWT_BYTES_MAX + 1), keys, JWT_ALGORITHMS_ALL),
                     JWT_MALFORMED);
    jwt_keys_free(keys);
}

static enum jwt_fault judge(const char *claims) {
    static const char *const audiences[] = {"gate", "https://gate/mcp"};
    struct jwt_rules rules = {"https://idp", audiences, 2, 30};
    struct slice token = arena_printf(&a, "%.*s.%.*s.", SLICE_FMT(b64(SLICE("{\"alg\":\"RS256\"}"))),
                                      SLICE_FMT(b64(slice_str(claims))));
    struct jwt jwt;
    enum jwt_fault fault = jwt_read(token, &a, &jwt);
    uint64_t expires = 0;
    if (fault == JWT_OK)
        fault = jwt_judge(&jwt, &rules, NOW, &expires);
    if (fault == JWT_OK)
        assert_true(expires > NOW);
    jwt_free(&jwt);
    return fault;
}

#define WHO "\"iss\":\"https://idp\",\"sub\":\"anna\","

static void test_claims(void **state) {
    (void)state;
    static const struct {
        const char *claims;
        enum jwt_fault fault;
    } rows[] = {
        {CLAIMS, JWT_OK},
        {"{" WHO "\"aud\":[\"x\",\"gate\"],\"exp\":1800000001}", JWT_OK},
        {"{" WHO "\"aud\":\"https://gate/mcp\",\"exp\":1800000001.5}", JWT_OK},
        {"{" WHO "\"aud\":\"gate\",\"exp\":1799999971}", JWT_OK}, /* within the skew */
        {"{" WHO "\"aud\":\"gate\",\"exp\":1799999970}", JWT_EXPIRED},
        {"{" WHO "\"aud\":\"gate\",\"exp\":1800000060,\"nbf\":1800000030}", JWT_OK},
        {"{" WHO "\"aud\":\"gate\",\"exp\":1800000060,\"nbf\":1800000031}", JWT_EARLY},
        {"{" WHO "\"aud\":\"gate\",\"exp\":1800000060,\"iat\":1800000031}", JWT_EARLY},
        {"{" WHO "\"aud\":\"gate\"}", JWT_MALFORMED},
        {"{" WHO "\"aud\":\"gate\",\"exp\":\"1800000060\"}", JWT_MALFORMED},
        {"{" WHO "\"aud\":\"gate\",\"exp\":-1}", JWT_MALFORMED},
        {"{" WHO "\"aud\":\"gate\",\"exp\":1e300}", JWT_MALFORMED},
        {"{" WHO "\"aud\":\"gate\",\"exp\":1800000060,\"nbf\":null}", JWT_MALFORMED},
        {"{" WHO "\"exp\":1800000060}", JWT_AUDIENCE},
        {"{" WHO "\"aud\":\"gate2\",\"exp\":1800000060}", JWT_AUDIENCE},
        {"{" WHO "\"aud\":[],\"exp\":1800000060}", JWT_AUDIENCE},
        {"{" WHO "\"aud\":{\"gate\":1},\"exp\":1800000060}", JWT_AUDIENCE},
        {"{\"iss\":\"https://idp/\",\"sub\":\"a\",\"aud\":\"gate\",\"exp\":1800000060}", JWT_ISSUER},
        {"{\"iss\":\"HTTPS://idp\",\"sub\":\"a\",\"aud\":\"gate\",\"exp\":1800000060}", JWT_ISSUER},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (judge(rows[i].claims) != rows[i].fault)
            fail_msg("%s: %s", rows[i].claims, jwt_fault_text(judge(rows[i].claims)));
}

static void test_words(void **state) {
    (void)state;
    struct slice token = arena_printf(
        &a, "%.*s.%.*s.", SLICE_FMT(b64(SLICE("{\"alg\":\"RS256\"}"))),
        SLICE_FMT(b64(SLICE("{" WHO "\"scope\":\"mcp admin:all\",\"groups\":[\"a b\",\"c\"]}"))));
    struct jwt jwt;
    assert_int_equal(jwt_read(token, &a, &jwt), JWT_OK);
    assert_true(jwt_claim_has(&jwt, "scope", SLICE("mcp")));
    assert_true(jwt_claim_has(&jwt, "scope", SLICE("admin:all")));
    assert_false(jwt_claim_has(&jwt, "scope", SLICE("admin")));
    assert_false(jwt_claim_has(&jwt, "scope", SLICE("mcp admin:all")));
    assert_true(jwt_claim_has(&jwt, "groups", SLICE("a b")));
    assert_false(jwt_claim_has(&jwt, "groups", SLICE("a")));
    assert_false(jwt_claim_has(&jwt, "absent", SLICE("a")));
    jwt_free(&jwt);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_algorithm),
        TEST(test_no_secret_algorithms),
        TEST(test_key_and_algorithm_agree),
        TEST(test_key_sets),
        TEST(test_uses_of_keys),
        TEST(test_weak_rsa),
        TEST(test_odd_signatures),
        TEST(test_form),
        TEST(test_one_way_to_write_a_token),
        TEST(test_claims),
        TEST(test_words),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    EVP_PKEY_free(rsa());
    return failed;
}
