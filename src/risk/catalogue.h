/* Tools of published servers, by fingerprint: which package and version they belong to and what the
 * classifier said. Compiled in, searched in memory; a question never leaves the machine. Names, fingerprints
 * and labels only, no texts. scripts/build-catalogue makes the table. */
#pragma once

#include "base/arena.h"
#include "risk/class.h"
#include "risk/fingerprint.h"

struct risk_known {
    struct slice tool, package, version; /* static */
    enum risk_class cls;
    uint8_t confidence; /* percent */
    uint32_t tags;
    uint32_t tokens;
    uint64_t full, shape; /* the first eight bytes of each hash */
};

size_t risk_catalogue_count(void);
size_t risk_catalogue_packages(void);
/* i below the count, in order of fingerprints. */
void risk_catalogue_get(size_t i, struct risk_known *ret_known);
void risk_catalogue_package(size_t i, struct slice *ret_package, struct slice *ret_version,
                            size_t *ret_tools);
/* Exactly this definition. */
bool risk_catalogue_find(const uint8_t full[RISK_HASH_BYTES], struct risk_known *ret_known);
/* The same name and parameters, other words. */
bool risk_catalogue_find_shape(const uint8_t shape[RISK_HASH_BYTES], struct risk_known *ret_known);
/* Does that version of the package have a tool of this name with another definition? Then what is in front of
 * us is not what was published. */
bool risk_catalogue_differs(struct slice package, struct slice version, struct slice tool,
                            const uint8_t full[RISK_HASH_BYTES]);
/* A known package that this name imitates: within two edits, or with the same skeleton, but not the same.
 * Empty when there is none or when the name is itself known. */
struct slice risk_impostor_of(struct slice package, struct arena *a);
