#include "risk/lockfile.h"

#include "base/glyph.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sha.h"
#include "risk/classify.h"
#include "risk/diff.h"
#include "wire/canon.h"
#include "wire/emit.h"

#include <stdlib.h>

struct pin {
    uint32_t node; /* of the entry */
    uint8_t full[RISK_HASH_BYTES];
};

static const struct {
    const char *section, *name,
        *id; /* its section in the lock, its word in messages, its identifying member */
} kinds[RISK_PIN_KINDS] = {{"tools", "tool", "name"}, {"skills", "skill", "uri"}};

struct risk_lock {
    char *text;
    struct tape tape;
    uint32_t servers;                /* node of the object; 0 when empty */
    struct map pins[RISK_PIN_KINDS]; /* "server\0name" -> struct pin */
    struct map files;                /* of skills: "server\0uri" -> the digest that was accepted */
    struct arena arena;
};

static struct slice text_of(const struct tape *t, uint32_t node, struct arena *a) {
    return node ? tape_text(t, node, a) : (struct slice){0};
}

/* `obj` 0 means absent, as in tape look-ups. */
static uint32_t object_at(const struct tape *t, uint32_t obj, struct slice key) {
    uint32_t node = obj && tape_is(t, obj, TAPE_OBJECT) ? tape_get(t, obj, key) : 0;
    return node && tape_is(t, node, TAPE_OBJECT) ? node : 0;
}

static uint32_t lock_server(const struct risk_lock *lock, struct slice server) {
    return lock->servers ? object_at(&lock->tape, lock->servers, server) : 0;
}

/* 0 when the server has no such section; a lock from before skills were pinned has none. */
static uint32_t section_at(const struct risk_lock *lock, uint32_t server, enum risk_pin_kind kind) {
    return object_at(&lock->tape, server, slice_str(kinds[kind].section));
}

/* Neither name can contain a NUL: the parser refuses it. */
static struct slice pin_key(struct slice server, struct slice tool, struct arena *a) {
    char *key = arena_alloc(a, server.len + tool.len + 1);
    memcpy(key, server.ptr ? server.ptr : "", server.len);
    key[server.len] = 0;
    memcpy(key + server.len + 1, tool.ptr ? tool.ptr : "", tool.len);
    return slice_of(key, server.len + 1 + tool.len);
}

/* A file without a digest, or with one of another algorithm, is skipped: its content could not be checked. */
static void read_files(struct risk_lock *lock, uint32_t skill, struct slice server) {
    const struct tape *t = &lock->tape;
    uint32_t files = tape_get_str(t, skill, "resources");
    if (!files || !tape_is(t, files, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(t, files, file) {
        if (!tape_is(t, file, TAPE_OBJECT))
            continue;
        struct slice uri = text_of(t, tape_get_str(t, file, "uri"), &lock->arena);
        uint8_t *digest = arena_alloc(&lock->arena, RISK_HASH_BYTES);
        if (risk_fingerprint_parse(text_of(t, tape_get_str(t, file, "digest"), &lock->arena), digest))
            map_put(&lock->files, pin_key(server, uri, &lock->arena), digest);
    }
}

/* A pin's fingerprint must match its definition: a lock edited by hand is refused. */
static int read_pin(struct risk_lock *lock, enum risk_pin_kind kind, uint32_t key, struct slice server,
                    struct err *err) {
    const struct tape *t = &lock->tape;
    struct slice name = tape_text(t, key, &lock->arena);
    uint32_t definition = object_at(t, key + 1, SLICE("definition"));
    uint32_t node = tape_is(t, key + 1, TAPE_OBJECT) ? tape_get_str(t, key + 1, "fingerprint") : 0;
    struct pin *pin = arena_new(&lock->arena, struct pin);
    pin->node = key + 1;
    if (!definition || !node || !risk_fingerprint_parse(text_of(t, node, &lock->arena), pin->full))
        return err_set(err, "server `%.*s`, %s `%.*s`: no fingerprint and definition", SLICE_FMT(server),
                       kinds[kind].name, SLICE_FMT(name));
    cleanup_arena struct arena scratch;
    arena_init(&scratch);
    struct risk_fingerprint is;
    if (!risk_fingerprint_of(t, definition, &scratch, &is) || memcmp(is.full, pin->full, sizeof is.full) != 0)
        return err_set(err, "server `%.*s`, %s `%.*s`: the fingerprint does not belong to the definition",
                       SLICE_FMT(server), kinds[kind].name, SLICE_FMT(name));
    map_put(&lock->pins[kind], pin_key(server, name, &lock->arena), pin);
    if (kind == RISK_PIN_SKILL)
        read_files(lock, definition, server);
    return 0;
}

static int read_servers(struct risk_lock *lock, struct err *err) {
    const struct tape *t = &lock->tape;
    if (tape_node(t, lock->servers)->count > RISK_LOCK_SERVERS_MAX)
        return err_set(err, "more than %d servers", RISK_LOCK_SERVERS_MAX);
    TAPE_FOR_MEMBER(t, lock->servers, server) {
        struct slice name = tape_text(t, server, &lock->arena);
        if (!section_at(lock, server + 1, RISK_PIN_TOOL))
            return err_set(err, "server `%.*s`: no tools", SLICE_FMT(name));
        for (enum risk_pin_kind kind = 0; kind < RISK_PIN_KINDS; kind++) {
            uint32_t section = section_at(lock, server + 1, kind);
            if (section)
                TAPE_FOR_MEMBER(t, section, key)
            if (read_pin(lock, kind, key, name, err))
                return -1;
        }
    }
    return 0;
}

static int lock_read(struct risk_lock *lock, struct slice text, struct err *err) {
    size_t at = 0;
    enum tape_fault fault = tape_parse(&lock->tape, text, &at);
    if (fault)
        return err_set(err, "byte %zu: %s", at, tape_fault_text(fault));
    int64_t version = 0;
    uint32_t node = tape_is(&lock->tape, 0, TAPE_OBJECT) ? tape_get_str(&lock->tape, 0, "version") : 0;
    if (!node || !tape_int(&lock->tape, node, &version) || version != 1)
        return err_set(err, "version must be 1");
    lock->servers = tape_get_str(&lock->tape, 0, "servers");
    if (!lock->servers || !tape_is(&lock->tape, lock->servers, TAPE_OBJECT))
        return err_set(err, "no `servers`");
    return read_servers(lock, err);
}

int risk_lock_load(struct slice text, struct risk_lock **ret_lock, struct err *err) {
    if (text.len > RISK_LOCK_BYTES_MAX)
        return err_set(err, "larger than %u bytes", RISK_LOCK_BYTES_MAX);
    struct risk_lock *lock = mem_zalloc(sizeof *lock);
    tape_init(&lock->tape);
    for (size_t i = 0; i < RISK_PIN_KINDS; i++)
        map_init(&lock->pins[i]);
    map_init(&lock->files);
    arena_init(&lock->arena);
    lock->text = mem_dup(text.ptr ? text.ptr : "", text.len);
    if (slice_trim(text).len && lock_read(lock, slice_of(lock->text, text.len), err)) {
        risk_lock_free(lock);
        return -1;
    }
    *ret_lock = lock;
    return 0;
}

void risk_lock_free(struct risk_lock *lock) {
    if (!lock)
        return;
    tape_free(&lock->tape);
    for (size_t i = 0; i < RISK_PIN_KINDS; i++)
        map_free(&lock->pins[i]);
    map_free(&lock->files);
    arena_free(&lock->arena);
    free(lock->text);
    free(lock);
}

bool risk_lock_knows(const struct risk_lock *lock, struct slice server) {
    return lock_server(lock, server) != 0;
}

const char *risk_pin_kind_name(enum risk_pin_kind kind) { return kinds[kind].name; }

struct slice risk_pin_name(enum risk_pin_kind kind, const struct tape *t, uint32_t def, struct arena *a) {
    return tape_is(t, def, TAPE_OBJECT) ? text_of(t, tape_get_str(t, def, kinds[kind].id), a)
                                        : (struct slice){0};
}

void risk_lock_check(const struct risk_lock *lock, enum risk_pin_kind kind, struct slice server,
                     const struct tape *t, uint32_t def, struct arena *a,
                     struct risk_pin_verdict *ret_verdict) {
    struct slice name = risk_pin_name(kind, t, def, a);
    struct risk_fingerprint now;
    *ret_verdict = (struct risk_pin_verdict){RISK_PIN_OK, {0}};
    if (!name.len || !risk_fingerprint_of(t, def, a, &now)) {
        *ret_verdict = (struct risk_pin_verdict){RISK_PIN_FAULT, SLICE("definition cannot be read")};
        return;
    }
    const struct pin *pinned = map_get(&lock->pins[kind], pin_key(server, name, a));
    struct slice shown = glyph_printable(name, RISK_TOOL_NAME_MAX, a);
    if (!pinned) {
        *ret_verdict = (struct risk_pin_verdict){
            RISK_PIN_NEW, arena_printf(a, "%s `%.*s` is new and not yet accepted; see `sallyport pin diff`",
                                       kinds[kind].name, SLICE_FMT(shown))};
        return;
    }
    if (memcmp(pinned->full, now.full, sizeof now.full) == 0)
        return;
    *ret_verdict = (struct risk_pin_verdict){
        RISK_PIN_CHANGED,
        arena_printf(a, "definition changed: %s `%.*s` is not what was accepted; see `sallyport pin diff`",
                     kinds[kind].name, SLICE_FMT(shown))};
}

void risk_lock_check_file(const struct risk_lock *lock, struct slice server, struct slice uri,
                          struct slice bytes, struct arena *a, struct risk_pin_verdict *ret_verdict) {
    const uint8_t *pinned = map_get(&lock->files, pin_key(server, uri, a));
    struct slice shown = glyph_printable(uri, RISK_TOOL_NAME_MAX, a);
    unsigned char is[SHA_BYTES];
    sha_256(&bytes, 1, is);
    *ret_verdict = (struct risk_pin_verdict){RISK_PIN_OK, {0}};
    if (!pinned)
        *ret_verdict = (struct risk_pin_verdict){
            RISK_PIN_NEW,
            arena_printf(a, "no accepted skill has a digest of `%.*s`; see `sallyport pin diff`",
                         SLICE_FMT(shown))};
    else if (memcmp(pinned, is, sizeof is) != 0)
        *ret_verdict = (struct risk_pin_verdict){
            RISK_PIN_CHANGED,
            arena_printf(a, "skill changed: `%.*s` is not the file whose digest was accepted",
                         SLICE_FMT(shown))};
}

static bool same_command(const struct tape *t, uint32_t array, const struct risk_server_facts *now) {
    if (!tape_is(t, array, TAPE_ARRAY) || tape_node(t, array)->count != now->command_count)
        return false;
    size_t at = 0;
    TAPE_FOR_ELEM(t, array, i)
    if (!tape_eq(t, i, now->command[at++]))
        return false;
    return true;
}

bool risk_lock_same_start(const struct risk_lock *lock, const struct risk_server_facts *now, struct arena *a,
                          struct slice *ret_reason) {
    const struct tape *t = &lock->tape;
    uint32_t server = lock_server(lock, now->name);
    if (!server)
        return true;
    uint32_t command = tape_get_str(t, server, "command");
    if (command && now->command_count && !same_command(t, command, now)) {
        *ret_reason = SLICE("the command line is not the one that was accepted");
        return false;
    }
    const struct {
        const char *key;
        struct slice is;
    } facts[] = {{"package", now->package}, {"version", now->version}, {"executable", now->executable}};
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        struct slice want = text_of(t, tape_get_str(t, server, facts[i].key), a);
        if (!want.len || !facts[i].is.len || slice_eq(want, facts[i].is))
            continue;
        struct slice was = glyph_printable(want, RISK_EXCERPT_BYTES_MAX, a),
                     is = glyph_printable(facts[i].is, RISK_EXCERPT_BYTES_MAX, a);
        *ret_reason =
            arena_printf(a, "%s is %.*s, accepted was %.*s", facts[i].key, SLICE_FMT(is), SLICE_FMT(was));
        return false;
    }
    return true;
}

/* ---- comparing ---- */

struct comparison {
    const struct risk_lock *lock;
    struct slice server;
    const struct tape *t;
    struct arena *a;
    void (*each)(void *ctx, const struct risk_difference *difference);
    void *ctx;
};

static void compare_one(struct comparison *c, enum risk_pin_kind kind, uint32_t def) {
    static const char *const states[] = {
        [RISK_PIN_NEW] = "new", [RISK_PIN_CHANGED] = "changed", [RISK_PIN_FAULT] = "unreadable"};
    struct risk_pin_verdict v;
    risk_lock_check(c->lock, kind, c->server, c->t, def, c->a, &v);
    if (v.pin == RISK_PIN_OK)
        return;
    struct slice name = risk_pin_name(kind, c->t, def, c->a);
    cleanup_buf struct buf diff;
    buf_init(&diff, RISK_DEFINITION_BYTES_MAX);
    if (v.pin == RISK_PIN_CHANGED) {
        const struct pin *pinned = map_get(&c->lock->pins[kind], pin_key(c->server, name, c->a));
        uint32_t old = object_at(&c->lock->tape, pinned->node, SLICE("definition"));
        risk_diff(&c->lock->tape, old, c->t, def, c->a, &diff);
    }
    c->each(c->ctx, &(struct risk_difference){kind, states[v.pin], name.len ? name : SLICE("?"),
                                              arena_dup(c->a, buf_slice(&diff))});
}

static void compare_gone(struct comparison *c, enum risk_pin_kind kind, uint32_t list) {
    uint32_t pinned = section_at(c->lock, lock_server(c->lock, c->server), kind);
    if (!pinned)
        return;
    struct map present;
    map_init(&present);
    TAPE_FOR_ELEM(c->t, list, def)
    map_put(&present, risk_pin_name(kind, c->t, def, c->a), (void *)&present);
    TAPE_FOR_MEMBER(&c->lock->tape, pinned, key) {
        struct slice name = tape_text(&c->lock->tape, key, c->a);
        if (!map_get(&present, name))
            c->each(c->ctx, &(struct risk_difference){kind, "gone", name, {0}});
    }
    map_free(&present);
}

void risk_lock_compare(const struct risk_lock *lock, struct slice server, const struct risk_lists *lists,
                       struct arena *a, void (*each)(void *ctx, const struct risk_difference *difference),
                       void *ctx) {
    struct comparison c = {lock, server, lists->t, a, each, ctx};
    if (!tape_is(lists->t, lists->tools, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(lists->t, lists->tools, tool)
    compare_one(&c, RISK_PIN_TOOL, tool);
    compare_gone(&c, RISK_PIN_TOOL, lists->tools);
    if (!lists->skills || !tape_is(lists->t, lists->skills, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(lists->t, lists->skills, skill)
    compare_one(&c, RISK_PIN_SKILL, skill);
    if (!lists->skills_some)
        compare_gone(&c, RISK_PIN_SKILL, lists->skills);
}

static void each_of(const struct risk_lock *lock, enum risk_pin_kind kind, uint32_t server, struct arena *a,
                    void (*each)(void *ctx, const struct risk_pinned *pinned), void *ctx) {
    const struct tape *t = &lock->tape;
    uint32_t section = section_at(lock, server + 1, kind);
    if (!section)
        return;
    TAPE_FOR_MEMBER(t, section, key) {
        struct risk_pinned p = {kind, tape_text(t, server, a), tape_text(t, key, a),
                                text_of(t, tape_get_str(t, key + 1, "class"), a),
                                text_of(t, tape_get_str(t, key + 1, "fingerprint"), a)};
        const uint32_t definition = tape_get_str(t, key + 1, "definition");
        p.definition = definition ? tape_raw(t, definition) : (struct slice){0};
        each(ctx, &p);
    }
}

void risk_lock_each(const struct risk_lock *lock, struct arena *a,
                    void (*each)(void *ctx, const struct risk_pinned *pinned), void *ctx) {
    if (!lock->servers)
        return;
    TAPE_FOR_MEMBER(&lock->tape, lock->servers, server)
    for (enum risk_pin_kind kind = 0; kind < RISK_PIN_KINDS; kind++)
        each_of(lock, kind, server, a, each, ctx);
}

/* ---- writing ---- */

struct entry { /* a member to write: from the old lock, or from the list */
    struct slice name;
    const struct tape *t;
    uint32_t node; /* the old entry's node, or that of the list */
    bool fresh;
};

static int by_name(const void *a, const void *b) {
    return slice_cmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* `ctx` is NULL for a skill: it has no class. */
static void write_fresh(struct emit *e, const struct risk_toolset *ctx, const struct entry *tool,
                        struct arena *a) {
    struct risk_report report;
    struct risk_fingerprint print;
    cleanup_buf struct buf text;
    buf_init(&text, RISK_DEFINITION_BYTES_MAX);
    if (!risk_fingerprint_of(tool->t, tool->node, a, &print)) {
        e->out->full = true;
        return;
    }
    emit_object(e);
    if (ctx) {
        risk_classify(ctx, tool->t, tool->node, a, &report);
        emit_key(e, "class");
        emit_cstr(e, risk_class_name(report.cls));
    }
    emit_key(e, "definition");
    risk_definition_text(tool->t, tool->node, a, &text);
    emit_raw(e, buf_slice(&text));
    emit_key(e, "fingerprint");
    buf_reset(&text);
    risk_fingerprint_text(print.full, &text);
    emit_str(e, buf_slice(&text));
    emit_object_end(e);
}

static void write_old(struct emit *e, const struct entry *old, struct arena *a) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    canon_write(old->t, old->node, a, &text);
    emit_raw(e, buf_slice(&text));
}

struct section {
    enum risk_pin_kind kind;
    uint32_t list; /* 0 for skills: only those of the lock */
    bool keep;     /* entries of the lock that are not in the list stay */
    bool met;      /* the requested name was found */
    struct entry *entries;
    size_t count;
};

/* Collects the new entries of that kind: those of the list (or the requested one), and the old ones that
 * stay. */
static void gather(const struct risk_lock *lock, struct slice server, const struct tape *t,
                   const struct slice *only, struct arena *a, struct section *s) {
    uint32_t old = section_at(lock, lock_server(lock, server), s->kind);
    bool listed = s->list || s->kind == RISK_PIN_TOOL;
    size_t max =
        (listed ? tape_node(t, s->list)->count : 0u) + (old ? tape_node(&lock->tape, old)->count : 0u);
    s->entries = arena_array(a, struct entry, max + 1);
    struct map taken;
    map_init(&taken);
    if (listed)
        TAPE_FOR_ELEM(t, s->list, def) {
            struct slice name = risk_pin_name(s->kind, t, def, a);
            if (!name.len || (only && !slice_eq(name, *only)) || map_put(&taken, name, s))
                continue;
            s->met = true;
            s->entries[s->count++] = (struct entry){name, t, def, true};
        }
    if ((only || s->keep) && old)
        TAPE_FOR_MEMBER(&lock->tape, old, key) {
            struct slice name = tape_text(&lock->tape, key, a);
            if (!map_get(&taken, name))
                s->entries[s->count++] = (struct entry){name, &lock->tape, key + 1, false};
        }
    map_free(&taken);
    qsort(s->entries, s->count, sizeof *s->entries, by_name);
}

static void write_section(struct emit *e, const struct section *s, const struct risk_toolset *ctx,
                          struct arena *a) {
    emit_key(e, kinds[s->kind].section);
    emit_object(e);
    for (size_t i = 0; i < s->count; i++) {
        emit_key_slice(e, s->entries[i].name);
        if (s->entries[i].fresh)
            write_fresh(e, ctx, &s->entries[i], a);
        else
            write_old(e, &s->entries[i], a);
    }
    emit_object_end(e);
}

static void write_facts(struct emit *e, const struct risk_server_facts *who) {
    if (who->command_count) {
        emit_key(e, "command");
        emit_array(e);
        for (size_t i = 0; i < who->command_count; i++)
            emit_str(e, who->command[i]);
        emit_array_end(e);
    }
    const struct {
        const char *key;
        struct slice value;
    } facts[] = {{"executable", who->executable}, {"package", who->package}, {"version", who->version}};
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        if (!facts[i].value.len)
            continue;
        emit_key(e, facts[i].key);
        emit_str(e, facts[i].value);
    }
}

static int write_server(struct emit *e, const struct risk_lock *lock, const struct risk_server_facts *who,
                        const struct risk_lists *lists, const struct slice *only, struct arena *a,
                        struct err *err) {
    struct section tools = {.kind = RISK_PIN_TOOL, .list = lists->tools};
    struct section skills = {
        .kind = RISK_PIN_SKILL, .list = lists->skills, .keep = lists->skills_some || !lists->skills};
    gather(lock, who->name, lists->t, only, a, &tools);
    gather(lock, who->name, lists->t, only, a, &skills);
    if (only && !tools.met && !skills.met)
        return err_set(err, "the list has no tool `%.*s`", SLICE_FMT(*only));
    struct risk_toolset ctx;
    risk_toolset_read(lists->t, lists->tools, who->package.len ? who->package : who->name, a, &ctx);
    emit_object(e);
    write_facts(e, who);
    if (skills.count)
        write_section(e, &skills, NULL, a);
    write_section(e, &tools, &ctx, a);
    emit_object_end(e);
    return 0;
}

/* Indents compact JSON by two spaces per level. Strings are copied unchanged. */
static void indent_json(struct slice json, struct buf *out) {
    size_t depth = 0;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        if (c == '"') {
            size_t end = i + 1;
            while (json.ptr[end] != '"')
                end += json.ptr[end] == '\\' ? 2 : 1;
            buf_put(out, json.ptr + i, end + 1 - i);
            i = end;
            continue;
        }
        bool empty = (c == '{' || c == '[') && (json.ptr[i + 1] == '}' || json.ptr[i + 1] == ']');
        bool closes = (c == '}' || c == ']') && json.ptr[i - 1] != '{' && json.ptr[i - 1] != '[';
        depth -= closes;
        depth += (c == '{' || c == '[') && !empty;
        if (closes)
            buf_printf(out, "\n%*s", (int)(2 * depth), "");
        buf_put_char(out, c);
        if (c == ':')
            buf_put_char(out, ' ');
        if (c == ',' || ((c == '{' || c == '[') && !empty))
            buf_printf(out, "\n%*s", (int)(2 * depth), "");
    }
    buf_put_char(out, '\n');
}

int risk_lock_accept(const struct risk_lock *lock, const struct risk_server_facts *who,
                     const struct risk_lists *lists, const struct slice *only, struct arena *a,
                     struct buf *out, struct err *err) {
    if (!tape_is(lists->t, lists->tools, TAPE_ARRAY))
        return err_set(err, "not a list of tools");
    if (lists->skills && !tape_is(lists->t, lists->skills, TAPE_ARRAY))
        return err_set(err, "not a list of skills");
    size_t max = lock->servers ? tape_node(&lock->tape, lock->servers)->count : 0u, count = 0;
    struct entry *servers = arena_array(a, struct entry, max + 1);
    if (lock->servers)
        TAPE_FOR_MEMBER(&lock->tape, lock->servers, key)
    if (!tape_eq(&lock->tape, key, who->name))
        servers[count++] = (struct entry){tape_text(&lock->tape, key, a), &lock->tape, key + 1, false};
    servers[count++] = (struct entry){who->name, lists->t, lists->tools, true};
    qsort(servers, count, sizeof *servers, by_name);
    cleanup_buf struct buf compact;
    buf_init(&compact, RISK_LOCK_BYTES_MAX);
    struct emit e;
    emit_init(&e, &compact);
    emit_object(&e);
    emit_key(&e, "servers");
    emit_object(&e);
    for (size_t i = 0; i < count; i++) {
        emit_key_slice(&e, servers[i].name);
        if (!servers[i].fresh)
            write_old(&e, &servers[i], a);
        else if (write_server(&e, lock, who, lists, only, a, err))
            return -1;
    }
    emit_object_end(&e);
    emit_key(&e, "version");
    emit_int(&e, 1);
    emit_object_end(&e);
    if (compact.full)
        return err_set(err, "the lock would be larger than %u bytes", RISK_LOCK_BYTES_MAX);
    indent_json(buf_slice(&compact), out);
    return out->full ? err_set(err, "the lock would be larger than %u bytes", RISK_LOCK_BYTES_MAX) : 0;
}
