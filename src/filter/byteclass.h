/* The first pass: converts 32 bytes at a time into bit masks of byte classes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CLASS_BYTES 32 /* of a block: one bit each */

struct class_masks {
    uint32_t alnum;
    uint32_t digit;
    uint32_t punct; /* @ : = % ~ > */
    uint32_t joint; /* alnum, punct and + - . / _ : characters of keys and addresses */
    uint32_t dash;  /* - alone */
    uint32_t odd;   /* backslash, & and non-ASCII bytes: the text may need folding */
    uint32_t far;   /* the same without the backslash */
    uint32_t u;     /* the letter u: with a backslash it is an escape that needs folding */
    uint32_t percent;
    uint32_t quote; /* ' and ", and also # and &, which the same comparison matches */
    uint32_t lead;  /* a blank and ( : a quote after one may open an argument */
    uint32_t head;  /* where a token may start; set only by pii_byteclass_heads */
};

#define CLASS_HEAD 3
/* The first letters of some names, by the halves of a byte without its three highest bits: of each of up to
 * eight groups of names, all that any of its letters have. Behind a name of two letters anything may come. */
struct class_heads {
    uint8_t letter[CLASS_HEAD][2][16];
};
void pii_byteclass_head_add(struct class_heads *h, unsigned group, const char *name);
/* Marks positions where such letters may be, and digits that preserve_may_start() may accept. `out` has the
 * classes; bytes up to `end` may be read. */
void pii_byteclass_heads(const struct class_heads *h, const char *text, const char *end, size_t blocks,
                         struct class_masks *out);

#define CLASS_NEAR 48
/* The letters and digits, and the line breaks, among the CLASS_NEAR bytes at `text`. */
uint64_t pii_byteclass_near(const char *text, uint64_t *ret_lines);

typedef void class_fn(const char *text, size_t blocks, struct class_masks *out);

void pii_byteclass_scalar(const char *text, size_t blocks, struct class_masks *out);
/* The fastest implementation for this machine. */
class_fn *pii_byteclass_best(void);
/* The implementation for all machines of this architecture. */
class_fn *pii_byteclass_common(void);
