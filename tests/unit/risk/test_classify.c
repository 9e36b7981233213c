#include "risk/classify.h"

#include "base/clock.h"
#include "risk_test.h"

static struct risk_report classify(const char *tool) {
    cleanup_buf struct buf list;
    buf_init(&list, 1 << 20);
    buf_printf(&list, "[%s]", tool);
    struct slice text = arena_dup(&arena, buf_slice(&list));
    assert_int_equal(tape_parse(&tape, text, NULL), TAPE_OK);
    struct risk_toolset ctx;
    risk_toolset_read(&tape, 0, (struct slice){0}, &arena, &ctx);
    struct risk_report report;
    risk_classify(&ctx, &tape, 1, &arena, &report);
    return report;
}

static void assert_class(const char *tool, enum risk_class want) {
    struct risk_report r = classify(tool);
    if (r.cls != want)
        fail_msg("%s is %s instead of %s", tool, risk_class_name(r.cls), risk_class_name(want));
}

static void assert_named(const char *name, const char *description, enum risk_class want) {
    assert_class(arena_printf(&arena, "{\"name\":\"%s\",\"description\":\"%s\"}", name, description).ptr,
                 want);
}

static void plain_verbs(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"list_parcels", "List parcels", RISK_READ},
        {"parcelDelete", "", RISK_DESTRUCTIVE},
        {"create-parcel", "Creates a parcel", RISK_WRITE},
        {"run_shell", "Run a shell command", RISK_EXECUTE},
        {"purchase_stamp", "Buy a stamp", RISK_FINANCIAL},
        {"get_invoice", "Get one invoice", RISK_READ},
        {"create_invoice", "Create an invoice", RISK_FINANCIAL},
        {"set_payment_method", "Set the default payment method", RISK_WRITE},
        {"post_message", "Post a message to a channel", RISK_WRITE},
        {"deploy_site", "Deploy the site", RISK_EXECUTE},
        {"build_status", "", RISK_READ},
        {"get_or_create_box", "", RISK_WRITE},
        {"is_open", "", RISK_READ},
        {"compose_down", "Stop and remove containers", RISK_DESTRUCTIVE},
        {"boxes", "List all boxes", RISK_READ},
        {"zorp", "Permanently deletes a zorp", RISK_DESTRUCTIVE},
        {"get_parcel", "Deletes the parcel and returns it", RISK_DESTRUCTIVE},
        {"generate_image", "Generate an image from a prompt", RISK_EXECUTE},
        {"generate_chart", "Generate a chart", RISK_READ},
        {"execute_report", "Run a report", RISK_READ},
        {"run_query", "Execute SQL queries", RISK_EXECUTE},
        {"query", "Run a read-only SQL query", RISK_READ},
        {"weather_archive", "Get weather of past days", RISK_READ},
        {"archive_card", "Send a card to the archive", RISK_WRITE},
        {"list-parcel-permissions", "The set of permissions for the parcel", RISK_READ},
        {"list-parcel-replies", "Replies for a specified parcel", RISK_READ},
        {"parcel", "The delete operation of the parcel", RISK_DESTRUCTIVE},
        {"deploy-parcels-reader", "Select and run one of these read operations", RISK_READ},
        {"wait_for_run", "Wait for a run to complete", RISK_READ},
        {"wait", "", RISK_EXECUTE},
        {"parcels", "Search and navigate parcels", RISK_READ},
        {"navigate", "Navigate to a page", RISK_EXECUTE},
        {"generate_parcel_view", "Generate a grid that renders as a table", RISK_READ},
        {"send_purchase", "Send a purchase event to the statistics", RISK_WRITE},
        {"element_drag", "Perform drag and drop between two boxes", RISK_EXECUTE},
        {"convert_todraft", "Convert a request to draft status", RISK_WRITE},
        {"load_picture", "Load a picture into a node", RISK_WRITE},
        {"load_notes", "Load notes into the conversation", RISK_READ},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_named(rows[i].name, rows[i].description, rows[i].want);
    assert_class("{\"name\":\"extract_sound\",\"description\":\"Extract the sound\",\"inputSchema\":"
                 "{\"properties\":{\"outputPath\":{}},\"required\":[\"outputPath\"]}}",
                 RISK_WRITE);
}

static void operation_enums(void **state) {
    (void)state;
    assert_class("{\"name\":\"parcel\",\"description\":\"Parcel operations\",\"inputSchema\":{\"properties\":"
                 "{\"action\":{\"enum\":[\"list\",\"create\",\"delete\"]}}}}",
                 RISK_DESTRUCTIVE);
    assert_class("{\"name\":\"manage_tags\",\"description\":\"Add, remove, or list "
                 "tags\",\"inputSchema\":{\"properties\":"
                 "{\"operation\":{\"enum\":[\"add\",\"remove\",\"list\"]}}}}",
                 RISK_WRITE);
    /* kinds of things are no operations */
    assert_class("{\"name\":\"fetch_object\",\"description\":\"Fetch one\",\"inputSchema\":{\"properties\":"
                 "{\"type\":{\"enum\":[\"task\",\"project\",\"comment\"]}}}}",
                 RISK_READ);
    /* the method of an endpoint that is looked up is not called */
    assert_class(
        "{\"name\":\"search_endpoints\",\"description\":\"Search the API\",\"inputSchema\":{\"properties\":"
        "{\"method\":{\"enum\":[\"GET\",\"POST\",\"DELETE\"]}}}}",
        RISK_READ);
}

static void parameters(void **state) {
    (void)state;
    struct risk_report r =
        classify("{\"name\":\"zorp\",\"inputSchema\":{\"properties\":{\"command\":{\"type\":\"string\"}}}}");
    assert_int_equal(r.cls, RISK_EXECUTE);
    assert_true(r.tags & RISK_TAG_FREEFORM_CODE);
    r = classify("{\"name\":\"read_file\",\"description\":\"Read a "
                 "file\",\"inputSchema\":{\"properties\":{\"filePath\":{}}}}");
    assert_int_equal(r.cls, RISK_READ);
    assert_true(r.tags & RISK_TAG_PATH_ARGS);
    assert_true(r.tags & RISK_TAG_SRC_PRIVATE);
    r = classify("{\"name\":\"fetch_page\",\"description\":\"Fetch a web "
                 "page\",\"inputSchema\":{\"properties\":{\"url\":{}}}}");
    assert_true(r.tags & RISK_TAG_SRC_UNTRUSTED);
    assert_true(r.tags & RISK_TAG_URL_ARGS);
}

static void hints_raise_and_never_lower(void **state) {
    (void)state;
    struct risk_report r = classify("{\"name\":\"delete_all\",\"description\":\"Delete "
                                    "everything\",\"annotations\":{\"readOnlyHint\":true}}");
    assert_int_equal(r.cls, RISK_DESTRUCTIVE);
    assert_true(r.hint_mismatch);
    r = classify("{\"name\":\"list_x\",\"description\":\"List x\",\"annotations\":{\"readOnlyHint\":false}}");
    assert_int_equal(r.cls, RISK_WRITE);
    assert_false(r.hint_mismatch);
}

static void other_languages(void **state) {
    (void)state;
    assert_named("zorp", "删除一个文件", RISK_DESTRUCTIVE);
    assert_named("zorp", "查询天气", RISK_READ);
    assert_named("zorp", "創", RISK_WRITE); /* nothing known: Write */
    assert_named("zorp", "Löscht einen Eintrag", RISK_DESTRUCTIVE);
    assert_named("zorp", "Crea un enlace; crear", RISK_WRITE);
    assert_named("zorp", "Удаляет файл", RISK_DESTRUCTIVE);
}

static void nothing_known(void **state) {
    (void)state;
    struct risk_report r = classify("{\"name\":\"zorp\",\"description\":\"Zorps the blick.\"}");
    assert_int_equal(r.cls, RISK_WRITE);
    assert_int_equal(r.confidence, 20);
    assert_true(r.review);
    r = classify("\"not an object\"");
    assert_int_equal(r.cls, RISK_WRITE);
    r = classify("{\"name\":7,\"description\":[],\"inputSchema\":3,\"annotations\":\"x\"}");
    assert_int_equal(r.cls, RISK_WRITE);
}

static void server_context(void **state) {
    (void)state;
    read_json("[{\"name\":\"acme_click\",\"description\":\"Click\"},{\"name\":\"acme_hover\",\"description\":"
              "\"Hover\"},"
              "{\"name\":\"acme_close\",\"description\":\"Close the page\"},{\"name\":\"acme_delete_all\"}]");
    struct risk_toolset ctx;
    risk_toolset_read(&tape, 0, (struct slice){0}, &arena, &ctx);
    assert_true(ctx.browser);
    assert_false(ctx.till);
    assert_int_equal(ctx.prefix_count, 1);
    assert_true(slice_is(ctx.prefix[0], "acme"));
    enum risk_class want[] = {RISK_EXECUTE, RISK_EXECUTE, RISK_EXECUTE, RISK_DESTRUCTIVE};
    size_t i = 0;
    TAPE_FOR_ELEM(&tape, 0, tool) {
        struct risk_report r;
        risk_classify(&ctx, &tape, tool, &arena, &r);
        assert_int_equal(r.cls, want[i++]);
    }
}

static void same_answer_every_time(void **state) {
    (void)state;
    struct risk_report a = classify("{\"name\":\"merge_boxes\",\"description\":\"Merge boxes\"}");
    struct risk_report b = classify("{\"name\":\"merge_boxes\",\"description\":\"Merge boxes\"}");
    assert_int_equal(a.cls, b.cls);
    assert_int_equal(a.confidence, b.confidence);
    assert_int_equal(a.evidence_count, b.evidence_count);
    assert_true(a.evidence_count > 0);
}

/* Not judged: how long one tool takes. */
static void speed(void **state) {
    (void)state;
    read_json("[{\"name\":\"create_pull_request\",\"description\":\"Create a new pull request in a "
              "repository. Use this "
              "when changes are ready to be reviewed and "
              "merged.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
              "{\"owner\":{\"type\":\"string\"},\"repo\":{\"type\":\"string\"},\"title\":{\"type\":"
              "\"string\"},\"body\":"
              "{\"type\":\"string\"},\"head\":{\"type\":\"string\"}},\"required\":[\"owner\",\"repo\"]}}]");
    struct risk_toolset ctx;
    risk_toolset_read(&tape, 0, (struct slice){0}, &arena, &ctx);
    struct arena each;
    arena_init(&each);
    enum { ROUNDS = 2000 };
    uint64_t start = clock_mono_us();
    for (int i = 0; i < ROUNDS; i++) {
        struct risk_report r;
        arena_reset(&each);
        risk_classify(&ctx, &tape, 1, &each, &r);
    }
    print_message("classify: %.2f us a tool\n", (double)(clock_mono_us() - start) / ROUNDS);
    arena_free(&each);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_verbs, setup, teardown),
        cmocka_unit_test_setup_teardown(operation_enums, setup, teardown),
        cmocka_unit_test_setup_teardown(parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(hints_raise_and_never_lower, setup, teardown),
        cmocka_unit_test_setup_teardown(other_languages, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_known, setup, teardown),
        cmocka_unit_test_setup_teardown(server_context, setup, teardown),
        cmocka_unit_test_setup_teardown(same_answer_every_time, setup, teardown),
        cmocka_unit_test_setup_teardown(speed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
