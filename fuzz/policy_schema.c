/* A schema and a value: `schema NUL value`. Compiling and checking end, and a failure says where. */
#include "fuzz.h"
#include "policy/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice value = slice_of((const char *)data, size), schema;
    struct policy_schema *s = NULL;
    struct err err;
    struct tape t;
    struct arena a;
    if (!slice_cut(&value, '\0', &schema))
        return 0;
    if (policy_schema_compile(schema, &s, &err) < 0) {
        CHECK(s == NULL && err.text[0]);
        return 0;
    }
    tape_init(&t);
    arena_init(&a);
    if (tape_parse(&t, value, NULL) == TAPE_OK) {
        struct policy_schema_failure failure = {0};
        enum policy_schema_answer first = policy_schema_check(s, &t, 0, &a, &failure);
        CHECK(first != POLICY_SCHEMA_INVALID || failure.keyword);
        CHECK(policy_schema_check(s, &t, 0, &a, NULL) == first);
        for (size_t i = 0; i < 4 && policy_schema_required(s, i).ptr; i++)
            CHECK(policy_schema_required(s, i).len < schema.len);
    }
    arena_free(&a);
    tape_free(&t);
    policy_schema_free(s);
    return 0;
}
