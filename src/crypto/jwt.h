/* JSON Web Tokens, read strictly and judged by public keys only. Pure: keys, time and rules come in, nothing
 * is fetched.
 *
 *   text ── jwt_read ──▶ header and claims ── jwt_verify(keys) ──▶ signed ── jwt_judge(rules, now) ──▶ good
 *
 * Always refused, independent of the rules: `none` and every algorithm with a shared secret, `crit`, keys
 * that do not fit the algorithm, keys for other uses (`use`, `key_ops`), RSA below 2048 bits, with an even or
 * small exponent or with the weakness ROCA, padding or stray bits in base64, duplicate members. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "crypto/limits.h"
#include "wire/tape.h"

enum jwt_fault {
    JWT_OK,
    JWT_MALFORMED,
    JWT_ALGORITHM,
    JWT_KEY, /* no key with that id: the issuer may have a new one */
    JWT_SIGNATURE,
    JWT_EXPIRED,
    JWT_EARLY,
    JWT_ISSUER,
    JWT_AUDIENCE,
};
const char *jwt_fault_text(enum jwt_fault fault);

/* A set of algorithms has one bit for each; 0 when the name is not supported. */
uint32_t jwt_algorithm_from(struct slice name);
#define JWT_ALGORITHMS_ALL UINT32_MAX

struct jwt {
    struct slice signed_part;
    struct slice signature;
    size_t algorithm; /* the algorithm */
    struct slice kid; /* empty when absent */
    struct tape claims;
    struct slice issuer; /* claims as text; empty when absent */
    struct slice subject;
};

struct jwt_keys; /* the public keys of one issuer */

/* Keys of other types and uses are skipped; -1 when no key is left or the document is not a key set. */
int jwt_keys_read(struct slice text, struct jwt_keys **ret_keys, struct err *err);
void jwt_keys_free(struct jwt_keys *keys); /* NULL is fine */

/* Texts live in the arena or in the token. Free the claims with jwt_free, also after a failure. */
enum jwt_fault jwt_read(struct slice token, struct arena *a, struct jwt *ret_jwt);
void jwt_free(struct jwt *jwt);
enum jwt_fault jwt_verify(const struct jwt *jwt, const struct jwt_keys *keys, uint32_t algorithms);

struct jwt_rules {
    const char *issuer;
    const char *const *audiences; /* at least one must be present */
    size_t audience_count;
    uint64_t skew_s;
    bool ended; /* also accept expired tokens: the session that one started lasts longer */
};
/* ret_expires_s: the expiry, including the allowed clock skew. */
enum jwt_fault jwt_judge(const struct jwt *jwt, const struct jwt_rules *rules, uint64_t now_s,
                         uint64_t *ret_expires_s);
/* Is the word in the claim? The claim is a text of words separated by spaces (scope), or a list of texts. */
bool jwt_claim_has(const struct jwt *jwt, const char *claim, struct slice word);
