#include "risk/catalogue.h"

#include "base/mem.h"
#include "risk/catalogue_file.h"
#include "risk/catalogue_place.h"
#include "risk/limits.h"

static uint64_t head_of(const uint8_t hash[RISK_HASH_BYTES]) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | hash[i];
    return value;
}

size_t risk_catalogue_count(void) {
    const struct catalogue_file *f = catalogue_place_current();
    return f ? f->head->tools : 0;
}

size_t risk_catalogue_servers(void) {
    const struct catalogue_file *f = catalogue_place_current();
    return f ? f->head->servers : 0;
}

size_t risk_catalogue_names(void) {
    const struct catalogue_file *f = catalogue_place_current();
    return f ? f->head->names : 0;
}

struct slice risk_catalogue_item(struct risk_list list, uint32_t i) {
    const struct catalogue_file *f = catalogue_place_current();
    return catalogue_file_text(f, f->lists[list.place + i]);
}

static void get_tool(const struct catalogue_file *f, size_t i, struct risk_known *ret_known) {
    const struct catalogue_tool *t = &f->tools[i];
    const struct catalogue_server *s = &f->servers[t->server];
    *ret_known = (struct risk_known){
        .tool = catalogue_file_text(f, t->name),
        .server = t->server,
        .registry = (enum risk_registry)s->registry,
        .package = catalogue_file_text(f, s->name),
        .version = catalogue_file_text(f, s->version),
        .cls = (enum risk_class)t->cls,
        .confidence = t->confidence,
        .tags = t->tags,
        .tokens = t->tokens,
        .properties = t->properties,
        .freeform = catalogue_file_text(f, t->freeform),
        .evidence = {t->evidence, t->evidence_count},
        .findings = t->findings,
        .destructive_hint = t->destructive_hint,
        .full = t->full,
        .shape = t->shape,
    };
}

void risk_catalogue_get(size_t i, struct risk_known *ret_known) {
    get_tool(catalogue_place_current(), i, ret_known);
}

static int server_order(const struct catalogue_file *f, size_t i, enum risk_registry registry,
                        struct slice name) {
    const struct catalogue_server *s = &f->servers[i];
    return s->registry != registry ? (int)s->registry - (int)registry
                                   : slice_cmp(catalogue_file_text(f, s->name), name);
}

void risk_catalogue_server(size_t i, struct risk_published *ret_server) {
    const struct catalogue_file *f = catalogue_place_current();
    const struct catalogue_server *s = &f->servers[i];
    struct slice name = catalogue_file_text(f, s->name);
    *ret_server = (struct risk_published){
        .registry = (enum risk_registry)s->registry,
        .name = name,
        .version = catalogue_file_text(f, s->version),
        .title = catalogue_file_text(f, s->title),
        .repository = catalogue_file_text(f, s->repository),
        .licence = catalogue_file_text(f, s->licence),
        .command = catalogue_file_text(f, s->command),
        .url = catalogue_file_text(f, s->url),
        .args = {s->args, s->arg_count},
        .env = {s->env, s->env_count},
        .first = s->first,
        .tools = s->tools,
        .downloads = s->downloads,
        .rank = s->rank,
        .released = s->released,
        .seen = s->seen,
        .had = (enum risk_had)s->had,
        .auth = (enum risk_auth)s->auth,
        .newest =
            i + 1 == f->head->servers || server_order(f, i + 1, (enum risk_registry)s->registry, name) != 0,
    };
}

/* Finds the first tool in a sorted order whose hash is not below the given one. */
static bool find_hash(const struct catalogue_file *f, const uint32_t *order, size_t member, uint64_t want,
                      struct risk_known *ret_known) {
    size_t low = 0, high = f->head->tools;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        uint64_t have;
        memcpy(&have, (const char *)&f->tools[order[mid]] + member, sizeof(have));
        if (have < want)
            low = mid + 1;
        else
            high = mid;
    }
    if (!want || low == f->head->tools)
        return false;
    uint64_t have;
    memcpy(&have, (const char *)&f->tools[order[low]] + member, sizeof(have));
    if (have == want)
        get_tool(f, order[low], ret_known);
    return have == want;
}

bool risk_catalogue_find(const uint8_t full[RISK_HASH_BYTES], struct risk_known *ret_known) {
    const struct catalogue_file *f = catalogue_place_current();
    return f && find_hash(f, f->by_full, offsetof(struct catalogue_tool, full), head_of(full), ret_known);
}

bool risk_catalogue_find_shape(const uint8_t shape[RISK_HASH_BYTES], struct risk_known *ret_known) {
    const struct catalogue_file *f = catalogue_place_current();
    return f && find_hash(f, f->by_shape, offsetof(struct catalogue_tool, shape), head_of(shape), ret_known);
}

size_t risk_catalogue_versions(enum risk_registry registry, struct slice name, size_t *ret_first) {
    const struct catalogue_file *f = catalogue_place_current();
    size_t low = 0, high = f ? f->head->servers : 0, all = high;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (server_order(f, mid, registry, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = low;
    while (end < all && server_order(f, end, registry, name) == 0)
        end++;
    *ret_first = low;
    return end - low;
}

bool risk_catalogue_find_server(enum risk_registry registry, struct slice name, struct slice version,
                                size_t *ret_server) {
    size_t first, count = risk_catalogue_versions(registry, name, &first);
    if (!count)
        return false;
    *ret_server = first + count - 1;
    const struct catalogue_file *f = catalogue_place_current();
    for (size_t i = first; i < first + count; i++)
        if (slice_eq(catalogue_file_text(f, f->servers[i].version), version))
            *ret_server = i;
    return true;
}

static struct slice name_in_order(const struct catalogue_file *f, size_t place) {
    return catalogue_file_text(f, f->tools[f->by_name[place]].name);
}

size_t risk_catalogue_named(struct slice tool, size_t *ret_place) {
    const struct catalogue_file *f = catalogue_place_current();
    size_t low = 0, high = f ? f->head->tools : 0, all = high;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (slice_cmp(name_in_order(f, mid), tool) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = low;
    while (end < all && slice_eq(name_in_order(f, end), tool))
        end++;
    *ret_place = low;
    return end - low;
}

size_t risk_catalogue_in_order(size_t place) { return catalogue_place_current()->by_name[place]; }

bool risk_catalogue_differs(enum risk_registry registry, struct slice package, struct slice version,
                            struct slice tool, const uint8_t full[RISK_HASH_BYTES]) {
    size_t i;
    struct risk_published s;
    if (!risk_catalogue_find_server(registry, package, version, &i))
        return false;
    risk_catalogue_server(i, &s);
    if (!slice_eq(s.version, version) || s.had != RISK_LISTED)
        return false;
    bool met = false;
    for (size_t k = s.first; k < s.first + s.tools; k++) {
        struct risk_known known;
        risk_catalogue_get(k, &known);
        if (!slice_eq(known.tool, tool))
            continue;
        if (known.full == head_of(full))
            return false;
        met = true;
    }
    return met;
}
