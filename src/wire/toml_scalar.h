/* The single values of TOML 1.0: strings, numbers, truth values and times. Inside the room only. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Moves *at behind the string that begins there. Returns NULL, or the fault, with *at at its position. */
const char *toml_skip_string(struct slice src, size_t *at);
/* A string with its quotes, checked before, as text. False when it holds U+0000, which no setting can. */
bool toml_decode_string(struct slice raw, struct arena *a, struct slice *ret_text);

enum toml_plain { TOML_PLAIN_BAD, TOML_PLAIN_BOOL, TOML_PLAIN_INT, TOML_PLAIN_FLOAT, TOML_PLAIN_OTHER };

/* Length of the prefix that could be a number, a boolean or a time. */
size_t toml_plain_len(struct slice text);
/* Its kind; other: a time, an infinity or NaN, which JSON does not have. */
enum toml_plain toml_plain_kind(struct slice raw);
/* As JSON. False for values that JSON does not have. */
bool toml_plain_json(struct slice raw, struct buf *out);
