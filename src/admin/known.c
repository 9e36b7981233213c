/* The catalogue of published servers at the API. */
#include "admin/api.h"
#include "pages/lookup.h"
#include "pages/render.h"
#include "pages/subject.h"
#include "risk/catalogue_place.h"
#include "risk/search.h"

static void put_text(struct emit *e, const char *key, struct slice text) {
    emit_key(e, key);
    emit_str(e, text);
}

static void put_classes(struct emit *e, const struct risk_published *server) {
    int64_t counts[RISK_CLASSES] = {0};
    for (size_t i = 0; i < server->tools; i++) {
        struct risk_known known;
        risk_catalogue_get(server->first + i, &known);
        counts[known.cls]++;
    }
    emit_key(e, "classes");
    emit_object(e);
    for (int cls = 0; cls < RISK_CLASSES; cls++) {
        if (!counts[cls])
            continue;
        emit_key(e, risk_class_name((enum risk_class)cls));
        emit_int(e, counts[cls]);
    }
    emit_object_end(e);
}

static void put_head(struct emit *e, const struct risk_published *server) {
    put_text(e, "registry", slice_str(risk_registry_name(server->registry)));
    put_text(e, "name", server->name);
    put_text(e, "version", server->version);
    if (server->title.len)
        put_text(e, "title", server->title);
}

struct known_filter {
    struct slice words, registry, cls;
};

static bool has_class(const struct risk_published *server, struct slice name) {
    for (size_t i = 0; i < server->tools; i++) {
        struct risk_known known;
        risk_catalogue_get(server->first + i, &known);
        if (slice_eq_nocase(name, slice_str(risk_class_name(known.cls))))
            return true;
    }
    return false;
}

static bool passes(const struct risk_published *server, const struct known_filter *f) {
    if (f->registry.len && !slice_eq(f->registry, slice_str(risk_registry_name(server->registry))))
        return false;
    return (!f->cls.len || has_class(server, f->cls)) && risk_search_server(server, f->words);
}

void api_known(struct api_call *c) {
    risk_catalogue_refresh();
    struct known_filter filter = {.words = api_query_text(c, "q"),
                                  .registry = api_query_text(c, "registry"),
                                  .cls = api_query_text(c, "class")};
    enum risk_registry registry;
    if (filter.registry.len && !risk_registry_from(filter.registry, &registry)) {
        api_error(c, 400, "unknown registry `%.*s`", SLICE_FMT(filter.registry));
        return;
    }
    if (filter.cls.len && risk_class_from(filter.cls) == RISK_NONE) {
        api_error(c, 400, "unknown class `%.*s`: use Read, Write, Execute, Destructive or Financial",
                  SLICE_FMT(filter.cls));
        return;
    }
    struct api_page page;
    if (!api_page_open(c, 100, &page))
        return;
    size_t *order, all = risk_search_order(&c->arena, &order), total = 0;
    for (size_t i = 0; i < all; i++) {
        struct risk_published server;
        risk_catalogue_server(order[i], &server);
        if (!passes(&server, &filter))
            continue;
        total++;
        struct slice key =
            arena_printf(&c->arena, "%s/%.*s", risk_registry_name(server.registry), SLICE_FMT(server.name));
        if (page.more || !api_page_takes(&page, key))
            continue;
        emit_object(&c->e);
        put_head(&c->e, &server);
        emit_key(&c->e, "tools");
        emit_int(&c->e, (int64_t)server.tools);
        put_classes(&c->e, &server);
        emit_object_end(&c->e);
    }
    page.total = (int64_t)total;
    api_page_answer(c, &page);
}

static void put_tool(struct emit *e, const struct risk_known *known) {
    emit_object(e);
    put_text(e, "name", known->tool);
    put_text(e, "category", slice_str(risk_class_name(known->cls)));
    put_text(e, "severity", slice_str(risk_severity_name(risk_class_severity(known->cls))));
    emit_key(e, "tokens");
    emit_int(e, known->tokens);
    risk_tags_put(e, known->tags);
    emit_object_end(e);
}

void api_known_page(struct api_call *c) {
    risk_catalogue_refresh();
    struct slice name = api_query_text(c, "name"), tool = api_query_text(c, "tool");
    cleanup_arena struct arena a;
    arena_init(&a);
    struct sheet sheet;
    sheet_init(&sheet, &a, "server");
    if (!lookup_page(name, tool, &sheet)) {
        struct slice unknown = tool.len ? tool : name;
        api_error(c, 404, "`%.*s` is not in the catalogue", SLICE_FMT(unknown));
        return;
    }
    cleanup_buf struct buf out;
    buf_init(&out, PAGES_BYTES_MAX);
    render_sheet(&sheet, &(struct render_options){.form = RENDER_JSON}, &out);
    emit_raw(&c->e, buf_slice(&out));
    api_answer(c, 200);
}

void api_known_server(struct api_call *c) {
    risk_catalogue_refresh();
    struct slice name = api_query_text(c, "name");
    size_t i;
    if (!subject_find(name, &i)) {
        api_error(c, 404, "`%.*s` is not in the catalogue", SLICE_FMT(name));
        return;
    }
    struct risk_published server;
    risk_catalogue_server(i, &server);
    emit_object(&c->e);
    put_head(&c->e, &server);
    emit_key(&c->e, "tools");
    emit_array(&c->e);
    for (size_t k = 0; k < server.tools; k++) {
        struct risk_known known;
        risk_catalogue_get(server.first + k, &known);
        put_tool(&c->e, &known);
    }
    emit_array_end(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 200);
}
