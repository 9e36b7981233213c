/* Installs packages: chosen and fetched by pip and npm with the machine's own settings, checked and unpacked
 * here, told to the manifest last. What is interrupted leaves nothing behind. */
#pragma once

#include "packages/wanted.h"

/* What was installed, as a part of the answer. */
struct pack_installed {
    struct slice name, version; /* in the arena */
    enum pack_kind kind;
    bool was_there; /* as it is */
};

/* All specs, or none. `ret_installed` has room for PACK_SPECS_MAX. */
int pack_install(const struct pack_install *w, const struct pack_spec *specs, size_t count, struct arena *a,
                 struct pack_installed *ret_installed, size_t *ret_count, struct err *err);
/* Removes what the specs name, and the layers that nothing needs any more. */
int pack_install_remove(const char *dir, const struct pack_spec *specs, size_t count, size_t *ret_removed,
                        struct err *err);
