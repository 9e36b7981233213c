/* Lists that come in pages. By the specification an empty cursor names a page, too, but several servers end
 * their lists with one, and others answer every cursor with the same page. */
#pragma once

#include "base/sha.h"
#include "wire/tape.h"

struct server_pages { /* of one list; all zero at its beginning */
    uint32_t count;   /* pages so far */
    unsigned char list[SHA_BYTES];
    unsigned char cursor[SHA_BYTES]; /* of the page that comes next */
};

/* Takes the page `result`, whose elements are the array `list`. *ret_cursor is the raw cursor of the next
 * page, empty when there is none or when it would lead to this page again. False: its elements are those of
 * the page before, so they do not count. */
bool server_pages_take(struct server_pages *p, const struct tape *t, uint32_t result, uint32_t list,
                       struct slice *ret_cursor);
