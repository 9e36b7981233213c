#include "guard/pins.h"

#include "audit/audit.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "risk/catalogue_place.h"
#include "risk/executable.h"
#include "risk/lookalike.h"
#include "risk/supply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_MAX 100000 /* held tools that are remembered; beyond that only the lock decides */

static struct slice name_of(const struct server *server) {
    return slice_str(server->pin_name ? server->pin_name : server->up.name);
}

static void event(struct pins *p, struct slice name, struct slice text) {
    if (p->core->audit) /* the first server is started before the log is open */
        audit_put_event(p->core->audit, name, slice_str(p->path), (struct slice){0}, text);
}

/* ---- the file ---- */

static int read_lock(const char *path, struct risk_lock **ret_lock, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    bool missing;
    if (io_file_read(path, &text, &missing, err) < 0 && !missing)
        return -1;
    if (risk_lock_load(missing ? (struct slice){0} : buf_slice(&text), ret_lock, err) < 0)
        return err_wrap(err, "read `%s`", path);
    return 0;
}

static void take_lock(struct pins *p, struct risk_lock *take_lock) {
    risk_lock_free(p->lock);
    p->lock = take_lock;
}

static void forget_held(struct pins *p) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&p->skills, &at));)
        text_free(e->value);
    map_free(&p->skills);
    map_free(&p->held);
    arena_free(&p->arena);
}

/* Definitions were accepted: everything is judged again. An unreadable file changes nothing. */
static void reload_lock(struct pins *p) {
    struct risk_lock *fresh = NULL;
    struct err err;
    if (read_lock(p->path, &fresh, &err) < 0) {
        log_error("%s; the old lock stays in force", err.text);
        event(p, SLICE("lock_failed"), slice_str(err.text));
        return;
    }
    take_lock(p, fresh);
    forget_held(p);
    for (size_t i = 0; i < p->core->server_count; i++)
        if (p->core->servers[i])
            server_forget_tools(p->core->servers[i]);
    log_info("lock `%s` reloaded", p->path);
    event(p, SLICE("lock"), (struct slice){0});
    p->core->tools_changed(p->core);
}

static void on_lock_changed(struct io_watch *w) { reload_lock(container_of(w, struct pins, watch)); }

struct pins *pins_open(struct core *core, const char *path, bool ask, struct err *err) {
    struct risk_lock *lock = NULL;
    if (read_lock(path, &lock, err) < 0)
        return NULL;
    struct pins *p = mem_zalloc(sizeof(*p));
    p->core = core;
    p->path = mem_dup(path, strlen(path));
    p->ask = ask;
    p->lock = lock;
    map_init(&p->held);
    map_init(&p->skills);
    arena_init(&p->arena);
    io_watch_start(&p->watch, core->up.loop, p->path, on_lock_changed);
    return p;
}

void pins_close(struct pins *p) {
    if (!p)
        return;
    io_watch_stop(&p->watch);
    io_timer_stop(p->core->up.loop, &p->notify);
    risk_lock_free(p->lock);
    forget_held(p);
    free(p->path);
    free(p);
}

/* ---- how a server is started ---- */

static struct slice *words_of(const struct server *server, struct arena *a, size_t *ret_count) {
    size_t count = 0;
    while (server->up.argv && server->up.argv[count])
        count++;
    struct slice *words = arena_array(a, struct slice, count + 1);
    for (size_t i = 0; i < count; i++)
        words[i] = slice_str(server->up.argv[i]);
    *ret_count = count;
    return words;
}

void pins_warn_supply(const struct server *server) {
    cleanup_arena struct arena a;
    arena_init(&a);
    size_t count;
    struct slice *words = words_of(server, &a, &count);
    struct risk_supply supply;
    risk_supply_read(words, count, &supply);
    if (!supply.runner)
        return;
    if (supply.unpinned)
        log_server(LOG_WARN, server->up.name,
                   "server `%s`: `%s %.*s` has no version: whatever was published last will run",
                   server->up.name, supply.runner, SLICE_FMT(supply.package));
    struct risk_lookalike like;
    risk_catalogue_refresh();
    risk_lookalike_find(supply.registry, supply.package, &a, &like);
    struct slice text = risk_lookalike_text(&like, &a);
    if (like.of.len && !like.trusted)
        log_server(LOG_WARN, server->up.name, "server `%s`, package `%.*s`: %.*s: an impostor?",
                   server->up.name, SLICE_FMT(supply.package), SLICE_FMT(text));
}

static void read_facts(const struct server *server, struct arena *a, struct risk_server_facts *ret) {
    size_t count;
    struct slice *words = words_of(server, a, &count);
    struct risk_supply supply;
    risk_supply_read(words, count, &supply);
    *ret = (struct risk_server_facts){
        .name = name_of(server),
        .command = risk_supply_mask(words, count, a),
        .command_count = count,
        .package = supply.package,
        .version = supply.version,
        .executable = risk_executable_hash(words, count, server->up.cwd, getenv("PATH"), a),
    };
}

bool pins_may_start(struct pins *p, struct server *server) {
    if (!server->up.argv)
        return true;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct risk_server_facts now;
    read_facts(server, &a, &now);
    struct slice reason;
    if (risk_lock_same_start(p->lock, &now, &a, &reason))
        return true;
    snprintf(server->refused, sizeof(server->refused),
             "server `%s` is not started: %.*s; see `sallyport pin diff`", server->up.name,
             SLICE_FMT(reason));
    log_server(LOG_ERROR, server->up.name, "%s", server->refused);
    event(p, SLICE("pin"), slice_str(server->refused));
    return false;
}

/* ---- tools ---- */

bool pins_trusts(const struct pins *p, const struct server *server) {
    return !p->ask && !risk_lock_knows(p->lock, name_of(server));
}

static struct slice held_key(const struct server *server, struct slice name, struct arena *a) {
    struct slice of = name_of(server);
    char *key = arena_alloc(a, of.len + 1 + name.len);
    memcpy(key, of.ptr, of.len);
    key[of.len] = '\0';
    memcpy(key + of.len + 1, name.ptr ? name.ptr : "", name.len);
    return slice_of(key, of.len + 1 + name.len);
}

/* Once for all tools of a list, in a later turn of the loop. */
static void on_notify(struct io_timer *timer) {
    struct core *core = container_of(timer, struct pins, notify)->core;
    core->tools_changed(core);
}

static void hold(struct pins *p, const struct server *server, struct slice key, struct slice why) {
    if (p->held.count >= HELD_MAX)
        return;
    map_put(&p->held, arena_dup(&p->arena, key), (void *)(uintptr_t)arena_dup(&p->arena, why).ptr);
    log_server(LOG_WARN, server->up.name, "server `%s`: %.*s", server->up.name, SLICE_FMT(why));
    cleanup_arena struct arena a;
    arena_init(&a);
    event(p, SLICE("pin"), arena_printf(&a, "server `%s`: %.*s", server->up.name, SLICE_FMT(why)));
    if (!p->notify.due_ms)
        io_timer_arm(p->core->up.loop, &p->notify, 0, on_notify);
}

/* The server's newest definition: that is the one to accept. */
static void keep_skill(struct pins *p, struct slice key, struct slice raw) {
    struct text *known = map_get(&p->skills, key);
    if (!known) {
        known = arena_new(&p->arena, struct text);
        map_put(&p->skills, arena_dup(&p->arena, key), known);
    }
    text_set(known, raw);
}

const char *pins_judge(struct pins *p, enum risk_pin_kind kind, const struct server *server,
                       const struct tape *t, uint32_t def, struct arena *a) {
    if (pins_trusts(p, server))
        return arena_printf(a, "%s is used for the first time and not yet in the lock",
                            risk_pin_kind_name(kind))
            .ptr;
    struct risk_pin_verdict v;
    risk_lock_check(p->lock, kind, name_of(server), t, def, a, &v);
    struct slice key = held_key(server, risk_pin_name(kind, t, def, a), a);
    const char *before = map_get(&p->held, key);
    if (v.pin == RISK_PIN_OK)
        return before;
    if (!before)
        hold(p, server, key, v.reason);
    if (kind == RISK_PIN_SKILL && p->skills.count < HELD_MAX &&
        tape_raw(t, def).len <= RISK_DEFINITION_BYTES_MAX)
        keep_skill(p, key, tape_raw(t, def));
    return arena_dup(a, v.reason).ptr;
}

const char *pins_judge_file(struct pins *p, const struct server *server, struct slice uri, struct slice bytes,
                            struct arena *a) {
    struct risk_pin_verdict v;
    risk_lock_check_file(p->lock, name_of(server), uri, bytes, a, &v);
    if (v.pin == RISK_PIN_OK)
        return NULL;
    struct slice key = held_key(server, uri, a);
    if (!map_get(&p->held, key))
        hold(p, server, key, v.reason);
    return v.reason.ptr;
}

void pins_put_skills(const struct pins *p, const struct server *server, struct buf *out) {
    struct slice name = name_of(server);
    size_t at = 0;
    bool more = false;
    for (const struct map_entry *e; (e = map_next(&p->skills, &at));) {
        if (e->key.len <= name.len || e->key.ptr[name.len] != '\0' || !slice_starts(e->key, name))
            continue;
        if (more)
            buf_put_char(out, ',');
        buf_put_slice(out, text_slice(*(const struct text *)e->value));
        more = true;
    }
}

/* ---- first use ---- */

/* Other processes may write the same file: it is read again and our entry added. */
static int add_server(struct pins *p, const struct risk_server_facts *who, const struct risk_lists *lists,
                      struct arena *a, struct err *err) {
    cleanup_fd int guard = io_file_guard(p->path);
    cleanup_lock struct risk_lock *now = NULL;
    if (guard < 0)
        return err_set(err, "the directory of `%s` cannot be locked", p->path);
    if (read_lock(p->path, &now, err) < 0)
        return -1;
    /* Another process has accepted a definition meanwhile: that one is used. */
    if (!risk_lock_knows(now, who->name)) {
        cleanup_buf struct buf text;
        buf_init(&text, RISK_LOCK_BYTES_MAX);
        if (risk_lock_accept(now, who, lists, NULL, a, &text, err) < 0 ||
            io_file_write(p->path, buf_slice(&text), err) < 0)
            return -1;
        struct risk_lock *fresh = NULL;
        if (risk_lock_load(buf_slice(&text), &fresh, err) < 0)
            return -1;
        risk_lock_free(now);
        now = fresh;
    }
    take_lock(p, steal(now));
    io_watch_seen(&p->watch);
    return 0;
}

int pins_first_use(struct pins *p, const struct server *server, struct slice tools, struct slice skills,
                   struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_tape struct tape t;
    tape_init(&t);
    struct slice text =
        arena_printf(&a, "{\"tools\":[%.*s],\"skills\":[%.*s]}", SLICE_FMT(tools), SLICE_FMT(skills));
    if (tape_parse(&t, text, NULL) != TAPE_OK)
        return err_set(err, "the list cannot be read");
    struct risk_server_facts who;
    read_facts(server, &a, &who);
    struct risk_lists lists = {
        .t = &t, .tools = tape_get_str(&t, 0, "tools"), .skills = tape_get_str(&t, 0, "skills")};
    if (add_server(p, &who, &lists, &a, err) < 0)
        return -1;
    log_server(LOG_INFO, server->up.name,
               "server `%s` is used for the first time: %u tool(s) and %u skill(s) are in `%s` now",
               server->up.name, tape_node(&t, lists.tools)->count, tape_node(&t, lists.skills)->count,
               p->path);
    event(p, SLICE("pin_first_use"), slice_str(server->up.name));
    return 0;
}

/* ---- for the console and the commands ---- */

void pins_diff(const struct pins *p, const struct server *server, const struct risk_lists *lists,
               struct arena *a, void (*each)(void *ctx, const struct risk_difference *difference),
               void *ctx) {
    risk_lock_compare(p->lock, name_of(server), lists, a, each, ctx);
}

int pins_accept(struct pins *p, const struct server *server, const struct risk_lists *lists,
                const struct slice *only, struct arena *a, struct err *err) {
    cleanup_fd int guard = io_file_guard(p->path);
    cleanup_lock struct risk_lock *now = NULL;
    cleanup_buf struct buf text;
    struct risk_server_facts who;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    read_facts(server, a, &who);
    if (guard < 0)
        return err_set(err, "the directory of `%s` cannot be locked", p->path);
    if (read_lock(p->path, &now, err) < 0 || risk_lock_accept(now, &who, lists, only, a, &text, err) < 0 ||
        io_file_write(p->path, buf_slice(&text), err) < 0)
        return -1;
    io_watch_seen(&p->watch);
    reload_lock(p);
    return 0;
}
