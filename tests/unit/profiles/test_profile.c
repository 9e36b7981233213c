/* The profiles of the built-in server: every tool that one shows can be shown, in both eras. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "code/code_tool.h"
#include "profiles/profile.h"

#include <string.h>

static json_t *shown(const struct code_face *face, const struct code_tool *tool, bool modern) {
    cleanup_buf struct buf out;
    buf_init(&out, 1u << 20);
    struct emit e;
    emit_init(&e, &out);
    code_tool_write(face, tool, modern, false, &e);
    json_error_t fault;
    json_t *json = json_loadb(out.ptr, out.len, JSON_REJECT_DUPLICATES, &fault);
    if (!json)
        fail_msg("tool `%s`: %s", tool->name, fault.text);
    return json;
}

static void check_tool(const struct code_face *face, const struct code_tool *tool) {
    for (int modern = 0; modern < 2; modern++) {
        json_t *json = shown(face, tool, modern);
        assert_string_equal(json_string_value(json_object_get(json, "name")), tool->name);
        assert_true(strlen(tool->name) <= 64);
        json_t *schema = json_object_get(json, "inputSchema");
        assert_true(json_is_object(schema));
        assert_string_equal(json_string_value(json_object_get(schema, "type")), "object");
        json_t *properties = json_object_get(schema, "properties"),
               *required = json_object_get(schema, "required");
        for (size_t i = 0; i < json_array_size(required); i++)
            assert_non_null(json_object_get(properties, json_string_value(json_array_get(required, i))));
        json_decref(json);
    }
}

static void test_every_tool_of_every_profile_is_well_formed(void **state) {
    (void)state;
    for (size_t i = 0; profile_names[i]; i++) {
        const struct code_face *face = profile_find(slice_str(profile_names[i]));
        assert_non_null(face);
        assert_true(face->tool_count > 0);
        for (size_t k = 0; k < face->tool_count; k++)
            check_tool(face, &face->tools[k]);
    }
}

static void test_names_of_one_profile_are_unique(void **state) {
    (void)state;
    for (size_t i = 0; profile_names[i]; i++) {
        const struct code_face *face = profile_find(slice_str(profile_names[i]));
        for (size_t k = 0; k < face->tool_count; k++)
            for (size_t l = 0; l < k; l++)
                assert_string_not_equal(face->tools[k].name, face->tools[l].name);
    }
}

static void test_profiles_are_found_by_their_exact_names(void **state) {
    (void)state;
    assert_ptr_equal(profile_find(SLICE("native")), &profile_native);
    assert_null(profile_find(SLICE("Native")));
    assert_null(profile_find(SLICE("")));
    assert_ptr_not_equal(profile_find(SLICE("codemode")), profile_find(SLICE("datagen")));
}

static void test_native_profile_has_the_tools_that_the_contract_names(void **state) {
    (void)state;
    static const char *const names[] = {
        "execute_code",       "job_status",           "job_cancel",           "list_jobs",
        "search_tools",       "get_tool_definition",  "list_tool_categories", "call_tool",
        "save_skill",         "load_skill",           "list_skills",          "sanitize_pii",
        "restore_pii",        "write_workspace_file", "read_workspace_file",  "list_workspace_files",
        "get_execution_stats"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        bool found = false;
        for (size_t k = 0; k < profile_native.tool_count; k++)
            found |= strcmp(profile_native.tools[k].name, names[i]) == 0;
        if (!found)
            fail_msg("there is no tool %s", names[i]);
    }
}

static void test_discovery_tools_are_a_list_of_definitions(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    buf_init(&out, 1u << 20);
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    profile_write_discovery(&e);
    emit_array_end(&e);
    json_t *json = json_loadb(out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_array_size(json) >= 2);
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tool_of_every_profile_is_well_formed),
        cmocka_unit_test(test_names_of_one_profile_are_unique),
        cmocka_unit_test(test_profiles_are_found_by_their_exact_names),
        cmocka_unit_test(test_native_profile_has_the_tools_that_the_contract_names),
        cmocka_unit_test(test_discovery_tools_are_a_list_of_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
