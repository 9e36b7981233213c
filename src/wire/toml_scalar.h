/* The single values of TOML 1.0: strings, numbers, truth values and times. Inside the room only. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Moves *at behind the string that begins there. NULL, or what is wrong with it; *at is then where. */
const char *toml_skip_string(struct slice src, size_t *at);
/* A string with its quotes, checked before, as text. False when it holds U+0000, which no setting can. */
bool toml_decode_string(struct slice raw, struct arena *a, struct slice *ret_text);

enum toml_plain { TOML_PLAIN_BAD, TOML_PLAIN_BOOL, TOML_PLAIN_INT, TOML_PLAIN_FLOAT, TOML_PLAIN_OTHER };

/* How many bytes of the text look like a number, a truth value or a time. */
size_t toml_plain_len(struct slice text);
/* What they are; other: a time, an infinity or no number, for which JSON has no word. */
enum toml_plain toml_plain_kind(struct slice raw);
/* As JSON. False for what it cannot say. */
bool toml_plain_json(struct slice raw, struct buf *out);
