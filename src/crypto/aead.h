/* Authenticated encryption: AES-256-GCM under a random nonce.
 *
 *   box = nonce 12 | tag 16 | ciphertext
 *
 * `bound` is associated data, authenticated but not encrypted: a box opens only with the same `bound`, so
 * that it cannot replace another box of the same key. */
#pragma once

#include "base/slice.h"
#include "crypto/limits.h"

#define CRYPTO_SEAL_KEY 32
#define CRYPTO_SEAL_HEAD 28 /* bytes in front of the ciphertext, which is as long as the text */

/* `ret_box` has room for CRYPTO_SEAL_HEAD + text.len bytes. The text is not longer than
 * CRYPTO_SEAL_BYTES_MAX. */
void crypto_seal(const unsigned char key[CRYPTO_SEAL_KEY], struct slice bound, struct slice text,
                 void *ret_box);
/* False when the box was changed, or sealed with another key or for another `bound`. `ret_text` has room for
 * box.len - CRYPTO_SEAL_HEAD bytes and is undefined after a failure. */
bool crypto_unseal(const unsigned char key[CRYPTO_SEAL_KEY], struct slice bound, struct slice box,
                   void *ret_text);
