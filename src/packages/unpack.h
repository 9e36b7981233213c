/* Files of an untrusted archive, written beneath one fresh directory. Plain files only, each once:
 * no link is ever made, so no path can lead out; a path that is not plain is refused with its archive. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "packages/limits.h"

struct pack_unpack {
    int root;                   /* the directory, borrowed */
    uint64_t bytes;             /* written so far */
    uint64_t claimed;           /* sizes that the archive has told so far */
    uint32_t files;             /* those written */
    int fd;                     /* of the file under way, or -1 */
    char parent[PACK_PATH_MAX]; /* of the file before, which the next one often shares */
    int parent_fd;              /* opened, or -1 */
};

void pack_unpack_begin(struct pack_unpack *u, int root);
/* Is this a path that may be made? Relative, without `..`, of ordinary length. */
int pack_unpack_check(struct slice path, struct err *err);
/* Another file of that size is to come; -1 when the archive gets too large. Before anything is written. */
int pack_unpack_claim(struct pack_unpack *u, uint64_t size, struct err *err);
/* Begins a file; its bytes follow, then its end. */
int pack_unpack_open(struct pack_unpack *u, struct slice path, struct err *err);
int pack_unpack_put(struct pack_unpack *u, struct slice bytes, struct err *err);
int pack_unpack_close(struct pack_unpack *u, struct err *err);
/* Also in the middle. */
void pack_unpack_end(struct pack_unpack *u);
