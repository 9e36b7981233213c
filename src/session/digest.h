/* SHA-256 with everything that OpenSSL looks up by name kept from call to call. */
#pragma once

#include "base/slice.h"

#define DIGEST_HEX_LEN 64

struct session_digest;

struct session_digest *digest_new(void);
void digest_free(struct session_digest *d); /* NULL is fine */
void digest_hex(struct session_digest *d, struct slice text, char hex[DIGEST_HEX_LEN]);
