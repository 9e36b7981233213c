/* Headers that mirror a message in the modern era (Mcp-Name, Mcp-Param-*): how a value is written as a
 * header, and which arguments of a tool are mirrored by the `x-mcp-header` marks in its input schema. */
#pragma once

#include "base/buf.h"
#include "wire/tape.h"

#define MIRROR_PATH_MAX 8
#define MIRROR_PARAMS_MAX 64

enum mirror_type { MIRROR_STRING, MIRROR_INTEGER, MIRROR_BOOLEAN };

struct mirror_param {
    struct slice header; /* the part after "Mcp-Param-" */
    enum mirror_type type;
    struct slice path[MIRROR_PATH_MAX]; /* keys from the arguments down */
    uint32_t depth;
};

/* Plain where that is safe, else =?base64?…?=. */
bool mirror_encode(struct slice text, struct buf *out);
/* Reverses mirror_encode; false when the base64 marks enclose invalid base64. */
bool mirror_decode(struct slice value, struct arena *a, struct slice *ret_text);

/* The marks in an input schema, in the arena. False when one of them breaks the rules: such a tool must not
 * be used over HTTP. */
bool mirror_params(const struct tape *t, uint32_t schema, struct arena *a, struct mirror_param **ret_params,
                   size_t *ret_count);
/* Writes the argument that is mirrored as its header value; false when it is absent or null. */
bool mirror_value(const struct tape *t, uint32_t args, const struct mirror_param *p, struct arena *a,
                  struct buf *out);
/* Does this header value (ptr NULL: absent) match the arguments? */
bool mirror_agrees(const struct tape *t, uint32_t args, const struct mirror_param *p, struct slice header,
                   struct arena *a);
