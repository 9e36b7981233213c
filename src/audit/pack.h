/* A block as it lies in the file: what a text has in common with the record before it of the same kind is not
 * written again. Most calls differ in their numbers and little else, and bytes that are copied into a file
 * twice, summed and kept for years are what a log costs. The chain is over the whole records; nothing here
 * has to be trusted.
 *
 *   FF FF FF FF │ tag, 8 │ mask, 3 │ kind and numbers │ texts whose bit is not set, each behind its length │
 * …
 *
 * A bit of the mask: that text is as before (at first: empty). Private to the audit room. */
#pragma once

#include "audit/record.h"

#define PACK_MARK 4 /* bytes in front */

/* `frames` is a body of plain frames, each a canonical record. `to` has room for PACK_MARK
 * bytes more than they have. Returns the length. */
size_t audit_pack(struct slice frames, char *to);
/* The plain frames of a body, packed or not. *room is made when it is needed; free it in the end. Where a
 * body is damaged the sound frames come, and behind them one that has no sound length. */
struct slice audit_unpack(struct slice body, char **room);
