/* Base64 after RFC 4648, standard and URL-safe alphabet. Each byte sequence has exactly one accepted
 * encoding. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum base64_kind {
    BASE64_PADDED, /* + and /, with = at the end */
    BASE64_URL     /* - and _, nothing at the end */
};

bool base64_put(struct buf *out, struct slice bytes, enum base64_kind kind);
/* Strict: refuses wrong padding and non-zero trailing bits, so that two decoders cannot disagree. */
bool base64_get(struct slice text, enum base64_kind kind, struct arena *a, struct slice *ret_bytes);
