/* SHA-256. OpenSSL's own code, but called directly: asking for it by name (EVP) reads OpenSSL's configuration
 * and sets its providers up first, five million instructions at the start of every gate, and costs a thousand
 * more at each hash. */
#pragma once

#include "base/slice.h"

#define SHA_BYTES 32
#define SHA_HEX 64 /* digits; no NUL behind them */

/* Of all parts, one behind the other. */
void sha_256(const struct slice *parts, size_t count, unsigned char ret_sum[SHA_BYTES]);
void sha_256_hex(struct slice text, char ret_hex[SHA_HEX]);
