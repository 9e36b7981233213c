/* Installs packages: pip and npm choose and fetch them with the machine's settings; here they are checked and
 * unpacked, and added to the manifest last. An interrupted installation leaves nothing behind. */
#pragma once

#include "packages/wanted.h"

/* One installed package, for the answer. */
struct pack_installed {
    struct slice name, version; /* in the arena */
    enum pack_kind kind;
    bool was_there; /* as it is */
};

/* All specs, or none. `ret_installed` has room for PACK_SPECS_MAX. */
int pack_install(const struct pack_install *w, const struct pack_spec *specs, size_t count, struct arena *a,
                 struct pack_installed *ret_installed, size_t *ret_count, struct err *err);
/* Removes the named packages, and the layers that no package needs any more. */
int pack_install_remove(const char *dir, const struct pack_spec *specs, size_t count, size_t *ret_removed,
                        struct err *err);
