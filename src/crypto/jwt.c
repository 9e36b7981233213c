#include "crypto/jwt.h"

#include "base/mem.h"
#include "base/openssl.h"
#include "wire/base64.h"

#include <math.h>
#include <string.h>

#define JWT_RSA_BITS_MIN 2048
#define JWT_EC_COORDINATE_MAX 66

enum key_kind { KEY_RSA, KEY_P256, KEY_P384, KEY_P521, KEY_ED25519 };

static const struct algorithm {
    const char *name;
    enum key_kind kind;
    const char *digest; /* NULL: part of the algorithm */
    bool pss;
    size_t coordinate; /* bytes of one half of an ECDSA signature */
} algorithms[] = {
    {"RS256", KEY_RSA, "SHA256", false, 0},   {"RS384", KEY_RSA, "SHA384", false, 0},
    {"RS512", KEY_RSA, "SHA512", false, 0},   {"PS256", KEY_RSA, "SHA256", true, 0},
    {"PS384", KEY_RSA, "SHA384", true, 0},    {"PS512", KEY_RSA, "SHA512", true, 0},
    {"ES256", KEY_P256, "SHA256", false, 32}, {"ES384", KEY_P384, "SHA384", false, 48},
    {"ES512", KEY_P521, "SHA512", false, 66}, {"EdDSA", KEY_ED25519, NULL, false, 0},
};

struct key {
    EVP_PKEY *pkey;
    enum key_kind kind;
    char *kid; /* NULL for none */
    size_t kid_len;
    size_t algorithm; /* the only algorithm that the key may be used with, or ARRAY_LEN(algorithms) */
};

struct jwt_keys {
    struct key items[CRYPTO_JWT_KEYS_MAX];
    size_t count;
};

const char *jwt_fault_text(enum jwt_fault fault) {
    static const char *const texts[] = {
        [JWT_OK] = "the token is good",
        [JWT_MALFORMED] = "the token is malformed",
        [JWT_ALGORITHM] = "the token's algorithm is not allowed",
        [JWT_KEY] = "the token is signed by an unknown key",
        [JWT_SIGNATURE] = "the token's signature is wrong",
        [JWT_EXPIRED] = "the token has expired",
        [JWT_EARLY] = "the token is not valid yet",
        [JWT_ISSUER] = "the token is of another issuer",
        [JWT_AUDIENCE] = "the token is meant for another audience",
    };
    return texts[fault];
}

static size_t algorithm_index(struct slice name) {
    size_t i = 0;
    while (i < ARRAY_LEN(algorithms) && !slice_is(name, algorithms[i].name))
        i++;
    return i;
}

uint32_t jwt_algorithm_from(struct slice name) {
    size_t i = algorithm_index(name);
    return i < ARRAY_LEN(algorithms) ? 1u << i : 0;
}

/* ---- keys ---- */

static EVP_PKEY *pkey_from(const char *type, OSSL_PARAM_BLD *build) {
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *pkey = NULL;
    if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
        pkey = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return pkey;
}

static uint32_t modulo(struct slice number, uint32_t by) {
    uint32_t rest = 0;
    for (size_t i = 0; i < number.len; i++)
        rest = (rest << 8 | (unsigned char)number.ptr[i]) % by;
    return rest;
}

/* CVE-2017-15361 (ROCA): a library made primes whose remainders are powers of 65537 modulo every small prime,
 * and such keys can be factored. A modulus of random primes looks like that once in 2^27. */
static bool modulus_is_weak(struct slice n) {
    static const uint8_t primes[] = {11, 13, 17,  19,  37,  53,  61,  71, 73,
                                     79, 97, 103, 107, 109, 127, 151, 157};
    for (size_t i = 0; i < ARRAY_LEN(primes); i++) {
        uint32_t rest = modulo(n, primes[i]), power = 1;
        bool found = false;
        for (uint32_t turns = 0; turns < primes[i] && !found;
             turns++, power = power * (65537 % primes[i]) % primes[i])
            found = power == rest;
        if (!found)
            return false;
    }
    return true;
}

/* Odd and above 1: with 1 every message is its own signature. */
static bool exponent_is_sound(struct slice e) {
    while (e.len && e.ptr[0] == 0)
        e = slice_from(e, 1);
    return e.len && e.len <= 8 && (e.ptr[e.len - 1] & 1) && !(e.len == 1 && e.ptr[0] == 1);
}

static EVP_PKEY *rsa_key(const struct tape *t, uint32_t obj, struct arena *a) {
    struct slice n, e;
    if (!base64_get(tape_text_of(t, obj, "n", a), BASE64_URL, a, &n) ||
        !base64_get(tape_text_of(t, obj, "e", a), BASE64_URL, a, &e) || n.len > CRYPTO_JWT_RSA_BYTES_MAX ||
        !n.len || !(n.ptr[n.len - 1] & 1) || !exponent_is_sound(e) || modulus_is_weak(n))
        return NULL;
    BIGNUM *bn = BN_bin2bn((const unsigned char *)n.ptr, (int)n.len, NULL);
    BIGNUM *be = BN_bin2bn((const unsigned char *)e.ptr, (int)e.len, NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *pkey = NULL;
    if (bn && be && build && BN_num_bits(bn) >= JWT_RSA_BITS_MIN &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, bn) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, be) == 1)
        pkey = pkey_from("RSA", build);
    OSSL_PARAM_BLD_free(build);
    BN_free(bn);
    BN_free(be);
    return pkey;
}

static EVP_PKEY *ec_key(const struct tape *t, uint32_t obj, const char *group, size_t size, struct arena *a) {
    struct slice x, y;
    if (!base64_get(tape_text_of(t, obj, "x", a), BASE64_URL, a, &x) ||
        !base64_get(tape_text_of(t, obj, "y", a), BASE64_URL, a, &y) || x.len != size || y.len != size)
        return NULL;
    unsigned char point[1 + 2 * JWT_EC_COORDINATE_MAX] = {POINT_CONVERSION_UNCOMPRESSED};
    memcpy(point + 1, x.ptr, size);
    memcpy(point + 1 + size, y.ptr, size);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *pkey = NULL;
    if (build && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * size) == 1)
        pkey = pkey_from("EC", build); /* refuses points that are not on the curve */
    OSSL_PARAM_BLD_free(build);
    return pkey;
}

static EVP_PKEY *ed25519_key(const struct tape *t, uint32_t obj, struct arena *a) {
    struct slice x;
    if (!base64_get(tape_text_of(t, obj, "x", a), BASE64_URL, a, &x) || x.len != 32)
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)x.ptr, x.len);
}

static EVP_PKEY *key_make(const struct tape *t, uint32_t obj, struct arena *a, enum key_kind *ret_kind) {
    static const struct {
        const char *type, *curve;
        enum key_kind kind;
        const char *group;
        size_t size;
    } kinds[] = {
        {"RSA", NULL, KEY_RSA, NULL, 0},           {"EC", "P-256", KEY_P256, "P-256", 32},
        {"EC", "P-384", KEY_P384, "P-384", 48},    {"EC", "P-521", KEY_P521, "P-521", 66},
        {"OKP", "Ed25519", KEY_ED25519, NULL, 32},
    };
    struct slice type = tape_text_of(t, obj, "kty", a), curve = tape_text_of(t, obj, "crv", a);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!slice_is(type, kinds[i].type) || (kinds[i].curve && !slice_is(curve, kinds[i].curve)))
            continue;
        *ret_kind = kinds[i].kind;
        if (kinds[i].group)
            return ec_key(t, obj, kinds[i].group, kinds[i].size, a);
        return kinds[i].kind == KEY_RSA ? rsa_key(t, obj, a) : ed25519_key(t, obj, a);
    }
    return NULL;
}

/* RFC 7517, 4.2 and 4.3: a public key that verifies signatures. One whose private half is published as well
 * proves nothing. */
static bool key_is_for_us(const struct tape *t, uint32_t obj, struct arena *a) {
    uint32_t use = tape_get_str(t, obj, "use"), ops = tape_get_str(t, obj, "key_ops");
    bool verifies = !ops;
    if (use && !slice_is(tape_text_of(t, obj, "use", a), "sig"))
        return false;
    if (ops && !tape_is(t, ops, TAPE_ARRAY))
        return false;
    if (ops)
        TAPE_FOR_ELEM(t, ops, op) { verifies = verifies || tape_eq(t, op, SLICE("verify")); }
    return verifies && !tape_get_str(t, obj, "d") && !tape_get_str(t, obj, "k");
}

static void key_add(struct jwt_keys *keys, const struct tape *t, uint32_t obj, struct arena *a) {
    struct slice alg = tape_text_of(t, obj, "alg", a);
    size_t algorithm = algorithm_index(alg);
    if (!key_is_for_us(t, obj, a) || (tape_get_str(t, obj, "alg") && algorithm == ARRAY_LEN(algorithms)) ||
        keys->count == CRYPTO_JWT_KEYS_MAX)
        return;
    enum key_kind kind;
    EVP_PKEY *pkey = key_make(t, obj, a, &kind);
    if (!pkey)
        return;
    struct slice kid = tape_text_of(t, obj, "kid", a);
    keys->items[keys->count++] = (struct key){
        .pkey = pkey,
        .kind = kind,
        .kid = kid.len ? mem_dup(kid.ptr, kid.len) : NULL,
        .kid_len = kid.len,
        .algorithm = algorithm,
    };
}

int jwt_keys_read(struct slice text, struct jwt_keys **ret_keys, struct err *err) {
    cleanup_arena struct arena a;
    cleanup_tape struct tape t;
    arena_init(&a);
    tape_init(&t);
    enum tape_fault fault = tape_parse(&t, text, NULL);
    if (fault != TAPE_OK)
        return err_set(err, "the key set is no JSON: %s", tape_fault_text(fault));
    uint32_t list = tape_get_str(&t, 0, "keys");
    if (!list || !tape_is(&t, list, TAPE_ARRAY))
        return err_set(err, "the key set has no `keys`");
    struct jwt_keys *keys = mem_zalloc(sizeof(*keys));
    TAPE_FOR_ELEM(&t, list, key) {
        if (tape_is(&t, key, TAPE_OBJECT))
            key_add(keys, &t, key, &a);
    }
    if (!keys->count) {
        jwt_keys_free(keys);
        return err_set(err, "the key set has no usable key for signatures");
    }
    *ret_keys = keys;
    return 0;
}

void jwt_keys_free(struct jwt_keys *keys) {
    if (!keys)
        return;
    for (size_t i = 0; i < keys->count; i++) {
        EVP_PKEY_free(keys->items[i].pkey);
        free(keys->items[i].kid);
    }
    free(keys);
}

/* ---- reading ---- */

/* Only access tokens: security events, DPoP proofs and logout tokens have other types. */
static bool type_ok(struct slice type) {
    if (slice_eq_nocase(slice_upto(type, 12), SLICE("application/")))
        type = slice_from(type, 12);
    return !type.len || slice_eq_nocase(type, SLICE("JWT")) || slice_eq_nocase(type, SLICE("at+jwt"));
}

static enum jwt_fault read_header(struct slice json, struct arena *a, struct jwt *jwt) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, json, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT) || t.has_nul ||
        tape_get_str(&t, 0, "crit"))
        return JWT_MALFORMED;
    uint32_t alg = tape_get_str(&t, 0, "alg"), type = tape_get_str(&t, 0, "typ"),
             kid = tape_get_str(&t, 0, "kid");
    if (!alg || !tape_is(&t, alg, TAPE_STRING) || (type && !tape_is(&t, type, TAPE_STRING)) ||
        (kid && !tape_is(&t, kid, TAPE_STRING)) || !type_ok(tape_text_of(&t, 0, "typ", a)))
        return JWT_MALFORMED;
    jwt->kid = arena_dup(a, tape_text_of(&t, 0, "kid", a));
    jwt->algorithm = algorithm_index(tape_text_of(&t, 0, "alg", a));
    return jwt->algorithm < ARRAY_LEN(algorithms) ? JWT_OK : JWT_ALGORITHM;
}

enum jwt_fault jwt_read(struct slice token, struct arena *a, struct jwt *ret_jwt) {
    *ret_jwt = (struct jwt){0};
    tape_init(&ret_jwt->claims);
    struct slice rest = token, parts[3], json;
    if (token.len > CRYPTO_JWT_BYTES_MAX || !slice_cut(&rest, '.', &parts[0]) ||
        !slice_cut(&rest, '.', &parts[1]))
        return JWT_MALFORMED;
    parts[2] = rest; /* another dot is no digit */
    if (!parts[0].len || !parts[1].len || !base64_get(parts[0], BASE64_URL, a, &json))
        return JWT_MALFORMED;
    enum jwt_fault fault = read_header(json, a, ret_jwt);
    if (fault != JWT_OK)
        return fault;
    struct tape *t = &ret_jwt->claims;
    if (!base64_get(parts[1], BASE64_URL, a, &json) || tape_parse(t, json, NULL) != TAPE_OK || t->has_nul ||
        !tape_is(t, 0, TAPE_OBJECT) || !base64_get(parts[2], BASE64_URL, a, &ret_jwt->signature))
        return JWT_MALFORMED;
    ret_jwt->signed_part = slice_of(token.ptr, parts[0].len + 1 + parts[1].len);
    ret_jwt->issuer = tape_text_of(t, 0, "iss", a);
    ret_jwt->subject = tape_text_of(t, 0, "sub", a);
    return ret_jwt->issuer.len && ret_jwt->subject.len ? JWT_OK : JWT_MALFORMED;
}

void jwt_free(struct jwt *jwt) { tape_free(&jwt->claims); }

/* ---- the signature ---- */

/* The two halves of an ECDSA signature as OpenSSL wants them. */
static unsigned char *ecdsa_der(struct slice raw, size_t size, size_t *ret_len) {
    if (raw.len != 2 * size)
        return NULL;
    BIGNUM *r = BN_bin2bn((const unsigned char *)raw.ptr, (int)size, NULL);
    BIGNUM *s = BN_bin2bn((const unsigned char *)raw.ptr + size, (int)size, NULL);
    ECDSA_SIG *sig = ECDSA_SIG_new();
    unsigned char *der = NULL;
    if (r && s && sig && ECDSA_SIG_set0(sig, r, s) == 1) {
        r = s = NULL; /* owned by the signature from here on */
        int len = i2d_ECDSA_SIG(sig, &der);
        *ret_len = len > 0 ? (size_t)len : 0;
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(sig);
    return der;
}

static bool signature_good(const struct jwt *jwt, EVP_PKEY *pkey) {
    const struct algorithm *alg = &algorithms[jwt->algorithm];
    const unsigned char *sig = (const unsigned char *)jwt->signature.ptr;
    size_t sig_len = jwt->signature.len;
    unsigned char *der = NULL;
    if (alg->coordinate) {
        der = ecdsa_der(jwt->signature, alg->coordinate, &sig_len);
        if (!der)
            return false;
        sig = der;
    }
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *how = NULL;
    bool good = ctx && EVP_DigestVerifyInit_ex(ctx, &how, alg->digest, NULL, NULL, pkey, NULL) == 1 &&
                (!alg->pss || (EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
                               EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1)) &&
                EVP_DigestVerify(ctx, sig, sig_len, (const unsigned char *)jwt->signed_part.ptr,
                                 jwt->signed_part.len) == 1;
    EVP_MD_CTX_free(ctx);
    OPENSSL_free(der);
    return good;
}

enum jwt_fault jwt_verify(const struct jwt *jwt, const struct jwt_keys *keys, uint32_t allowed) {
    if (!(allowed >> jwt->algorithm & 1))
        return JWT_ALGORITHM;
    bool tried = false;
    for (size_t i = 0; keys && i < keys->count; i++) {
        const struct key *k = &keys->items[i];
        if (k->kind != algorithms[jwt->algorithm].kind ||
            (k->algorithm < ARRAY_LEN(algorithms) && k->algorithm != jwt->algorithm) ||
            (jwt->kid.len && !slice_eq(jwt->kid, slice_of(k->kid, k->kid_len))))
            continue;
        tried = true;
        if (signature_good(jwt, k->pkey))
            return JWT_OK;
    }
    return tried ? JWT_SIGNATURE : JWT_KEY;
}

/* ---- the claims ---- */

/* Seconds; false when the member exists and is not a time. */
static bool time_at(const struct jwt *jwt, const char *key, bool *ret_there, double *ret_s) {
    uint32_t node = tape_get_str(&jwt->claims, 0, key);
    *ret_there = node != 0;
    return !node || (tape_is(&jwt->claims, node, TAPE_NUMBER) && tape_double(&jwt->claims, node, ret_s) &&
                     *ret_s >= 0 && *ret_s < 1e12);
}

static bool claim_names(const struct jwt *jwt, const char *claim, struct slice text) {
    const struct tape *t = &jwt->claims;
    uint32_t node = tape_get_str(t, 0, claim);
    if (!node || !tape_is(t, node, TAPE_ARRAY))
        return node && tape_eq(t, node, text);
    TAPE_FOR_ELEM(t, node, elem) {
        if (tape_eq(t, elem, text))
            return true;
    }
    return false;
}

bool jwt_claim_has(const struct jwt *jwt, const char *claim, struct slice word) {
    uint32_t node = tape_get_str(&jwt->claims, 0, claim);
    if (!node || !tape_is(&jwt->claims, node, TAPE_STRING))
        return claim_names(jwt, claim, word);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice rest = tape_text(&jwt->claims, node, &a), one;
    while (rest.len) {
        slice_cut(&rest, ' ', &one);
        if (slice_eq(one, word))
            return true;
    }
    return false;
}

enum jwt_fault jwt_judge(const struct jwt *jwt, const struct jwt_rules *rules, uint64_t now_s,
                         uint64_t *ret_expires_s) {
    bool has_exp, has_nbf, has_iat;
    double exp = 0, nbf = 0, iat = 0, now = (double)now_s, skew = (double)rules->skew_s;
    if (!time_at(jwt, "exp", &has_exp, &exp) || !time_at(jwt, "nbf", &has_nbf, &nbf) ||
        !time_at(jwt, "iat", &has_iat, &iat) || !has_exp)
        return JWT_MALFORMED;
    if (!slice_is(jwt->issuer, rules->issuer))
        return JWT_ISSUER;
    bool meant = false;
    for (size_t i = 0; i < rules->audience_count; i++)
        meant |= claim_names(jwt, "aud", slice_str(rules->audiences[i]));
    if (!meant)
        return JWT_AUDIENCE;
    if (now >= exp + skew && !rules->ended)
        return JWT_EXPIRED;
    if ((has_nbf && now + skew < nbf) || (has_iat && now + skew < iat))
        return JWT_EARLY;
    *ret_expires_s = (uint64_t)ceil(exp + skew);
    return JWT_OK;
}
