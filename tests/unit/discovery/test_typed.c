#include "discovery/typed.h"

#include "base/clock.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_file(const char *definition, enum typed_dialect dialect, const char *const *wanted) {
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, slice_str(definition), NULL), TAPE_OK);
    cleanup_buf struct buf out;
    buf_init(&out, 1 << 20);
    assert_true(typed_file(&t, 0, SLICE("f"), (struct slice){0}, dialect, &out));
    buf_put_char(&out, '\0');
    for (; *wanted; wanted++)
        if (!strstr(out.ptr, *wanted))
            fail_msg("`%s` is not in:\n%s", *wanted, out.ptr);
}

#define TYPESCRIPT(definition, ...)                                                                          \
    assert_file(definition, TYPED_TYPESCRIPT, (const char *const[]){__VA_ARGS__, NULL})
#define PYTHON(definition, ...)                                                                              \
    assert_file(definition, TYPED_PYTHON, (const char *const[]){__VA_ARGS__, NULL})

#define PROPS(p)                                                                                             \
    "{\"name\":\"f\",\"inputSchema\":{\"type\":\"object\",\"properties\":{" p "},\"required\":[\"a\"]}}"

static void plain_types(void **state) {
    (void)state;
    const char *def =
        PROPS("\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\"},\"c-d\":{\"type\":\"boolean\"},"
              "\"e\":{\"type\":[\"string\",\"null\"]},\"g\":{\"type\":\"string\",\"nullable\":true}");
    TYPESCRIPT(def, "a: string;", "b?: number;", "\"c-d\"?: boolean;", "e?: (null | string);",
               "g?: string | null;", "export declare function f(args: f_input): Promise<unknown>;");
    PYTHON(def, "\"a\": str,", "\"b\": NotRequired[int],", "\"c-d\": NotRequired[bool],",
           "NotRequired[(None | str)]", "NotRequired[str | None]", "def f(**args: Unpack[f_input]) -> Any:");
}

static void values_and_unions(void **state) {
    (void)state;
    const char *def = PROPS(
        "\"a\":{\"enum\":[\"x\",\"y\",3,null,true]},\"b\":{\"const\":\"k\"},"
        "\"c\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"number\"}}]},"
        "\"d\":{\"allOf\":[{\"type\":\"object\"},{\"type\":\"object\"}]},"
        "\"e\":{\"type\":\"array\",\"prefixItems\":[{\"type\":\"string\"},{\"type\":\"number\"}]},"
        "\"g\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}");
    TYPESCRIPT(def, "a: (\"x\" | \"y\" | 3 | null | true);", "b?: \"k\";", "c?: (string | Array<number>);",
               "d?: (Record<string, unknown> & Record<string, unknown>);", "e?: [string, number];",
               "g?: Record<string, string>;");
    PYTHON(def, "Literal[\"x\", \"y\", 3, None, True]", "Literal[\"k\"]", "(str | list[float])",
           "tuple[str, float]", "dict[str, str]");
}

static void references(void **state) {
    (void)state;
    const char *def =
        "{\"name\":\"f\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/"
        "Node\"},"
        "\"b\":{\"$ref\":\"https://elsewhere/x\"},\"c\":{\"type\":\"object\",\"properties\":{\"d\":{"
        "\"type\":\"object\",\"properties\":{\"e\":{\"type\":\"string\"}}}}}},"
        "\"$defs\":{\"Node\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/Node\"}}}}}}";
    TYPESCRIPT(def, "export type f_input_Node = {", "next?: f_input_Node;", "a?: f_input_Node;",
               "b?: unknown;", "e?: string;");
    PYTHON(def, "f_input_Node = TypedDict(", "\"next\": NotRequired[f_input_Node]", "\"b\": NotRequired[Any]",
           "\"e\": NotRequired[str]");
}

static void texts_cannot_break_out(void **state) {
    (void)state;
    const char *def =
        "{\"name\":\"f\",\"description\":\"ends */ here \\\"\\\"\\\" and\\nthere \\\\\","
        "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"description\":"
        "\"x */ y\\nimport os\"}}}}";
    TYPESCRIPT(def, "/** ends *\\/ here \"\"\" and there */", "/** x *\\/ y import os */");
    PYTHON(def, "\"\"\"ends */ here \\\"\\\"\\\" and there \\\\\"\"\"", "# x */ y import os\n");
}

static void names(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice in[] = {SLICE("list-files"), SLICE("list_files"), SLICE("2fa"),
                         SLICE("class"),      SLICE(""),           SLICE("list.files")};
    struct slice out[6];
    typed_names(in, 6, TYPED_PYTHON, &a, out);
    static const char *const want[] = {"list_files", "list_files_2", "_2fa", "class_", "_", "list_files_3"};
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(out[i].ptr, want[i]);
}

static void learns_from_a_result(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(
        tape_parse(&t,
                   SLICE("{\"rows\":[{\"id\":1,\"name\":\"x\"}],\"more\":false,\"none\":[],\"gone\":null}"),
                   NULL),
        TAPE_OK);
    cleanup_buf struct buf schema, file;
    buf_init(&schema, 4096);
    buf_init(&file, 4096);
    assert_true(typed_learn(&t, 0, &schema));
    cleanup_tape struct tape def;
    tape_init(&def);
    assert_int_equal(tape_parse(&def, SLICE("{\"name\":\"f\"}"), NULL), TAPE_OK);
    assert_true(typed_file(&def, 0, SLICE("f"), buf_slice(&schema), TYPED_TYPESCRIPT, &file));
    buf_put_char(&file, '\0');
    assert_non_null(strstr(file.ptr, "rows?: Array<{"));
    assert_non_null(strstr(file.ptr, "id?: number;"));
    assert_non_null(strstr(file.ptr, "more?: boolean;"));
    assert_non_null(strstr(file.ptr, "none?: Array<unknown>;"));
    assert_non_null(strstr(file.ptr, "Promise<f_output>"));
}

/* A definition may be as deep as the JSON reader allows, or repeat itself: the file stays within its ceiling.
 */
static void ceilings_hold(void **state) {
    (void)state;
    cleanup_buf struct buf def, out;
    buf_init(&def, 1 << 20);
    buf_init(&out, 4096);
    buf_put_str(&def, "{\"name\":\"f\",\"inputSchema\":{\"properties\":{");
    for (int i = 0; i < 2000; i++)
        buf_printf(&def, "%s\"p%d\":{\"type\":\"string\"}", i ? "," : "", i);
    buf_put_str(&def, "}}}");
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, buf_slice(&def), NULL), TAPE_OK);
    assert_false(typed_file(&t, 0, SLICE("f"), (struct slice){0}, TYPED_TYPESCRIPT, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_types),   cmocka_unit_test(values_and_unions),
        cmocka_unit_test(references),    cmocka_unit_test(texts_cannot_break_out),
        cmocka_unit_test(names),         cmocka_unit_test(learns_from_a_result),
        cmocka_unit_test(ceilings_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
