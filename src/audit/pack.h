/* Packs the records of a block: a text that equals the one in the previous record of the same kind is not
 * written again. Most calls differ in little but their numbers, and a log mostly costs the bytes that are
 * copied, hashed and kept. The chain covers the complete records, so nothing here has to be trusted.
 *
 *   FF FF FF FF │ tag, 8 │ mask, 3 │ kind and numbers │ texts whose bit is not set, each with its length │ …
 *
 * A bit of the mask: that text is unchanged (initially empty). For texts from AUDIT_TEXTS_OLD on the bit is
 * inverted. Private to the audit room. */
#pragma once

#include "audit/record.h"

#define PACK_MARK 4 /* bytes in front */

/* A block that is being packed. */
struct pack {
    char *start;
    char *to;
    struct slice before[AUDIT_KIND_EVENT]; /* the texts of the last record of each kind, where it lies */
};

/* `to` has room for PACK_MARK bytes more than the plain frames would take. */
void audit_pack_begin(struct pack *p, char *to);
/* A canonical record, whose bytes stay until the block is complete, and the first bytes of its hash. */
void audit_pack_add(struct pack *p, const unsigned char *tag, struct slice record);
static inline struct slice audit_pack_body(const struct pack *p) {
    return slice_of(p->start, (size_t)(p->to - p->start));
}
/* The plain frames of a body, packed or not. *room is made when it is needed; free it in the end. Where a
 * body is damaged the sound frames come, and behind them one that has no sound length. */
struct slice audit_unpack(struct slice body, char **room);
