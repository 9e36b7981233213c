/* The first pass: 64 bytes at a time become bit masks of what each byte is. */
#pragma once

#include <stdint.h>

struct class_masks {
    uint64_t alnum;
    uint64_t digit;
    uint64_t punct; /* @ : = % ~ > */
    uint64_t joint; /* alnum, punct and + - . / _ : what words of keys and addresses are made of */
    uint64_t odd;   /* backslash, &, and bytes beyond ASCII: the text may need folding */
};

typedef void class_fn(const char *block, struct class_masks *out);

void pii_class_scalar(const char *block, struct class_masks *out);
/* The fastest that this machine can run. */
class_fn *pii_class_best(void);
