/* Texts inside texts. A layer is a decoded text with the way back: which byte of the source each of its
 * bytes came from. JSON strings, and JSON inside them, become layers; edits are made in source offsets, so
 * whatever is not edited keeps its bytes.
 *
 *   source   {"a":"{\"b\":\"x\\u0040y.z\"}"}
 *   layer 1        {"b":"x\u0040y.z"}            map ─▶ source
 *   layer 2              x@y.z                   map ─▶ source
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "filter/edits.h"

struct source_layer {
    struct slice text;
    struct source_map *map; /* NULL: text[i] is source[base + i] */
    uint32_t base;          /* with a map: text[i] is byte base + i of it */
    uint8_t level;          /* nesting of strings around it */
};

/* Where a decoded text came from: from byte `at` of it on, its bytes are those of the source from `from` on;
 * the bytes of one escaped character all came from where that starts. */
struct source_step {
    uint32_t at;
    uint32_t from;
    bool escape;
};

/* Computed on demand: most texts contain nothing to find. */
struct source_map {
    struct source_step *steps; /* NULL: not computed yet */
    uint32_t count;
    struct slice raw; /* the encoded text */
    uint32_t start;   /* its offset in the outer layer */
    struct source_map *outer;
    uint32_t outer_base;
    struct arena *arena;
};

/* The source offset of byte i, or of the end if i is the length. */
uint32_t filter_source_offset(const struct source_layer *l, uint32_t i);

/* Decodes a string node of a tape over layer `l` into a new layer. */
struct source_layer filter_source_string(const struct source_layer *l, const struct tape *t, uint32_t node,
                                         struct arena *a);
/* Escapes a text `levels` times for the inside of JSON strings. */
struct slice filter_source_escape(struct slice text, unsigned levels, struct arena *a);

/* Calls back for every string, key and number under `node`, and for those of JSON inside strings. */
struct source_item {
    struct source_layer layer; /* the decoded string, or the digits of a number */
    struct slice key;          /* of the value, decoded; its own text when it is a key */
    bool is_key;
    bool is_number;
    const struct source_layer *outer; /* the layer that it stands in, and where there, with its quotes */
    uint32_t outer_start;
    uint32_t outer_end;
    uint32_t array; /* of the object in the array that holds it: for content parts; 0 when none */
};
/* Its position in the source, with the quotes. */
void filter_source_place(const struct source_item *item, uint32_t *ret_start, uint32_t *ret_end);
/* Does the length of a JSON number fit personal data? */
bool filter_source_number_fits(struct slice text);
typedef bool source_fn(void *ctx, const struct source_item *item);
bool filter_source_walk(const struct tape *t, uint32_t node, struct arena *a, source_fn *each, void *ctx);
