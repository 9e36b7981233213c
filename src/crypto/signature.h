/* Ed25519 signatures. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define CRYPTO_SIGNATURE 64
#define CRYPTO_SIGNATURE_KEY 32 /* bytes of a public key */

struct crypto_signer; /* a key pair, or the public half of one */

/* The secret key at `path` (crypto/keyfile.h says who may read it), or a new one when there is none yet; its
 * public half, as PEM, at `public_path`, created when absent. A secret key that is missing beside its public
 * half is an error: a new one would make the old signatures look forged.
 *
 *   sallyport ed25519 secret key 1
 *   64 digits of the key, 8 digits of the SHA-256 of everything before
 *
 * A secret key as PEM (PKCS #8), as version 0.1.0 wrote it, is read as well. Reading that format takes
 * OpenSSL 0.5 ms at every start, the one above 0.06 ms. */
int crypto_signer_load(const char *path, const char *public_path, struct crypto_signer **ret_signer,
                       struct err *err);
/* Could the key be loaded or created? Does not need OpenSSL for a key in our format, so it is cheap at
 * start. */
int crypto_signer_check(const char *path, const char *public_path, struct err *err);
/* The public half alone, from a PEM file: it verifies but does not sign. */
int crypto_signer_read_public(const char *public_path, struct crypto_signer **ret_signer, struct err *err);
/* From its 32 bytes. */
int crypto_signer_of_public(const unsigned char key[CRYPTO_SIGNATURE_KEY], struct crypto_signer **ret_signer,
                            struct err *err);
void crypto_signer_free(struct crypto_signer *s); /* NULL is fine */

void crypto_sign(const struct crypto_signer *s, struct slice text, unsigned char ret_sign[CRYPTO_SIGNATURE]);
bool crypto_verify(const struct crypto_signer *s, struct slice text,
                   const unsigned char sign[CRYPTO_SIGNATURE]);
/* By the 32 bytes of a public key. */
bool crypto_verify_with(const unsigned char key[CRYPTO_SIGNATURE_KEY], struct slice text,
                        const unsigned char sign[CRYPTO_SIGNATURE]);
void crypto_signer_public(const struct crypto_signer *s, unsigned char ret_key[CRYPTO_SIGNATURE_KEY]);
