#include "risk/lockfile.h"

#include "base/glyph.h"
#include "base/map.h"
#include "base/mem.h"
#include "risk/classify.h"
#include "risk/diff.h"
#include "wire/canon.h"
#include "wire/emit.h"

#include <stdlib.h>

struct pin {
    uint32_t node; /* of the entry */
    uint8_t full[RISK_HASH_BYTES];
};

struct risk_lock {
    char *text;
    struct tape tape;
    uint32_t servers; /* node of the object; 0 when empty */
    struct map pins;  /* "server\0tool" -> struct pin */
    struct arena arena;
};

static struct slice text_of(const struct tape *t, uint32_t node, struct arena *a) {
    return node && tape_is(t, node, TAPE_STRING) ? tape_text(t, node, a) : (struct slice){0};
}

/* `obj` 0 is absent, as in the answers of the tape. */
static uint32_t object_at(const struct tape *t, uint32_t obj, struct slice key) {
    uint32_t node = obj && tape_is(t, obj, TAPE_OBJECT) ? tape_get(t, obj, key) : 0;
    return node && tape_is(t, node, TAPE_OBJECT) ? node : 0;
}

static uint32_t lock_server(const struct risk_lock *lock, struct slice server) {
    return lock->servers ? object_at(&lock->tape, lock->servers, server) : 0;
}

/* Neither name can hold a NUL: the reader refuses it. */
static struct slice pin_key(struct slice server, struct slice tool, struct arena *a) {
    char *key = arena_alloc(a, server.len + tool.len + 1);
    memcpy(key, server.ptr ? server.ptr : "", server.len);
    key[server.len] = 0;
    memcpy(key + server.len + 1, tool.ptr ? tool.ptr : "", tool.len);
    return slice_of(key, server.len + 1 + tool.len);
}

static const struct pin *find_pin(const struct risk_lock *lock, struct slice server, struct slice tool,
                                  struct arena *a) {
    return map_get(&lock->pins, pin_key(server, tool, a));
}

/* Every pinned tool has a fingerprint that belongs to its definition: a lock edited by hand is refused. */
static int read_tool(struct risk_lock *lock, uint32_t key, struct slice server, struct err *err) {
    const struct tape *t = &lock->tape;
    struct slice name = tape_text(t, key, &lock->arena);
    uint32_t definition = object_at(t, key + 1, SLICE("definition"));
    uint32_t node = tape_is(t, key + 1, TAPE_OBJECT) ? tape_get_str(t, key + 1, "fingerprint") : 0;
    struct pin *pin = arena_new(&lock->arena, struct pin);
    pin->node = key + 1;
    if (!definition || !node || !risk_fingerprint_parse(text_of(t, node, &lock->arena), pin->full))
        return err_set(err, "server `%.*s`, tool `%.*s`: no fingerprint and definition", SLICE_FMT(server),
                       SLICE_FMT(name));
    cleanup_arena struct arena scratch;
    arena_init(&scratch);
    struct risk_fingerprint is;
    if (!risk_fingerprint_of(t, definition, &scratch, &is) || memcmp(is.full, pin->full, sizeof is.full) != 0)
        return err_set(err, "server `%.*s`, tool `%.*s`: the fingerprint does not belong to the definition",
                       SLICE_FMT(server), SLICE_FMT(name));
    map_put(&lock->pins, pin_key(server, name, &lock->arena), pin);
    return 0;
}

static int read_servers(struct risk_lock *lock, struct err *err) {
    const struct tape *t = &lock->tape;
    if (tape_node(t, lock->servers)->count > RISK_LOCK_SERVERS_MAX)
        return err_set(err, "more than %d servers", RISK_LOCK_SERVERS_MAX);
    TAPE_FOR_MEMBER(t, lock->servers, server) {
        struct slice name = tape_text(t, server, &lock->arena);
        uint32_t tools = object_at(t, server + 1, SLICE("tools"));
        if (!tools)
            return err_set(err, "server `%.*s`: no tools", SLICE_FMT(name));
        TAPE_FOR_MEMBER(t, tools, key)
        if (read_tool(lock, key, name, err))
            return -1;
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
    map_init(&lock->pins);
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
    map_free(&lock->pins);
    arena_free(&lock->arena);
    free(lock->text);
    free(lock);
}

bool risk_lock_knows(const struct risk_lock *lock, struct slice server) {
    return lock_server(lock, server) != 0;
}

static struct slice tool_name(const struct tape *t, uint32_t tool, struct arena *a) {
    return tape_is(t, tool, TAPE_OBJECT) ? text_of(t, tape_get_str(t, tool, "name"), a) : (struct slice){0};
}

void risk_lock_check(const struct risk_lock *lock, struct slice server, const struct tape *t, uint32_t tool,
                     struct arena *a, struct risk_pin_verdict *ret_verdict) {
    struct slice name = tool_name(t, tool, a);
    struct risk_fingerprint now;
    *ret_verdict = (struct risk_pin_verdict){RISK_PIN_OK, {0}};
    if (!name.len || !risk_fingerprint_of(t, tool, a, &now)) {
        *ret_verdict = (struct risk_pin_verdict){RISK_PIN_FAULT, SLICE("definition cannot be read")};
        return;
    }
    const struct pin *pinned = find_pin(lock, server, name, a);
    struct slice shown = glyph_printable(name, RISK_TOOL_NAME_MAX, a);
    if (!pinned) {
        *ret_verdict = (struct risk_pin_verdict){
            RISK_PIN_NEW, arena_printf(a, "tool `%.*s` is new and not yet accepted; see `sallyport pin diff`",
                                       SLICE_FMT(shown))};
        return;
    }
    if (memcmp(pinned->full, now.full, sizeof now.full) == 0)
        return;
    *ret_verdict = (struct risk_pin_verdict){
        RISK_PIN_CHANGED,
        arena_printf(a, "definition changed: tool `%.*s` is not what was accepted; see `sallyport pin diff`",
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

void risk_lock_gone(const struct risk_lock *lock, struct slice server, const struct tape *t, uint32_t tools,
                    struct arena *a, void (*gone)(void *ctx, struct slice name), void *ctx) {
    uint32_t pinned = object_at(&lock->tape, lock_server(lock, server), SLICE("tools"));
    if (!pinned || !tape_is(t, tools, TAPE_ARRAY))
        return;
    struct map present;
    map_init(&present);
    TAPE_FOR_ELEM(t, tools, tool)
    map_put(&present, tool_name(t, tool, a), (void *)&present);
    TAPE_FOR_MEMBER(&lock->tape, pinned, key) {
        struct slice name = tape_text(&lock->tape, key, a);
        if (!map_get(&present, name))
            gone(ctx, name);
    }
    map_free(&present);
}

void risk_lock_diff(const struct risk_lock *lock, struct slice server, const struct tape *t, uint32_t tool,
                    struct arena *a, struct buf *out) {
    const struct pin *pinned = find_pin(lock, server, tool_name(t, tool, a), a);
    uint32_t old = pinned ? object_at(&lock->tape, pinned->node, SLICE("definition")) : 0;
    if (old)
        risk_diff(&lock->tape, old, t, tool, a, out);
}

void risk_lock_each(const struct risk_lock *lock, struct arena *a,
                    void (*each)(void *ctx, const struct risk_pinned *pinned), void *ctx) {
    const struct tape *t = &lock->tape;
    if (!lock->servers)
        return;
    TAPE_FOR_MEMBER(t, lock->servers, server) {
        uint32_t tools = object_at(t, server + 1, SLICE("tools"));
        TAPE_FOR_MEMBER(t, tools, key) {
            struct risk_pinned p = {tape_text(t, server, a), tape_text(t, key, a),
                                    text_of(t, tape_get_str(t, key + 1, "class"), a),
                                    text_of(t, tape_get_str(t, key + 1, "fingerprint"), a)};
            each(ctx, &p);
        }
    }
}

/* ---- writing ---- */

struct entry { /* a member to write: from the old lock, or from the list */
    struct slice name;
    const struct tape *t;
    uint32_t node; /* the old entry's node, or the tool of the list */
    bool fresh;
};

static int by_name(const void *a, const void *b) {
    return slice_cmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void write_fresh(struct emit *e, const struct risk_toolset *ctx, const struct entry *tool,
                        struct arena *a) {
    struct risk_report report;
    risk_classify(ctx, tool->t, tool->node, a, &report);
    struct risk_fingerprint print;
    cleanup_buf struct buf text;
    buf_init(&text, RISK_DEFINITION_BYTES_MAX);
    if (!risk_fingerprint_of(tool->t, tool->node, a, &print)) {
        e->out->full = true;
        return;
    }
    emit_object(e);
    emit_key(e, "class");
    emit_cstr(e, risk_class_name(report.cls));
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

/* The tools that the server will have: those of the list (or the one asked for), and the old ones beside it.
 */
static int gather_tools(const struct risk_lock *lock, const struct risk_server_facts *who,
                        const struct tape *t, uint32_t tools, const struct slice *only, struct arena *a,
                        struct entry **ret_entries, size_t *ret_count, struct err *err) {
    uint32_t old = object_at(&lock->tape, lock_server(lock, who->name), SLICE("tools"));
    size_t max = tape_node(t, tools)->count + (old ? tape_node(&lock->tape, old)->count : 0u), count = 0;
    struct entry *entries = arena_array(a, struct entry, max + 1);
    struct map taken;
    map_init(&taken);
    bool met = !only;
    TAPE_FOR_ELEM(t, tools, tool) {
        struct slice name = tool_name(t, tool, a);
        if (!name.len || (only && !slice_eq(name, *only)) || map_put(&taken, name, entries))
            continue;
        met = true;
        entries[count++] = (struct entry){name, t, tool, true};
    }
    if (only && old)
        TAPE_FOR_MEMBER(&lock->tape, old, key) {
            struct slice name = tape_text(&lock->tape, key, a);
            if (!map_get(&taken, name))
                entries[count++] = (struct entry){name, &lock->tape, key + 1, false};
        }
    map_free(&taken);
    if (!met)
        return err_set(err, "the list has no tool `%.*s`", SLICE_FMT(*only));
    qsort(entries, count, sizeof *entries, by_name);
    *ret_entries = entries;
    *ret_count = count;
    return 0;
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
                        const struct tape *t, uint32_t tools, const struct slice *only, struct arena *a,
                        struct err *err) {
    struct entry *entries = NULL;
    size_t count = 0;
    if (gather_tools(lock, who, t, tools, only, a, &entries, &count, err))
        return -1;
    struct risk_toolset ctx;
    risk_toolset_read(t, tools, who->package.len ? who->package : who->name, a, &ctx);
    emit_object(e);
    write_facts(e, who);
    emit_key(e, "tools");
    emit_object(e);
    for (size_t i = 0; i < count; i++) {
        emit_key_slice(e, entries[i].name);
        if (entries[i].fresh)
            write_fresh(e, &ctx, &entries[i], a);
        else
            write_old(e, &entries[i], a);
    }
    emit_object_end(e);
    emit_object_end(e);
    return 0;
}

/* Compact JSON with line ends and two spaces a level. Strings pass as they are. */
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

int risk_lock_accept(const struct risk_lock *lock, const struct risk_server_facts *who, const struct tape *t,
                     uint32_t tools, const struct slice *only, struct arena *a, struct buf *out,
                     struct err *err) {
    if (!tape_is(t, tools, TAPE_ARRAY))
        return err_set(err, "not a list of tools");
    size_t max = lock->servers ? tape_node(&lock->tape, lock->servers)->count : 0u, count = 0;
    struct entry *servers = arena_array(a, struct entry, max + 1);
    if (lock->servers)
        TAPE_FOR_MEMBER(&lock->tape, lock->servers, key)
    if (!tape_eq(&lock->tape, key, who->name))
        servers[count++] = (struct entry){tape_text(&lock->tape, key, a), &lock->tape, key + 1, false};
    servers[count++] = (struct entry){who->name, t, tools, true};
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
        else if (write_server(&e, lock, who, t, tools, only, a, err))
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
