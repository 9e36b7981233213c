#include "risk/catalogue.h"

#include "base/nearest.h"
#include "risk/catalogue_table.h"
#include "risk/confusable.h"
#include "risk/limits.h"

#define EDITS_MAX 2
#define SHORT_NAME 10 /* names up to this length allow one edit only */

static uint64_t head(const uint8_t hash[RISK_HASH_BYTES]) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | hash[i];
    return value;
}

size_t risk_catalogue_count(void) { return risk_catalogue_row_count; }
size_t risk_catalogue_packages(void) { return risk_catalogue_package_count; }

void risk_catalogue_get(size_t i, struct risk_known *ret_known) {
    const struct risk_catalogue_row *row = &risk_catalogue_rows[i];
    const struct risk_catalogue_package *package = &risk_catalogue_package_rows[row->package];
    *ret_known = (struct risk_known){slice_str(row->tool),
                                     slice_str(package->name),
                                     slice_str(package->version),
                                     (enum risk_class)row->cls,
                                     row->confidence,
                                     row->tags,
                                     row->tokens,
                                     row->full,
                                     row->shape};
}

void risk_catalogue_package(size_t i, struct slice *ret_package, struct slice *ret_version,
                            size_t *ret_tools) {
    const struct risk_catalogue_package *package = &risk_catalogue_package_rows[i];
    *ret_package = slice_str(package->name);
    *ret_version = slice_str(package->version);
    *ret_tools = package->tools;
}

bool risk_catalogue_find(const uint8_t full[RISK_HASH_BYTES], struct risk_known *ret_known) {
    uint64_t want = head(full);
    size_t low = 0, high = risk_catalogue_row_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (risk_catalogue_rows[mid].full < want)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == risk_catalogue_row_count || risk_catalogue_rows[low].full != want)
        return false;
    risk_catalogue_get(low, ret_known);
    return true;
}

bool risk_catalogue_find_shape(const uint8_t shape[RISK_HASH_BYTES], struct risk_known *ret_known) {
    uint64_t want = head(shape);
    size_t low = 0, high = risk_catalogue_row_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (risk_catalogue_rows[risk_catalogue_by_shape[mid]].shape < want)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == risk_catalogue_row_count || risk_catalogue_rows[risk_catalogue_by_shape[low]].shape != want)
        return false;
    risk_catalogue_get(risk_catalogue_by_shape[low], ret_known);
    return true;
}

bool risk_catalogue_differs(struct slice package, struct slice version, struct slice tool,
                            const uint8_t full[RISK_HASH_BYTES]) {
    bool met = false;
    for (size_t i = 0; i < risk_catalogue_row_count; i++) {
        struct risk_known k;
        risk_catalogue_get(i, &k);
        if (!slice_eq(k.tool, tool) || !slice_eq(k.package, package) || !slice_eq(k.version, version))
            continue;
        if (k.full == head(full))
            return false;
        met = true;
    }
    return met;
}

struct slice risk_impostor_of(struct slice package, struct arena *a) {
    struct slice best = {0};
    if (package.len < 4 || package.len > RISK_NAME_BYTES_MAX)
        return best;
    struct slice skeleton = risk_skeleton(package, a);
    size_t best_edits = package.len <= SHORT_NAME ? 1 : EDITS_MAX;
    for (size_t i = 0; i < risk_catalogue_package_count; i++) {
        struct slice known = slice_str(risk_catalogue_package_rows[i].name);
        if (slice_eq(known, package))
            return (struct slice){0};
        size_t apart = known.len > package.len ? known.len - package.len : package.len - known.len;
        if (apart > EDITS_MAX)
            continue;
        size_t edits = slice_eq(risk_skeleton(known, a), skeleton) ? 0 : nearest_distance(package, known);
        if (edits > best_edits)
            continue;
        best_edits = edits;
        best = known;
    }
    return best;
}
