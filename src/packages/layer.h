/* Makes a layer: checks an archive, unpacks it beside the layers, and renames it into its place. */
#pragma once

#include "base/arena.h"
#include "packages/manifest.h"

#define PACK_LAYER_SCRATCH "tmp-" /* prefix of directories of a running command */

/* One archive of it. */
struct pack_layer_part {
    const char *file;    /* the wheel or tarball */
    struct slice prefix; /* of a tarball: "node_modules/zod" */
};

/* SHA-256 of a file as digits, or (what npm writes) its `sha512-BASE64`. */
int pack_layer_sha256(const char *file, char ret_hex[65], struct err *err);
int pack_layer_check_integrity(const char *file, struct slice integrity, struct err *err);

/* Unpacks into the new directory `to`; *layer gets its size and, of a wheel, its modules. */
int pack_layer_unpack(enum pack_kind kind, const struct pack_layer_part *parts, size_t count, const char *to,
                      struct pack_layer *layer, struct arena *a, struct err *err);
/* Clears all write permissions in it. */
int pack_layer_place(const char *from, const char *dir, struct slice path, struct err *err);
/* Removes a directory of this room with its content. A missing one is fine. */
void pack_layer_remove(const char *path);
