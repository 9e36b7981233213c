#include "packages/manifest.h"

#include "base/buf.h"
#include "base/mem.h"
#include "io/file.h"
#include "wire/emit.h"
#include "wire/tape.h"

#define LAYERS_ALL_MAX (PACK_PACKAGES_MAX * 8)

/* ---- reading ---- */

static struct slice text_of(struct pack_manifest *m, const struct tape *t, uint32_t object, const char *key) {
    const uint32_t node = tape_get_str(t, object, key);
    if (!node || !tape_is(t, node, TAPE_STRING))
        return (struct slice){0};
    return arena_dup(&m->arena, tape_text(t, node, &m->arena));
}

static uint64_t number_of(const struct tape *t, uint32_t object, const char *key) {
    const uint32_t node = tape_get_str(t, object, key);
    int64_t value;
    return node && tape_int(t, node, &value) && value > 0 ? (uint64_t)value : 0;
}

/* Accepts only paths that this file writes: one directory below py or js. */
static bool layer_ok(const struct pack_layer *l) {
    struct slice rest = l->path, kind;
    return slice_cut(&rest, '/', &kind) && (slice_is(kind, "py") || slice_is(kind, "js")) && rest.len == 64 &&
           strspn(rest.ptr, "0123456789abcdef") == 64;
}

static bool read_layers(struct pack_manifest *m, const struct tape *t) {
    const uint32_t list = tape_get_str(t, 0, "layers");
    if (!list || !tape_is(t, list, TAPE_ARRAY) || tape_node(t, list)->count > LAYERS_ALL_MAX)
        return false;
    m->layers = mem_zalloc((tape_node(t, list)->count + 1) * sizeof(*m->layers));
    TAPE_FOR_ELEM(t, list, i) {
        struct pack_layer *l = &m->layers[m->layer_count++];
        *l = (struct pack_layer){text_of(m, t, i, "path"), text_of(m, t, i, "name"),
                                 text_of(m, t, i, "version"), text_of(m, t, i, "modules"),
                                 number_of(t, i, "bytes")};
        if (!layer_ok(l))
            return false;
    }
    return true;
}

static bool read_package(struct pack_manifest *m, const struct tape *t, uint32_t at, struct pack_package *p) {
    const uint32_t list = tape_get_str(t, at, "layers"), asked = tape_get_str(t, at, "on_request");
    *p = (struct pack_package){
        .kind = slice_is(text_of(m, t, at, "kind"), "npm") ? PACK_NPM : PACK_PIP,
        .name = text_of(m, t, at, "name"),
        .version = text_of(m, t, at, "version"),
        .python = text_of(m, t, at, "python"),
        .on_request = asked && tape_is(t, asked, TAPE_TRUE),
        .added_ms = number_of(t, at, "added_ms"),
    };
    if (!p->name.len || !p->version.len || !list || !tape_is(t, list, TAPE_ARRAY))
        return false;
    TAPE_FOR_ELEM(t, list, i) {
        int64_t index;
        if (!tape_int(t, i, &index) || index < 0 || (size_t)index >= m->layer_count ||
            p->layer_count == PACK_LAYERS_MAX)
            return false;
        p->layers[p->layer_count++] = (uint32_t)index;
    }
    return p->layer_count > 0;
}

static bool read_packages(struct pack_manifest *m, const struct tape *t) {
    const uint32_t list = tape_get_str(t, 0, "packages");
    if (!list || !tape_is(t, list, TAPE_ARRAY) || tape_node(t, list)->count > PACK_PACKAGES_MAX)
        return false;
    m->packages = mem_zalloc((tape_node(t, list)->count + 1) * sizeof(*m->packages));
    TAPE_FOR_ELEM(t, list, i) {
        struct pack_package *p = arena_new(&m->arena, struct pack_package);
        if (!read_package(m, t, i, p))
            return false;
        m->packages[m->package_count++] = p;
    }
    return true;
}

int pack_manifest_load(const char *dir, struct pack_manifest *ret_manifest, struct err *err) {
    struct pack_manifest m = {0};
    cleanup_arena struct arena a;
    cleanup_buf struct buf text;
    cleanup_tape struct tape t;
    arena_init(&a);
    arena_init(&m.arena);
    tape_init(&t);
    buf_init(&text, PACK_MANIFEST_MAX);
    const struct slice path = arena_printf(&a, "%s/" PACK_MANIFEST_NAME, dir);
    bool missing = false;
    if (io_file_read(path.ptr, &text, &missing, err) < 0) {
        if (!missing)
            return -1;
        *ret_manifest = m;
        return 0;
    }
    if (tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT) ||
        number_of(&t, 0, "version") != 1 || !read_layers(&m, &t) || !read_packages(&m, &t)) {
        pack_manifest_free(&m);
        return err_set(err, "%s is damaged: remove it and add the packages again", path.ptr);
    }
    *ret_manifest = m;
    return 0;
}

void pack_manifest_free(struct pack_manifest *m) {
    free(m->layers);
    free(m->packages);
    arena_free(&m->arena);
    *m = (struct pack_manifest){0};
}

/* ---- writing ---- */

static void put_number(struct emit *e, const char *key, uint64_t value) {
    emit_key(e, key);
    emit_int(e, (int64_t)value);
}

static void put_layer(const struct pack_layer *l, struct emit *e) {
    emit_object(e);
    emit_text(e, "path", l->path);
    emit_text(e, "name", l->name);
    emit_text(e, "version", l->version);
    emit_text(e, "modules", l->modules);
    put_number(e, "bytes", l->bytes);
    emit_object_end(e);
}

static void put_head(const struct pack_package *p, struct emit *e) {
    emit_text(e, "kind", slice_str(pack_spec_kind_name(p->kind)));
    emit_text(e, "name", p->name);
    emit_text(e, "version", p->version);
    emit_text(e, "python", p->python);
    emit_key(e, "on_request");
    emit_bool(e, p->on_request);
}

/* Layers that no package needs are left out, so the others get new numbers. */
int pack_manifest_save(const char *dir, const struct pack_manifest *m, struct err *err) {
    cleanup_arena struct arena a;
    cleanup_buf struct buf text;
    struct emit e;
    arena_init(&a);
    buf_init(&text, PACK_MANIFEST_MAX);
    uint32_t *numbers = arena_array(&a, uint32_t, m->layer_count + 1), next = 0;
    emit_init(&e, &text);
    emit_object(&e);
    put_number(&e, "version", 1);
    emit_key(&e, "layers");
    emit_array(&e);
    for (size_t i = 0; i < m->layer_count; i++) {
        if (!pack_manifest_needs(m, m->layers[i].path))
            continue;
        numbers[i] = next++;
        put_layer(&m->layers[i], &e);
    }
    emit_array_end(&e);
    emit_key(&e, "packages");
    emit_array(&e);
    for (size_t i = 0; i < m->package_count; i++) {
        const struct pack_package *p = m->packages[i];
        emit_object(&e);
        put_head(p, &e);
        put_number(&e, "added_ms", p->added_ms);
        emit_key(&e, "layers");
        emit_array(&e);
        for (size_t k = 0; k < p->layer_count; k++)
            emit_int(&e, numbers[p->layers[k]]);
        emit_array_end(&e);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    emit_object_end(&e);
    if (text.full)
        return err_set(err, "too many packages are installed: remove some");
    return io_file_replace(arena_printf(&a, "%s/" PACK_MANIFEST_NAME, dir).ptr, buf_slice(&text), 0644, err);
}

void pack_manifest_write(const struct pack_manifest *m, struct emit *e) {
    for (size_t i = 0; i < m->package_count; i++) {
        const struct pack_package *p = m->packages[i];
        emit_object(e);
        put_head(p, e);
        put_number(e, "bytes", pack_manifest_bytes(m, p));
        emit_text(e, "modules", m->layers[p->layers[0]].modules);
        emit_time(e, "added", p->added_ms);
        emit_key(e, "needs");
        emit_array(e);
        for (size_t k = 1; k < p->layer_count; k++) {
            const struct pack_layer *l = &m->layers[p->layers[k]];
            emit_object(e);
            emit_text(e, "name", l->name);
            emit_text(e, "version", l->version);
            emit_object_end(e);
        }
        emit_array_end(e);
        emit_object_end(e);
    }
}

/* ---- changing ---- */

uint32_t pack_manifest_layer(struct pack_manifest *m, const struct pack_layer *layer) {
    for (size_t i = 0; i < m->layer_count; i++)
        if (slice_eq(m->layers[i].path, layer->path))
            return (uint32_t)i;
    m->layers = mem_realloc(m->layers, (m->layer_count + 1) * sizeof(*m->layers));
    m->layers[m->layer_count] = (struct pack_layer){
        arena_dup(&m->arena, layer->path), arena_dup(&m->arena, layer->name),
        arena_dup(&m->arena, layer->version), arena_dup(&m->arena, layer->modules), layer->bytes};
    return (uint32_t)m->layer_count++;
}

static void take_out(struct pack_manifest *m, size_t at) {
    memmove(m->packages + at, m->packages + at + 1, (m->package_count - at - 1) * sizeof(*m->packages));
    m->package_count--;
}

void pack_manifest_put(struct pack_manifest *m, const struct pack_package *package) {
    for (size_t i = m->package_count; i > 0; i--) {
        const struct pack_package *p = m->packages[i - 1];
        if (p->kind == package->kind && slice_eq(p->version, package->version) &&
            pack_spec_same_name(p->kind, p->name, package->name))
            take_out(m, i - 1);
    }
    m->packages = mem_realloc(m->packages, (m->package_count + 1) * sizeof(*m->packages));
    struct pack_package *p = m->packages[m->package_count++] = arena_new(&m->arena, struct pack_package);
    *p = *package;
    p->name = arena_dup(&m->arena, package->name);
    p->version = arena_dup(&m->arena, package->version);
    p->python = arena_dup(&m->arena, package->python);
}

static bool is_meant(const struct pack_package *p, const struct pack_spec *spec) {
    return p->kind == spec->kind && pack_spec_same_name(p->kind, p->name, spec->name) &&
           pack_spec_fits(spec, p->version);
}

const struct pack_package *pack_manifest_find(const struct pack_manifest *m, const struct pack_spec *spec) {
    for (size_t i = m->package_count; i > 0; i--)
        if (is_meant(m->packages[i - 1], spec))
            return m->packages[i - 1];
    return NULL;
}

size_t pack_manifest_remove(struct pack_manifest *m, const struct pack_spec *spec) {
    size_t removed = 0;
    for (size_t i = m->package_count; i > 0; i--)
        if (is_meant(m->packages[i - 1], spec)) {
            take_out(m, i - 1);
            removed++;
        }
    return removed;
}

bool pack_manifest_needs(const struct pack_manifest *m, struct slice path) {
    for (size_t i = 0; i < m->package_count; i++)
        for (size_t k = 0; k < m->packages[i]->layer_count; k++)
            if (slice_eq(m->layers[m->packages[i]->layers[k]].path, path))
                return true;
    return false;
}

uint64_t pack_manifest_bytes(const struct pack_manifest *m, const struct pack_package *p) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->layer_count; i++)
        bytes += m->layers[p->layers[i]].bytes;
    return bytes;
}
