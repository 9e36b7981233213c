/* JSON Web Tokens, read strictly and judged by public keys only. Pure: keys, time and rules come in, nothing
 * is fetched.
 *
 *   text ── jwt_read ──▶ header and claims ── jwt_verify(keys) ──▶ signed ── jwt_judge(rules, now) ──▶ good
 *
 * Refused whatever the rules say: `none` and every algorithm with a shared secret, `crit`, keys that do not
 * fit the algorithm, keys for other uses (`use`, `key_ops`), RSA below 2048 bits, with an even or small
 * exponent or with the weakness ROCA, padding or stray bits in base64, duplicate members. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "crypto/limits.h"
#include "wire/tape.h"

enum jwt_fault {
    JWT_OK,
    JWT_MALFORMED,
    JWT_ALGORITHM,
    JWT_KEY, /* no key of that name: the issuer may have a new one */
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
    size_t algorithm; /* which one */
    struct slice kid; /* empty for none */
    struct tape claims;
    struct slice issuer; /* claims as text; empty when absent */
    struct slice subject;
};

struct jwt_keys; /* the public keys of one issuer */

/* Keys of other kinds and uses are passed over; -1 when none is left or the document is not a key set. */
int jwt_keys_read(struct slice text, struct jwt_keys **ret_keys, struct err *err);
void jwt_keys_free(struct jwt_keys *keys); /* NULL is fine */

/* Texts live in the arena or in the token; free the claims with jwt_free whatever the answer. */
enum jwt_fault jwt_read(struct slice token, struct arena *a, struct jwt *ret_jwt);
void jwt_free(struct jwt *jwt);
enum jwt_fault jwt_verify(const struct jwt *jwt, const struct jwt_keys *keys, uint32_t algorithms);

struct jwt_rules {
    const char *issuer;
    const char *const *audiences; /* one of them has to be there */
    size_t audience_count;
    uint64_t skew_s;
    bool ended; /* also one whose time is over: the session that it began outlives it */
};
/* *ret_expires_s: when it ends, the skew included. */
enum jwt_fault jwt_judge(const struct jwt *jwt, const struct jwt_rules *rules, uint64_t now_s,
                         uint64_t *ret_expires_s);
/* Is the word one of those in a claim: a text of words between spaces (scope), or a list of texts? */
bool jwt_claim_has(const struct jwt *jwt, const char *claim, struct slice word);
