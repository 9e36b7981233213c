/* What is installed: DIR/manifest.json, replaced as a whole. A layer is a read-only directory named by what
 * is in it; a package is a name and a version, with the layers that it needs, its own first.
 *
 *   DIR/manifest.json
 *   DIR/py/SHA-256 of the wheel/pandas/...             one layer for each wheel, shared by the packages that
 * need it DIR/js/SHA-256 of the lock file/node_modules/...   one layer for each package of npm, with all that
 * it needs
 */
#pragma once

#include "base/arena.h"
#include "packages/spec.h"

#define PACK_MANIFEST_NAME "manifest.json"

struct pack_layer {
    struct slice path; /* below DIR */
    struct slice name, version;
    struct slice modules; /* names to import it by, separated by spaces */
    uint64_t bytes;
};

struct pack_package {
    enum pack_kind kind;
    struct slice name, version;
    struct slice python; /* of the interpreter that it was chosen for, "3.11"; empty for npm */
    bool on_request;     /* installed for an agent: usable as long as the operator's list names it */
    uint64_t added_ms;   /* wall clock */
    uint32_t layers[PACK_LAYERS_MAX]; /* indexes */
    size_t layer_count;
};

struct pack_manifest {
    struct arena arena;
    struct pack_layer *layers;
    size_t layer_count;
    struct pack_package **packages; /* in the order of their addition */
    size_t package_count;
};

/* A missing file is an empty manifest. */
int pack_manifest_load(const char *dir, struct pack_manifest *ret_manifest, struct err *err);
int pack_manifest_save(const char *dir, const struct pack_manifest *m, struct err *err);
void pack_manifest_free(struct pack_manifest *m);
static inline void pack_manifest_cleanup(struct pack_manifest *m) { pack_manifest_free(m); }
#define cleanup_manifest __attribute__((cleanup(pack_manifest_cleanup)))

/* The index of the layer of that path, which is added when it is not there. Texts are copied. */
uint32_t pack_manifest_layer(struct pack_manifest *m, const struct pack_layer *layer);
/* Replaces an entry of the same version. */
void pack_manifest_put(struct pack_manifest *m, const struct pack_package *package);
/* The one that was added last among those that fit, or NULL. */
const struct pack_package *pack_manifest_find(const struct pack_manifest *m, const struct pack_spec *spec);
/* Removes the packages that the spec names and returns their number. Layers stay until they are swept. */
size_t pack_manifest_remove(struct pack_manifest *m, const struct pack_spec *spec);
/* Does a package need it? */
bool pack_manifest_needs(const struct pack_manifest *m, struct slice path);
/* Total size of the package and everything that it needs. */
uint64_t pack_manifest_bytes(const struct pack_manifest *m, const struct pack_package *p);
/* The packages as elements of an array that the caller has opened. */
struct emit;
void pack_manifest_write(const struct pack_manifest *m, struct emit *e);
