/* Any definition becomes a file in both languages: no crash, no byte beyond the ceiling. */
#include "code/typed.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, slice_of((const char *)data, size), NULL) != TAPE_OK)
        return 0;
    for (int dialect = CODE_TYPESCRIPT; dialect <= CODE_PYTHON; dialect++) {
        cleanup_buf struct buf out, schema;
        buf_init(&out, 1 << 16);
        buf_init(&schema, 1 << 16);
        bool learned = code_typed_learn(&t, 0, &schema);
        code_typed_file(&t, 0, SLICE("tool"), learned ? buf_slice(&schema) : (struct slice){0},
                        (enum code_dialect)dialect, &out);
    }
    return 0;
}
