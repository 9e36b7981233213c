/* Writes the files of an untrusted archive below one new directory: plain files only, each once. No link is
 * created, so no path can lead out. An archive with any other path is refused. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "packages/limits.h"

struct pack_unpack {
    int root;                   /* the directory, borrowed */
    uint64_t bytes;             /* written so far */
    uint64_t claimed;           /* total of the sizes that the archive has declared so far */
    uint32_t files;             /* those written */
    int fd;                     /* of the file under way, or -1 */
    char parent[PACK_PATH_MAX]; /* directory of the previous file, often that of the next one */
    int parent_fd;              /* opened, or -1 */
};

void pack_unpack_begin(struct pack_unpack *u, int root);
/* Is this path allowed? Relative, without `..`, of limited length. */
int pack_unpack_check(struct slice path, struct err *err);
/* Announces a file of that size before it is written; -1 when the archive becomes too large. */
int pack_unpack_claim(struct pack_unpack *u, uint64_t size, struct err *err);
/* Begins a file; pack_unpack_put and pack_unpack_close follow. */
int pack_unpack_open(struct pack_unpack *u, struct slice path, struct err *err);
int pack_unpack_put(struct pack_unpack *u, struct slice bytes, struct err *err);
int pack_unpack_close(struct pack_unpack *u, struct err *err);
/* Also while a file is open. */
void pack_unpack_end(struct pack_unpack *u);
