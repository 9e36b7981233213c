#include "base/nearest.h"

#define NEAREST_LEN_MAX 64

/* Edit distance with adjacent swaps counted as one; longer words than the maximum are infinitely far. */
size_t nearest_distance(struct slice a, struct slice b) {
    if (a.len > NEAREST_LEN_MAX || b.len > NEAREST_LEN_MAX)
        return SIZE_MAX;
    size_t rows[3][NEAREST_LEN_MAX + 1];
    size_t *before = rows[0], *prev = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.len; j++)
        prev[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t cost = a.ptr[i - 1] != b.ptr[j - 1];
            size_t best = prev[j - 1] + cost;
            if (prev[j] + 1 < best)
                best = prev[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *spare = before;
        before = prev;
        prev = row;
        row = spare;
    }
    return prev[b.len];
}

const char *nearest_word(struct slice word, const char *const *words) {
    const char *best = NULL;
    size_t best_distance = word.len <= 3 ? 2 : word.len <= 6 ? 3 : 4;
    for (; *words; words++) {
        size_t distance = nearest_distance(word, slice_str(*words));
        if (distance < best_distance) {
            best_distance = distance;
            best = *words;
        }
    }
    return best;
}
