/* The tables that fold_table.py makes at build time. Private to fold.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fold_row { /* sorted by code */
    uint32_t code;
    uint16_t at; /* its folded form in fold_pool, UTF-8 */
    uint8_t len;
};

struct fold_class { /* sorted; code points that are not listed have class 0 */
    uint32_t first, last;
    uint8_t rank;
};

extern const struct fold_row fold_rows[];
extern const size_t fold_row_count;
extern const struct fold_class fold_classes[];
extern const size_t fold_class_count;
extern const unsigned char fold_pool[];
