#include "server/paging.h"

static void sum_of(struct slice text, unsigned char ret_sum[SHA_BYTES]) { sha_256(&text, 1, ret_sum); }

bool server_pages_take(struct server_pages *p, const struct tape *t, uint32_t result, uint32_t list,
                       struct slice *ret_cursor) {
    unsigned char list_sum[SHA_BYTES], cursor_sum[SHA_BYTES];
    uint32_t next = tape_get_str(t, result, "nextCursor");
    *ret_cursor = next && tape_is(t, next, TAPE_STRING) ? tape_raw(t, next) : (struct slice){0};
    bool first = p->count++ == 0;
    if (first && !ret_cursor->len)
        return true; /* nothing to compare with */
    sum_of(tape_raw(t, list), list_sum);
    sum_of(*ret_cursor, cursor_sum);
    bool repeats = !first && tape_node(t, list)->count && memcmp(list_sum, p->list, SHA_BYTES) == 0;
    if (repeats || (!first && memcmp(cursor_sum, p->cursor, SHA_BYTES) == 0))
        *ret_cursor = (struct slice){0};
    memcpy(p->list, list_sum, SHA_BYTES);
    memcpy(p->cursor, cursor_sum, SHA_BYTES);
    return !repeats;
}
