/* A sealed vault with any bytes in it: it opens only as it was sealed. */
#include "filter/box.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t key[FILTER_BOX_KEY] = {7};
    struct filter_memory *memory = filter_memory_new();
    struct err err;
    if (filter_box_open(memory, key, slice_of((const char *)data, size), &err) < 0)
        CHECK(filter_memory_count(memory) == 0);
    filter_memory_free(memory);
    return 0;
}
