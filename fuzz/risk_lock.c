/* Any bytes as a lock: refused, or every tool in it is what it says. */
#include "fuzz.h"
#include "risk/lockfile.h"

static void seen(void *ctx, const struct risk_pinned *pinned) {
    uint8_t hash[RISK_HASH_BYTES];
    CHECK(risk_fingerprint_parse(pinned->fingerprint, hash));
    ++*(size_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_free char *text = fuzz_copy(slice_of((const char *)data, size));
    cleanup_arena struct arena a;
    arena_init(&a);
    struct risk_lock *lock = NULL;
    struct err err;
    size_t count = 0;
    if (risk_lock_load(slice_of(text, size), &lock, &err))
        return 0;
    risk_lock_each(lock, &a, seen, &count);
    risk_lock_free(lock);
    return 0;
}
