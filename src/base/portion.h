/* Pieces of something that many owners share, counted by owner.
 *
 * An owner gets no more than is left for the others. Alone it can take half of everything, a second one half
 * of the rest, and so on: the next owner always finds room, and nothing has to be configured. */
#pragma once

#include "base/map.h"

struct portion {
    struct map *home;
    uint32_t count; /* pieces that the owner has */
    bool is_whole;  /* it may use everything: only the ceilings of all hold, which the caller checks */
    size_t bytes;   /* for a caller that also counts bytes by owner */
    size_t key_len;
    char key[];
};

static inline size_t portion_left(size_t max, size_t used) { return used < max ? max - used : 0; }

/* One more piece for the owner of that name. NULL: it has as many as it may have. `left`: pieces that nobody
 * has. */
struct portion *portion_take(struct map *home, struct slice owner, bool is_whole, size_t left);
/* Would portion_take() succeed? */
bool portion_fits(const struct map *home, struct slice owner, bool is_whole, size_t left);
/* Gives one piece back. A home without owners has no memory. */
void portion_give(struct portion *s);
