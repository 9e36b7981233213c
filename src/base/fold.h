/* Texts that a lenient reader takes for one another: equal under Unicode case folding or compatibility
 * normalisation (NFKC). Go's encoding/json reads `Amount` and `ſql` as `amount` and `sql`; Python folds
 * identifiers by NFKC. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

bool fold_is_ascii(struct slice text);

/* Whether any of eight bytes is an upper-case letter or goes beyond ASCII. The sums carry into the top bit of
 * a byte from A and from [ on; without that bit set before, none of them runs over into the next. */
static inline uint64_t fold_odd_bytes(uint64_t eight) {
    const uint64_t ones = 0x0101010101010101u, tops = 0x80 * ones;
    uint64_t low = eight & ~tops;
    return (eight | ((low + (0x80 - 'A') * ones) & ~(low + (0x80 - '[') * ones))) & tops;
}

/* Only the last `count` (one to eight) of eight bytes that were loaded from memory, the others zero. */
static inline uint64_t fold_last_bytes(uint64_t eight, unsigned count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return eight >> 8 * (8 - count);
#else
    return eight & (UINT64_MAX >> 8 * (8 - count));
#endif
}

/* Only ASCII, and no upper case: such a text is its own folded form. */
static inline bool fold_is_plain(struct slice text) {
    uint64_t odd = 0, part = 0;
    size_t at = 0;
    for (; at + sizeof(part) <= text.len; at += sizeof(part)) {
        memcpy(&part, text.ptr + at, sizeof(part));
        odd |= fold_odd_bytes(part);
    }
    for (part = 0; at < text.len; at++)
        part = part << 8 | (unsigned char)text.ptr[at];
    return !(odd | fold_odd_bytes(part));
}
/* The folded form: borrowed when the text is plain, else built in the arena. Two texts are alike exactly when
 * their folded forms are equal. The text must be valid UTF-8. */
struct slice fold_text(struct slice text, struct arena *a);
bool fold_alike(struct slice x, struct slice y, struct arena *a);
