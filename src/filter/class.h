/* The first pass: 32 bytes at a time become bit masks of what each byte is. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CLASS_BYTES 32 /* of a block: one bit each */

struct class_masks {
    uint32_t alnum;
    uint32_t digit;
    uint32_t punct; /* @ : = % ~ > */
    uint32_t joint; /* alnum, punct and + - . / _ : what words of keys and addresses are made of */
    uint32_t dash;  /* - alone */
    uint32_t odd;   /* backslash, &, and bytes beyond ASCII: the text may need folding */
    uint32_t far;   /* the same without the backslash */
    uint32_t u;     /* the letter that makes a backslash one of those */
};

#define CLASS_NEAR 48
/* Of the CLASS_NEAR bytes at `text`: the letters and digits, and the line breaks. */
uint64_t pii_class_near(const char *text, uint64_t *ret_lines);

typedef void class_fn(const char *text, size_t blocks, struct class_masks *out);

void pii_class_scalar(const char *text, size_t blocks, struct class_masks *out);
/* The fastest that this machine can run. */
class_fn *pii_class_best(void);
/* The one that all machines of its sort can run. */
class_fn *pii_class_common(void);
