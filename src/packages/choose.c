#include "packages/choose.h"

#include "wire/emit.h"

#define LAYERS_ALL_MAX (4 * PACK_LAYERS_MAX)

/* ---- the operator's list ---- */

/* The next entry of the list; a ready list is replaced by its entries. False at the end. */
struct entries {
    struct slice rest, preset;
};

static bool next_entry(struct entries *e, struct pack_spec *ret_spec) {
    struct slice one;
    struct err err;
    for (;;) {
        if (e->preset.len)
            slice_cut(&e->preset, ' ', &one);
        else if (e->rest.len)
            slice_cut(&e->rest, '\n', &one);
        else
            return false;
        one = slice_trim(one);
        const char *preset = pack_spec_preset(one);
        if (preset)
            e->preset = slice_str(preset);
        else if (pack_spec_parse(one, PACK_PIP, ret_spec, &err) == 0)
            return true;
    }
}

struct slice pack_choose_allowed(const char *allow, const struct pack_spec *spec, struct arena *a) {
    struct entries entries = {.rest = slice_str(allow)};
    for (struct pack_spec entry; next_entry(&entries, &entry);)
        if (pack_spec_covers(&entry, spec))
            return arena_printf(a, "%s:%.*s", pack_spec_kind_name(spec->kind),
                                SLICE_FMT(spec->version.len ? spec->text : entry.text));
    return (struct slice){0};
}

static bool is_usable(const struct pack_choose *q, const struct pack_package *p) {
    cleanup_arena struct arena a;
    arena_init(&a);
    const struct pack_spec spec = {.kind = p->kind, .name = p->name, .version = p->version, .text = p->name};
    return !p->on_request || pack_choose_allowed(q->allow, &spec, &a).len > 0;
}

/* ---- why not ---- */

static const char *add_command(const struct pack_spec *spec) {
    return spec->kind == PACK_NPM && slice_find(spec->text, '@') < 0 ? "npm:" : "";
}

static int refuse(const struct pack_choose *q, const struct pack_manifest *m, const struct pack_spec *spec,
                  struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    const struct pack_spec any = {.kind = spec->kind, .name = spec->name, .text = spec->name};
    const struct pack_package *other = pack_manifest_find(m, &any);
    if (spec->range)
        return err_set(err, "package `%.*s`: name one version (%.*s%sVERSION) or none", SLICE_FMT(spec->text),
                       SLICE_FMT(spec->name), spec->kind == PACK_NPM ? "@" : "==");
    if (pack_choose_allowed(q->allow, spec, &a).len)
        return err_set(err, "package `%.*s` is allowed but not installed: call install_package first",
                       SLICE_FMT(spec->text));
    if (other && is_usable(q, other))
        return err_set(
            err,
            "package `%.*s` is not installed, but version %.*s is; the operator can install it with "
            "`sallyport code packages add %s%.*s`",
            SLICE_FMT(spec->text), SLICE_FMT(other->version), add_command(spec), SLICE_FMT(spec->text));
    return err_set(
        err,
        "package `%.*s` is not allowed here: the operator can install it with `sallyport code packages "
        "add %s%.*s`, or name it in code.packages.allow so that agents may",
        SLICE_FMT(spec->text), add_command(spec), SLICE_FMT(spec->text));
}

/* ---- the choice ---- */

struct chosen {
    const struct pack_package *packages[2 * PACK_SPECS_MAX];
    size_t count;
};

/* The first of two entries is used. False when there was one already. */
static bool take(struct chosen *c, const struct pack_package *p) {
    for (size_t i = 0; i < c->count; i++)
        if (pack_spec_same_name(p->kind, c->packages[i]->name, p->name))
            return false;
    if (c->count < sizeof(c->packages) / sizeof(c->packages[0]))
        c->packages[c->count++] = p;
    return true;
}

static int choose_one(const struct pack_choose *q, const struct pack_manifest *m, struct slice text,
                      struct chosen *c, struct err *err) {
    struct pack_spec spec;
    if (pack_spec_parse(text, q->kind, &spec, err) < 0)
        return -1;
    if (spec.kind != q->kind)
        return err_set(err, "package `%.*s` is for %s; this code is %s", SLICE_FMT(text),
                       spec.kind == PACK_NPM ? "JavaScript" : "Python",
                       q->kind == PACK_NPM ? "JavaScript" : "Python");
    const struct pack_package *p = pack_manifest_find(m, &spec);
    if (!p || !is_usable(q, p))
        return refuse(q, m, &spec, err);
    if (p->kind == PACK_PIP && q->python && !slice_is(p->python, q->python))
        return err_set(
            err,
            "package `%.*s` was installed for Python %.*s, but code runs with %s here: the operator "
            "can install it again with `sallyport code packages add %.*s`",
            SLICE_FMT(text), SLICE_FMT(p->python), q->python, SLICE_FMT(spec.text));
    if (take(c, p))
        return 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->packages[i] == p)
            return 0;
    return err_set(err, "package `%.*s` is asked for in two versions", SLICE_FMT(spec.name));
}

/* If several packages need one, a single version is imported: the requested one, else the first. */
static void write_python(const struct pack_manifest *m, const struct chosen *c, struct emit *e) {
    const struct pack_layer *taken[LAYERS_ALL_MAX];
    size_t count = 0;
    emit_array(e);
    for (size_t depth = 0; depth < PACK_LAYERS_MAX; depth++)
        for (size_t i = 0; i < c->count; i++) {
            const struct pack_package *p = c->packages[i];
            const struct pack_layer *l = depth < p->layer_count ? &m->layers[p->layers[depth]] : NULL;
            bool known = !l || count == LAYERS_ALL_MAX;
            for (size_t k = 0; !known && k < count; k++)
                known = pack_spec_same_name(PACK_PIP, taken[k]->name, l->name);
            if (known)
                continue;
            taken[count++] = l;
            emit_str(e, l->path);
        }
    emit_array_end(e);
}

static void write_javascript(const struct pack_manifest *m, const struct chosen *c, struct emit *e) {
    emit_object(e);
    for (size_t i = 0; i < c->count; i++) {
        emit_key_slice(e, c->packages[i]->name);
        emit_str(e, m->layers[c->packages[i]->layers[0]].path);
    }
    emit_object_end(e);
}

int pack_choose(const struct pack_choose *q, struct buf *ret_json, struct err *err) {
    if (!q->asked_count && !q->kept_count)
        return 0;
    cleanup_manifest struct pack_manifest m = {0};
    struct chosen c = {.count = 0};
    struct err ignored;
    if (q->asked_count > PACK_SPECS_MAX)
        return err_set(err, "a run may ask for %d packages", PACK_SPECS_MAX);
    if (pack_manifest_load(q->dir, &m, err) < 0)
        return -1;
    for (size_t i = 0; i < q->asked_count; i++)
        if (choose_one(q, &m, q->asked[i], &c, err) < 0)
            return -1;
    for (size_t i = 0; i < q->kept_count; i++)
        choose_one(q, &m, q->kept[i], &c, &ignored);
    if (!c.count)
        return 0;
    struct emit e;
    emit_init(&e, ret_json);
    if (q->kind == PACK_NPM)
        write_javascript(&m, &c, &e);
    else
        write_python(&m, &c, &e);
    return ret_json->full ? err_set(err, "too many packages") : 0;
}

/* ---- what could have been asked for ---- */

static bool has_word(struct slice words, struct slice word) {
    for (struct slice one; words.len;) {
        slice_cut(&words, ' ', &one);
        if (slice_eq(one, word))
            return true;
    }
    return false;
}

/* Its own layer first, then a package that includes it. */
static const struct pack_package *brings(const struct pack_choose *q, const struct pack_manifest *m,
                                         struct slice module) {
    for (size_t depth = 0; depth < PACK_LAYERS_MAX; depth++)
        for (size_t i = m->package_count; i > 0; i--) {
            const struct pack_package *p = m->packages[i - 1];
            if (p->kind == q->kind && depth < p->layer_count &&
                has_word(m->layers[p->layers[depth]].modules, module) && is_usable(q, p))
                return p;
        }
    return NULL;
}

struct slice pack_choose_for_module(const struct pack_choose *q, struct slice module, bool *ret_installed,
                                    struct arena *a) {
    cleanup_manifest struct pack_manifest m = {0};
    struct err err;
    *ret_installed = false;
    if (pack_manifest_load(q->dir, &m, &err) == 0) {
        const struct pack_package *p = brings(q, &m, module);
        *ret_installed = p != NULL;
        if (p)
            return arena_printf(a, "%.*s%s%.*s", SLICE_FMT(p->name),
                                p->kind == PACK_NPM ? "@" : "==", SLICE_FMT(p->version));
    }
    struct entries entries = {.rest = slice_str(q->allow)};
    for (struct pack_spec entry; next_entry(&entries, &entry);)
        if (entry.kind == q->kind && pack_spec_same_name(entry.kind, entry.name, module))
            return arena_dup(a, entry.text);
    return (struct slice){0};
}
