/* Base64 as RFC 4648 has it: one alphabet, one way to write each sequence of bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum base64_kind {
    BASE64_PADDED, /* + and /, with = at the end */
    BASE64_URL     /* - and _, nothing at the end */
};

bool base64_put(struct buf *out, struct slice bytes, enum base64_kind kind);
/* Strict: two readers of one text must not disagree. */
bool base64_get(struct slice text, enum base64_kind kind, struct arena *a, struct slice *ret_bytes);
