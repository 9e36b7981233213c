#include "base/portion.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool portion_fits(const struct map *home, struct slice owner, bool is_whole, size_t left) {
    const struct portion *s = map_get(home, owner);
    return is_whole || (s ? s->count : 0) < left;
}

struct portion *portion_take(struct map *home, struct slice owner, bool is_whole, size_t left) {
    if (!portion_fits(home, owner, is_whole, left))
        return NULL;
    struct portion *s = map_get(home, owner);
    if (!s) {
        s = mem_zalloc(sizeof(*s) + owner.len);
        s->home = home;
        s->key_len = owner.len;
        if (owner.len) /* a client on a Unix socket has no network */
            memcpy(s->key, owner.ptr, owner.len);
        map_put(home, slice_of(s->key, s->key_len), s);
    }
    s->is_whole = is_whole;
    s->count++;
    return s;
}

void portion_give(struct portion *s) {
    if (--s->count)
        return;
    struct map *home = s->home;
    map_remove(home, slice_of(s->key, s->key_len));
    if (!home->count)
        map_free(home);
    free(s);
}
