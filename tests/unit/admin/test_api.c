/* The admin API over a whole gate: who may ask for what, and what the answers say of calls under way. */
#include "harness.h"

#include "admin/admin.h"
#include "admin/api.h"

#include <jansson.h>
#include <stdio.h>

static struct harness *h;
static struct fake_server *files;
static struct fake_client *agent;
static struct admin *admin;
static struct principal *who;

struct answer {
    struct web_reply base;
    int status;
    const char *headers;
    const char *body;
};

static void on_answer(struct web_reply *r, int status, const char *type, struct slice headers,
                      struct slice body) {
    (void)type;
    struct answer *a = container_of(r, struct answer, base);
    assert_int_equal(a->status, 0);
    a->status = status;
    a->headers = arena_dup(&h->arena, headers).ptr;
    a->body = arena_dup(&h->arena, body).ptr;
}
static void on_later(struct web_reply *r, void *owner, void (*gone)(void *owner)) {
    (void)r, (void)owner, (void)gone;
}

static const struct web_reply_ops ops = {.answer = on_answer, .later = on_later};

static struct answer *ask(const char *method, const char *path, const char *body) {
    struct answer *a = arena_new(&h->arena, struct answer);
    a->base.ops = &ops;
    struct http_head head;
    const char *why;
    body = harness_json(&h->arena, body ? body : "");
    struct slice text = arena_printf(
        &h->arena,
        "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", method,
        path, strlen(body));
    assert_true(http_parse_request(text, &head, &why) > 0);
    struct web_request r = {.head = &head, .body = slice_str(body), .who = who, .reply = &a->base};
    admin_site(admin)->serve(admin_site(admin)->ctx, &r);
    harness_settle(h);
    return a;
}

static void open_as(uint32_t roles, enum principal_kind kind) {
    h = harness_open(&(struct harness_config){
        .policy = "{'version':'1','default':'allow','tools':{'wipe':{'approve_if':[{'conditions':[]}]}}}"});
    files = harness_server(h, "files", FAKE_LEGACY);
    agent = harness_legacy(h, files);
    admin = admin_new(&(struct admin_config){.core = &h->core, .home = h->home});
    who = principal_new(kind, kind == PRINCIPAL_LOCAL ? "local" : "grant:operator");
    who->roles = roles;
}

static int close_all(void **state) {
    principal_unref(who);
    who = NULL;
    admin_free(admin);
    admin = NULL;
    return harness_teardown(state);
}

static void test_every_route_has_what_the_document_needs(void **state) {
    (void)state;
    for (const struct api_route *r = api_routes; r->path; r++) {
        assert_non_null(strstr(r->path, "/api/v1/"));
        assert_non_null(r->serve);
        assert_non_null(r->answer);
        assert_true(r->method != HTTP_GET || !r->changes);
        for (const struct api_route *other = api_routes; other < r; other++) {
            assert_string_not_equal(other->id, r->id);
            assert_false(other->method == r->method && strcmp(other->path, r->path) == 0);
        }
    }
}

static void test_openapi_document_is_json_and_its_references_lead_somewhere(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    buf_init(&out, 4u << 20);
    admin_openapi(&out);
    json_t *doc = json_loadb(out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(doc);
    json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
    assert_true(json_object_size(schemas) > 10);
    struct slice text = buf_slice(&out);
    const char *end = text.ptr + text.len, *mark = "#/components/schemas/";
    for (const char *at = text.ptr; (at = memmem(at, (size_t)(end - at), mark, strlen(mark)));) {
        char name[64];
        at += strlen(mark);
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "\""), at);
        if (!json_object_get(schemas, name))
            fail_msg("there is no schema %s", name);
    }
    json_decref(doc);
}

static void test_local_user_of_an_open_gate_may_look_and_change_nothing(void **state) {
    (void)state;
    open_as(0, PRINCIPAL_LOCAL);
    assert_int_equal(ask("GET", "/api/v1/status", NULL)->status, 200);
    for (const struct api_route *r = api_routes; r->path; r++) {
        if (!r->changes)
            continue;
        static const char *const names[] = {[HTTP_GET] = "GET",
                                            [HTTP_POST] = "POST",
                                            [HTTP_PUT] = "PUT",
                                            [HTTP_DELETE] = "DELETE",
                                            [HTTP_PATCH] = "PATCH"};
        struct answer *a = ask(names[r->method], r->path, "{}");
        if (a->status != 403)
            fail_msg("%s answered %d", r->path, a->status);
    }
}

static void test_unknown_path_and_method(void **state) {
    (void)state;
    open_as(PRINCIPAL_ADMIN, PRINCIPAL_GRANT);
    assert_int_equal(ask("GET", "/api/v1/nothing", NULL)->status, 404);
    struct answer *a = ask("DELETE", "/api/v1/status", NULL);
    assert_int_equal(a->status, 405);
    assert_has(a->headers, "Allow: GET");
    assert_int_equal(ask("GET", "/api/v1/approvals/%00", NULL)->status, 404);
    assert_has(ask("GET", "/api/v1/approvals/none", NULL)->body, "'error'");
}

static void test_call_under_way_is_listed_and_cancelled(void **state) {
    (void)state;
    open_as(PRINCIPAL_ADMIN, PRINCIPAL_GRANT);
    struct fake_reply *r = fake_call(agent, "1", "echo", "{}");
    struct fake_heard *m = fake_take(files, "tools/call");
    const char *list = ask("GET", "/api/v1/calls", NULL)->body;
    assert_has(list, "'echo'");
    struct answer *a =
        ask("POST", arena_printf(&h->arena, "/api/v1/calls/%llu/cancel", (unsigned long long)m->record).ptr,
            NULL);
    assert_int_equal(a->status, 200);
    assert_true(r->over);
    assert_non_null(fake_peek(files, "notifications/cancelled"));
    assert_lacks(ask("GET", "/api/v1/calls", NULL)->body, "'echo'");
}

static void test_approver_lets_a_call_pass(void **state) {
    (void)state;
    open_as(PRINCIPAL_APPROVER, PRINCIPAL_GRANT);
    fake_call(agent, "1", "wipe", "{'a':1}");
    struct slice id = harness_pending(h);
    assert_has(ask("GET", "/api/v1/approvals", NULL)->body, id.ptr);
    struct answer *a =
        ask("POST", arena_printf(&h->arena, "/api/v1/approvals/%s/approve", id.ptr).ptr, "{'note':'fine'}");
    assert_int_equal(a->status, 200);
    assert_has(a->body, "'approved'");
    fake_call(agent, "2", "wipe", "{'a':1}");
    assert_non_null(fake_peek(files, "tools/call"));
    assert_has(harness_log(h), "event approval_approved");
}

static void test_viewer_cannot_approve(void **state) {
    (void)state;
    open_as(PRINCIPAL_VIEWER, PRINCIPAL_GRANT);
    fake_call(agent, "1", "wipe", "{}");
    struct slice id = harness_pending(h);
    assert_int_equal(
        ask("POST", arena_printf(&h->arena, "/api/v1/approvals/%s/approve", id.ptr).ptr, "{}")->status, 403);
}

static void test_stop_refuses_calls_until_it_is_removed(void **state) {
    (void)state;
    open_as(PRINCIPAL_ADMIN, PRINCIPAL_GRANT);
    struct answer *a = ask("POST", "/api/v1/stops", "{'scope':'all','reason':'incident'}");
    assert_int_equal(a->status, 201);
    assert_has(fake_text(fake_call(agent, "1", "echo", "{}")), "incident");
    const char *id = fake_member(h, a->body, "id");
    assert_int_equal(ask("DELETE", arena_printf(&h->arena, "/api/v1/stops/%s", id).ptr, NULL)->status, 200);
    fake_call(agent, "2", "echo", "{}");
    assert_non_null(fake_peek(files, "tools/call"));
}

static void test_body_must_be_an_object(void **state) {
    (void)state;
    open_as(PRINCIPAL_ADMIN, PRINCIPAL_GRANT);
    assert_int_equal(ask("POST", "/api/v1/stops", "[]")->status, 400);
    assert_int_equal(ask("POST", "/api/v1/stops", "{")->status, 400);
}

static void test_metrics_count_the_calls(void **state) {
    (void)state;
    open_as(0, PRINCIPAL_LOCAL);
    fake_call(agent, "1", "echo", "{}");
    fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
    struct answer *a = ask("GET", "/metrics", NULL);
    assert_int_equal(a->status, 200);
    assert_has(a->body, "tool='echo'");
}

#define admin_test(f) cmocka_unit_test_teardown(f, close_all)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_route_has_what_the_document_needs),
        cmocka_unit_test(test_openapi_document_is_json_and_its_references_lead_somewhere),
        admin_test(test_local_user_of_an_open_gate_may_look_and_change_nothing),
        admin_test(test_unknown_path_and_method),
        admin_test(test_call_under_way_is_listed_and_cancelled),
        admin_test(test_approver_lets_a_call_pass),
        admin_test(test_viewer_cannot_approve),
        admin_test(test_stop_refuses_calls_until_it_is_removed),
        admin_test(test_body_must_be_an_object),
        admin_test(test_metrics_count_the_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
