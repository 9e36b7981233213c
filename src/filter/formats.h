/* Secret formats of vendors: a unique prefix and the shape of what follows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Tail: a class letter with a count or a range, and literal text in 'quotes'.
 *   d digit    h lower hex   H hex        l a-z0-9   u A-Z0-9    a letter   w letter or digit
 *   j w and _  b w, _ and -  B b and =    s w + / =  D b and .   S b + / = . ~  */
struct format {
    const char *sub;
    const char *prefix; /* three characters or more */
    const char *tail;
    uint16_t entropy; /* of the tail, hundredths of a bit; 0 means 250 */
};

extern const struct format pii_formats[];
extern const size_t pii_formats_count;
