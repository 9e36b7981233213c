/* Texts that a long run of characters encodes: base64, base32, base85 and digits of bytes, each in its usual
 * alphabets. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

typedef void codec_fn(void *ctx, struct slice text);
/* Wherever the encoded text begins in the run, and whatever bytes stand around it. UTF-16 is read without its
 * zero bytes. */
void codec_each(struct slice text, struct arena *a, codec_fn *each, void *ctx);
