/* The OpenAPI 3.1 document, generated from the table of routes. */
#include "admin/admin.h"
#include "admin/api.h"

static void put(struct emit *e, const char *key, const char *value) {
    emit_key(e, key);
    emit_cstr(e, value);
}

static void put_ref(struct emit *e, const char *schema, const char *type) {
    cleanup_buf struct buf ref;
    buf_init(&ref, 256);
    buf_printf(&ref, "#/components/schemas/%s", schema);
    emit_key(e, "content");
    emit_object(e);
    emit_key(e, type);
    emit_object(e);
    emit_key(e, "schema");
    emit_object(e);
    emit_key(e, "$ref");
    emit_str(e, buf_slice(&ref));
    emit_object_end(e);
    emit_object_end(e);
    emit_object_end(e);
}

static void put_words(struct emit *e, const char *const *words) {
    emit_object(e);
    put(e, "type", "string");
    emit_key(e, "enum");
    emit_array(e);
    for (; *words; words++)
        emit_cstr(e, *words);
    emit_array_end(e);
    emit_object_end(e);
}

/* `query` is NULL for a part of the path. */
static void put_parameter(struct emit *e, struct slice name, const struct api_query *query) {
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, name);
    put(e, "in", query ? "query" : "path");
    emit_key(e, "required");
    emit_bool(e, !query);
    if (query)
        put(e, "description", query->help);
    emit_key(e, "schema");
    if (query && query->words[0])
        put_words(e, query->words);
    else
        emit_raw(e, query && query->number ? SLICE("{\"type\":\"integer\",\"minimum\":1}")
                                           : SLICE("{\"type\":\"string\"}"));
    emit_object_end(e);
}

static void put_parameters(struct emit *e, const struct api_route *r) {
    emit_key(e, "parameters");
    emit_array(e);
    for (const char *open = strchr(r->path, '{'); open; open = strchr(open + 1, '{'))
        put_parameter(e, slice_of(open + 1, (size_t)(strchr(open, '}') - open - 1)), NULL);
    for (const struct api_query *q = r->query; q && q->name; q++)
        put_parameter(e, slice_str(q->name), q);
    emit_array_end(e);
}

/* The type of a response that is not JSON. */
static const char *type_of(const struct api_route *r) {
    if (strcmp(r->answer, "EventStream") == 0)
        return "text/event-stream";
    return strcmp(r->answer, "Export") == 0 ? "*/*" : "application/json";
}

static bool has_pages(const struct api_route *r) {
    for (const struct api_query *q = r->query; q && q->name; q++)
        if (strcmp(q->name, "cursor") == 0)
            return true;
    return false;
}

static void put_responses(struct emit *e, const struct api_route *r) {
    emit_key(e, "responses");
    emit_object(e);
    emit_key(e, r->made ? "201" : "200");
    emit_object(e);
    put(e, "description", "as asked");
    if (has_pages(r)) {
        emit_key(e, "headers");
        emit_object(e);
        emit_key(e, "Sallyport-Cursor");
        emit_raw(e, SLICE("{\"description\":\"the `cursor` of the next page; absent on the last one\","
                          "\"schema\":{\"type\":\"string\"}}"));
        if (r->counted) {
            emit_key(e, "Sallyport-Total");
            emit_raw(e, SLICE("{\"description\":\"entries on all pages; absent when there are none\","
                              "\"schema\":{\"type\":\"integer\"}}"));
        }
        emit_object_end(e);
    }
    put_ref(e, r->answer, type_of(r));
    emit_object_end(e);
    emit_key(e, "4XX");
    emit_object(e);
    put(e, "description", "why not");
    put_ref(e, "Error", "application/json");
    emit_object_end(e);
    emit_key(e, "default");
    emit_object(e);
    put(e, "description", "what failed");
    put_ref(e, "Error", "application/json");
    emit_object_end(e);
    emit_object_end(e);
}

static void put_roles(struct emit *e, uint32_t roles) {
    static const char *const names[] = {"admin", "policy-manager", "approver", "viewer"};
    emit_key(e, "x-roles");
    emit_array(e);
    for (size_t i = 0; roles && i < 4; i++)
        if ((roles | PRINCIPAL_ADMIN) >> i & 1)
            emit_cstr(e, names[i]);
    emit_array_end(e);
}

static void put_operation(struct emit *e, const struct api_route *r) {
    static const char *const methods[] = {[HTTP_GET] = "get",
                                          [HTTP_POST] = "post",
                                          [HTTP_PUT] = "put",
                                          [HTTP_DELETE] = "delete",
                                          [HTTP_PATCH] = "patch"};
    emit_key(e, methods[r->method]);
    emit_object(e);
    put(e, "operationId", r->id);
    put(e, "summary", r->summary);
    put_roles(e, r->roles);
    if (!r->roles) {
        emit_key(e, "security");
        emit_raw(e, SLICE("[]"));
    }
    put_parameters(e, r);
    if (r->body) {
        emit_key(e, "requestBody");
        emit_object(e);
        emit_key(e, "required");
        emit_bool(e, !r->body_optional);
        put_ref(e, r->body, "application/json");
        emit_object_end(e);
    }
    put_responses(e, r);
    emit_object_end(e);
}

/* Rows with the same path are adjacent. */
static void put_paths(struct emit *e) {
    emit_object(e);
    for (const struct api_route *r = api_routes; r->path;) {
        const char *path = r->path;
        emit_key(e, path);
        emit_object(e);
        for (; r->path && strcmp(r->path, path) == 0; r++)
            put_operation(e, r);
        emit_object_end(e);
    }
    emit_object_end(e);
}

void admin_openapi(struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    put(&e, "openapi", "3.1.0");
    emit_key(&e, "info");
    emit_object(&e);
    put(&e, "title", "Sallyport admin API");
    put(&e, "version", "1");
    put(&e, "description",
        "A running gate: its servers, sessions, grants, policies, approvals, stops and audit log. Every "
        "request needs a bearer token with one of the roles in x-roles, or the cookie of a user who is "
        "signed in to the console; with a cookie, requests that change something need the "
        "header " WEB_CONSOLE_HEADER " besides.");
    emit_key(&e, "license");
    emit_raw(&e, SLICE("{\"name\":\"Apache 2.0\",\"identifier\":\"Apache-2.0\"}"));
    emit_object_end(&e);
    emit_key(&e, "servers");
    emit_raw(&e, SLICE("[{\"url\":\"/\",\"description\":\"the gate that serves this document\"}]"));
    emit_key(&e, "security");
    emit_raw(&e, SLICE("[{\"bearer\":[]}]"));
    emit_key(&e, "paths");
    put_paths(&e);
    emit_key(&e, "components");
    emit_object(&e);
    emit_key(&e, "securitySchemes");
    emit_raw(&e, SLICE("{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}}"));
    emit_key(&e, "schemas");
    emit_raw(&e, slice_str(api_schemas));
    emit_object_end(&e);
    emit_object_end(&e);
}

void api_document(struct api_call *c) {
    admin_openapi(&c->out);
    api_answer(c, 200);
}
