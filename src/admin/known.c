/* The catalogue of published servers at the API. */
#include "admin/api.h"
#include "risk/catalogue.h"

static bool contains(struct slice have, struct slice word) {
    for (size_t at = 0; word.len <= have.len && at <= have.len - word.len; at++)
        if (slice_eq_nocase(slice_of(have.ptr + at, word.len), word))
            return true;
    return false;
}

/* Every word occurs in the package's name or in that of one of its tools. */
static bool package_fits(struct slice package, struct slice words) {
    struct slice word;
    while (words.len) {
        slice_cut(&words, ' ', &word);
        bool found = contains(package, word);
        for (size_t i = 0; !found && i < risk_catalogue_count(); i++) {
            struct risk_known known;
            risk_catalogue_get(i, &known);
            found = slice_eq(known.package, package) && contains(known.tool, word);
        }
        if (!found)
            return false;
    }
    return true;
}

static void put_text(struct emit *e, const char *key, struct slice text) {
    emit_key(e, key);
    emit_str(e, text);
}

static void put_classes(struct emit *e, struct slice package) {
    int64_t counts[RISK_CLASSES] = {0};
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        struct risk_known known;
        risk_catalogue_get(i, &known);
        if (slice_eq(known.package, package))
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

void api_known(struct api_call *c) {
    struct slice words = slice_trim(api_query_text(c, "q"));
    uint64_t left;
    if (!api_query_number(c, "limit", ADMIN_LIST_MAX, 100, &left))
        return;
    emit_array(&c->e);
    for (size_t i = 0; i < risk_catalogue_packages() && left; i++) {
        struct slice package, version;
        size_t tools;
        risk_catalogue_package(i, &package, &version, &tools);
        if (!package_fits(package, words))
            continue;
        left--;
        emit_object(&c->e);
        put_text(&c->e, "name", package);
        put_text(&c->e, "version", version);
        emit_key(&c->e, "tools");
        emit_int(&c->e, (int64_t)tools);
        put_classes(&c->e, package);
        emit_object_end(&c->e);
    }
    emit_array_end(&c->e);
    api_answer(c, 200);
}

static void put_tool(struct emit *e, const struct risk_known *known) {
    emit_object(e);
    put_text(e, "name", known->tool);
    put_text(e, "category", slice_str(risk_class_name(known->cls)));
    put_text(e, "severity", slice_str(risk_severity_name(risk_class_severity(known->cls))));
    emit_key(e, "tokens");
    emit_int(e, known->tokens);
    emit_key(e, "tags");
    emit_array(e);
    for (unsigned i = 0; i < RISK_TAGS; i++)
        if (known->tags & 1u << i)
            emit_cstr(e, risk_tag_name(i));
    emit_array_end(e);
    emit_object_end(e);
}

void api_known_server(struct api_call *c) {
    struct slice name = api_query_text(c, "name"), package, version = {0};
    size_t tools;
    bool found = false;
    for (size_t i = 0; i < risk_catalogue_packages() && !found; i++) {
        risk_catalogue_package(i, &package, &version, &tools);
        found = slice_eq(package, name);
    }
    if (!found) {
        api_error(c, 404, "the catalogue does not know `%.*s`", SLICE_FMT(name));
        return;
    }
    emit_object(&c->e);
    put_text(&c->e, "name", name);
    put_text(&c->e, "version", version);
    emit_key(&c->e, "tools");
    emit_array(&c->e);
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        struct risk_known known;
        risk_catalogue_get(i, &known);
        if (slice_eq(known.package, name))
            put_tool(&c->e, &known);
    }
    emit_array_end(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 200);
}
