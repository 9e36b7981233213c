/* Inside the room: the generated table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct risk_catalogue_row {
    uint64_t full, shape;
    char tool[72];    /* no pointer: each would be relocated at every start */
    uint16_t package; /* index */
    uint16_t tags;
    uint16_t tokens; /* at most 65535 */
    uint8_t cls;
    uint8_t confidence;
};

struct risk_catalogue_package {
    const char *name, *version;
    uint16_t tools;
};

extern const struct risk_catalogue_row risk_catalogue_rows[]; /* in order of `full` */
extern const size_t risk_catalogue_row_count;
extern const uint16_t risk_catalogue_by_shape[]; /* rows in order of `shape` */
extern const struct risk_catalogue_package risk_catalogue_package_rows[];
extern const size_t risk_catalogue_package_count;
