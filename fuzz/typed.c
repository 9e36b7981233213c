/* Any definition becomes a file in both languages: no crash, no byte beyond the ceiling. */
#include "discovery/typed.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, slice_of((const char *)data, size), NULL) != TAPE_OK)
        return 0;
    for (int dialect = TYPED_TYPESCRIPT; dialect <= TYPED_PYTHON; dialect++) {
        cleanup_buf struct buf out, schema;
        buf_init(&out, 1 << 16);
        buf_init(&schema, 1 << 16);
        bool learned = typed_learn(&t, 0, &schema);
        typed_file(&t, 0, SLICE("tool"), learned ? buf_slice(&schema) : (struct slice){0},
                   (enum typed_dialect)dialect, &out);
    }
    return 0;
}
