#include "guard/pins.h"

#include "audit/audit.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "io/work.h"
#include "risk/catalogue_place.h"
#include "risk/executable.h"
#include "risk/lookalike.h"
#include "risk/supply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_MAX 100000 /* held tools that are remembered; beyond that only the lock decides */
#define RETRY_MS 1000   /* after the store of a fleet has failed */

struct pins_fleet {
    struct pins *pins;
    char *home;
    struct state_pins *store;
    struct state_pins_copy *copy;
    int64_t tracked; /* the version of the last copy that the thread has read */
    struct io_timer timer, retry;
    struct list jobs;         /* on their way */
    struct pins_job *waiting; /* holds that are sent when the job before has ended */
    bool holding;             /* a job with holds is on its way, or tried again soon */
    uint64_t failed_ms;       /* when a first use could not be stored; 0: never */
};

/* Outlives the pins: then `pins` is NULL. */
struct pins_job {
    struct io_work work;
    struct pins *pins;
    struct list node;
    struct arena arena; /* of what follows */
    const char *home;
    struct slice server; /* of a first use */
    struct pins_change *change;
    struct state_pin_hold *holds;
    size_t hold_count;
    bool failed;
    struct err err;
};

static int fleet_open(struct pins *p, const char *home, struct pins *old, struct err *err);
static void fleet_close(struct pins *p);
static void fleet_take(struct pins *p, struct state_pins_copy *take_copy);
static void fleet_hold(struct pins *p, struct slice key, struct slice why);
static int fleet_first_use(struct pins *p, const struct server *server, const struct risk_lists *lists,
                           struct err *err);

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

static void take_lock(struct pins *p, struct risk_lock *take_fresh) {
    risk_lock_free(p->lock);
    p->lock = take_fresh;
}

static void forget_held(struct pins *p) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&p->skills, &at));)
        text_free(e->value);
    map_free(&p->skills);
    map_free(&p->held);
    arena_free(&p->arena);
}

/* Definitions were accepted: everything is judged again. */
static void use_lock(struct pins *p, struct risk_lock *take_fresh) {
    take_lock(p, take_fresh);
    forget_held(p);
    for (size_t i = 0; i < p->core->server_count; i++)
        if (p->core->servers[i])
            server_forget_tools(p->core->servers[i]);
    log_info("lock `%s` reloaded", p->path);
    event(p, SLICE("lock"), (struct slice){0});
    p->core->tools_changed(p->core);
}

/* An unreadable file changes nothing. */
static void reload_lock(struct pins *p) {
    struct risk_lock *fresh = NULL;
    struct err err;
    if (read_lock(p->path, &fresh, &err) < 0) {
        log_error("%s; the old lock stays in force", err.text);
        event(p, SLICE("lock_failed"), slice_str(err.text));
        return;
    }
    use_lock(p, fresh);
}

static void on_lock_changed(struct io_watch *w) { reload_lock(container_of(w, struct pins, watch)); }

struct pins *pins_open(struct core *core, const struct pins_config *config, struct pins *old,
                       struct err *err) {
    bool shared = false;
    if (config->home && state_pins_are_shared(config->home, &shared, err) < 0)
        return NULL;
    struct pins *p = mem_zalloc(sizeof(*p));
    p->core = core;
    p->path = mem_dup(config->path, strlen(config->path));
    p->ask = config->ask;
    map_init(&p->held);
    map_init(&p->skills);
    arena_init(&p->arena);
    int rc = shared ? fleet_open(p, config->home, old, err) : read_lock(p->path, &p->lock, err);
    if (rc < 0) {
        pins_close(p);
        return NULL;
    }
    if (!shared)
        io_watch_start(&p->watch, core->up.loop, p->path, on_lock_changed);
    return p;
}

void pins_close(struct pins *p) {
    if (!p)
        return;
    fleet_close(p);
    if (p->watch.loop)
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

static void facts_of(struct slice name, const struct slice *words, size_t count, const char *cwd,
                     const char *search, struct arena *a, struct risk_server_facts *ret) {
    struct risk_supply supply;
    risk_supply_read(words, count, &supply);
    *ret = (struct risk_server_facts){
        .name = name,
        .command = risk_supply_mask(words, count, a),
        .command_count = count,
        .package = supply.package,
        .version = supply.version,
        .executable = risk_executable_hash(words, count, cwd, search, a),
    };
}

static void read_facts(const struct server *server, struct arena *a, struct risk_server_facts *ret) {
    size_t count;
    struct slice *words = words_of(server, a, &count);
    facts_of(name_of(server), words, count, server->up.cwd, getenv("PATH"), a, ret);
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

static struct slice held_key(struct slice of, struct slice name, struct arena *a) {
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

static bool keep_held(struct pins *p, struct slice key, struct slice why) {
    if (p->held.count >= HELD_MAX)
        return false;
    map_put(&p->held, arena_dup(&p->arena, key), (void *)(uintptr_t)arena_dup(&p->arena, why).ptr);
    if (!p->notify.due_ms)
        io_timer_arm(p->core->up.loop, &p->notify, 0, on_notify);
    return true;
}

static void hold(struct pins *p, const struct server *server, struct slice key, struct slice why) {
    if (!keep_held(p, key, why))
        return;
    fleet_hold(p, key, why);
    log_server(LOG_WARN, server->up.name, "server `%s`: %.*s", server->up.name, SLICE_FMT(why));
    cleanup_arena struct arena a;
    arena_init(&a);
    event(p, SLICE("pin"), arena_printf(&a, "server `%s`: %.*s", server->up.name, SLICE_FMT(why)));
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
    struct slice key = held_key(name_of(server), risk_pin_name(kind, t, def, a), a);
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
    struct slice key = held_key(name_of(server), uri, a);
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
    if (p->fleet)
        return fleet_first_use(p, server, &lists, err);
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

struct pins_change {
    struct slice path, name, text; /* of the lock; of the server; what it shows */
    struct risk_lists lists;       /* places in that text, once it is parsed */
    struct slice only;             /* empty: everything */
    struct slice *words;           /* how the server is started */
    size_t count;
    const char *cwd, *search;
    const char *home;        /* of a gate in a fleet; NULL: the lock is a file */
    bool first;              /* only if the server has no pins */
    struct risk_lock *fresh; /* once it is written */
    struct stat written;
    struct state_pins_copy *copy; /* in a fleet, once it is stored */
};

struct pins_change *pins_accept(const struct pins *p, const struct server *server,
                                const struct risk_lists *lists, struct slice only, struct arena *a) {
    const char *search = getenv("PATH");
    struct pins_change *w = arena_new(a, struct pins_change);
    *w = (struct pins_change){.path = arena_dup(a, slice_str(p->path)),
                              .name = arena_dup(a, name_of(server)),
                              .text = arena_dup(a, tape_raw(lists->t, 0)),
                              .lists = *lists,
                              .only = arena_dup(a, only)};
    w->words = words_of(server, a, &w->count);
    for (size_t i = 0; i < w->count; i++)
        w->words[i] = arena_dup(a, w->words[i]);
    w->cwd = server->up.cwd ? arena_dup(a, slice_str(server->up.cwd)).ptr : NULL;
    w->search = search ? arena_dup(a, slice_str(search)).ptr : NULL;
    w->home = p->fleet ? arena_dup(a, slice_str(p->fleet->home)).ptr : NULL;
    return w;
}

static struct pins_change *first_change(const struct pins *p, const struct server *server,
                                        const struct risk_lists *lists, struct arena *a) {
    struct pins_change *w = pins_accept(p, server, lists, (struct slice){0}, a);
    w->first = true;
    return w;
}

static int write_file(struct pins_change *w, const struct risk_server_facts *who, struct arena *a,
                      struct err *err) {
    cleanup_fd int guard = io_file_guard(w->path.ptr);
    cleanup_lock struct risk_lock *now = NULL;
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    if (guard < 0)
        return err_set(err, "the directory of `%s` cannot be locked", w->path.ptr);
    if (read_lock(w->path.ptr, &now, err) < 0 ||
        risk_lock_accept(now, who, &w->lists, w->only.len ? &w->only : NULL, a, &text, err) < 0 ||
        io_file_write(w->path.ptr, buf_slice(&text), err) < 0)
        return -1;
    if (stat(w->path.ptr, &w->written) < 0)
        w->written = (struct stat){0};
    return risk_lock_load(buf_slice(&text), &w->fresh, err);
}

int pins_accept_write(struct pins_change *w, struct arena *a, struct err *err) {
    cleanup_tape struct tape t;
    struct risk_server_facts who;
    tape_init(&t);
    facts_of(w->name, w->words, w->count, w->cwd, w->search, a, &who);
    w->lists.t = &t;
    if (tape_parse(&t, w->text, NULL) != TAPE_OK)
        return err_set(err, "the list cannot be read");
    return w->home ? pins_shared_put(w->home, &who, &w->lists, w->only.len ? &w->only : NULL, w->first, a,
                                     &w->copy, err)
                   : write_file(w, &who, a, err);
}

void pins_accept_done(struct pins *p, struct pins_change *w) {
    struct risk_lock *fresh = steal(w->fresh);
    struct state_pins_copy *copy = steal(w->copy);
    if (copy && p && p->fleet) {
        fleet_take(p, copy);
        return;
    }
    state_pins_copy_free(copy);
    if (!fresh || !p || p->fleet ||
        !slice_is(w->path, p->path)) { /* another lock meanwhile: that one has been read */
        risk_lock_free(fresh);
        return;
    }
    io_watch_seen_as(&p->watch, &w->written);
    use_lock(p, fresh);
}

static struct io_loop *loop_of(const struct pins *p) { return p->core->up.loop; }

/* ---- in a fleet ----
 *
 * The loop works with a copy of the store, which a thread follows; changes are jobs on threads.
 *
 *   store ──▶ state_pins_take ──▶ use_copy ──▶ lock, held      every STATE_FOLLOW_POLL_MS
 *   first use, a hold ──▶ job ──▶ store
 */

static struct server *server_of(const struct pins *p, struct slice name) {
    for (size_t i = 0; i < p->core->server_count; i++)
        if (p->core->servers[i] && slice_eq(name_of(p->core->servers[i]), name))
            return p->core->servers[i];
    return NULL;
}

static void judge_again(struct pins *p, struct slice name) {
    struct server *server = server_of(p, name);
    if (server)
        server_forget_tools(server);
}

/* What other gates hold. */
static void take_holds(struct pins *p, const struct state_pins_copy *copy) {
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < copy->hold_count; i++) {
        const struct state_pin_hold *hold = &copy->holds[i];
        struct slice key = held_key(hold->server, hold->name, &a);
        if (map_get(&p->held, key) || !keep_held(p, key, hold->reason))
            continue;
        log_warn("server `%.*s`: %.*s (seen by another gate)", SLICE_FMT(hold->server),
                 SLICE_FMT(hold->reason));
        judge_again(p, hold->server);
    }
}

/* Are there only more servers than before? */
static bool only_adds(const struct state_pins_copy *old, const struct state_pins_copy *copy) {
    for (size_t i = 0; i < old->count; i++)
        if (state_pins_number(copy, old->pins[i].server) != old->pins[i].number)
            return false;
    return true;
}

static void use_copy(struct pins *p, struct state_pins_copy *take_copy) {
    struct state_pins_copy *old = p->fleet->copy;
    struct risk_lock *lock = NULL;
    struct err err;
    if (pins_shared_lock(take_copy, &lock, &err) < 0) {
        log_error("%s; the old pins stay in force", err.text);
        state_pins_copy_free(take_copy);
        return;
    }
    p->fleet->copy = take_copy;
    if (only_adds(old, take_copy)) {
        take_lock(p, lock);
        for (size_t i = 0; i < take_copy->count; i++)
            if (!state_pins_number(old, take_copy->pins[i].server))
                judge_again(p, take_copy->pins[i].server);
        if (p->ask && take_copy->count != old->count)
            p->core->tools_changed(p->core);
    } else {
        use_lock(p, lock);
    }
    state_pins_copy_free(old);
    take_holds(p, take_copy);
}

static void fleet_take(struct pins *p, struct state_pins_copy *take_copy) {
    if (take_copy->version > p->fleet->copy->version)
        use_copy(p, take_copy);
    else
        state_pins_copy_free(take_copy);
}

/* The thread may have begun to read before a change that this gate made, and end after it: the newer copy
 * stays. A thread that goes back follows a database that was put back. */
static void on_follow(struct io_timer *timer) {
    struct pins_fleet *f = container_of(timer, struct pins_fleet, timer);
    struct pins *p = f->pins;
    struct state_pins_copy *copy = state_pins_take(f->store);
    io_timer_arm(loop_of(p), &f->timer, STATE_FOLLOW_POLL_MS, on_follow);
    if (!copy)
        return;
    bool old = copy->version <= f->copy->version && copy->version >= f->tracked;
    f->tracked = copy->version;
    if (old)
        state_pins_copy_free(copy);
    else
        use_copy(p, copy);
}

static struct pins_job *job_new(struct pins *p) {
    struct pins_job *job = mem_zalloc(sizeof(*job));
    job->pins = p;
    arena_init(&job->arena);
    job->home = arena_dup(&job->arena, slice_str(p->fleet->home)).ptr;
    return job;
}

static void job_free(struct pins_job *job) {
    if (!job)
        return;
    arena_free(&job->arena);
    free(job);
}

static void job_start(struct pins_job *job, void (*run)(struct io_work *), void (*done)(struct io_work *)) {
    job->work = (struct io_work){.thread = IO_THREAD_CALLS, .run = run, .done = done};
    list_push(&job->pins->fleet->jobs, &job->node);
    io_work_add(loop_of(job->pins), &job->work);
}

static void first_run(struct io_work *work) {
    struct pins_job *job = container_of(work, struct pins_job, work);
    job->failed = pins_accept_write(job->change, &job->arena, &job->err) < 0;
}

static void first_done(struct io_work *work) {
    struct pins_job *job = container_of(work, struct pins_job, work);
    struct pins *p = job->pins;
    if (p)
        list_remove(&job->node);
    if (p && job->failed) {
        p->fleet->failed_ms = io_now_ms(loop_of(p));
        log_error("first use of server `%.*s` is not stored: %s", SLICE_FMT(job->server), job->err.text);
    } else if (p) {
        log_info("server `%.*s` is used for the first time: its tools are in the pins of the fleet now",
                 SLICE_FMT(job->server));
        event(p, SLICE("pin_first_use"), job->server);
    }
    pins_accept_done(p, job->change);
    job_free(job);
}

static int fleet_first_use(struct pins *p, const struct server *server, const struct risk_lists *lists,
                           struct err *err) {
    struct pins_fleet *f = p->fleet;
    if (pins_is_storing(p, server))
        return 0;
    if (f->failed_ms && io_now_ms(loop_of(p)) < f->failed_ms + RETRY_MS)
        return err_set(err, "its first use cannot be stored for all gates");
    f->failed_ms = 0;
    struct pins_job *job = job_new(p);
    job->server = arena_dup(&job->arena, name_of(server));
    job->change = first_change(p, server, lists, &job->arena);
    job_start(job, first_run, first_done);
    return 0;
}

bool pins_is_storing(const struct pins *p, const struct server *server) {
    if (!p->fleet)
        return false;
    LIST_FOR (n, &p->fleet->jobs) {
        const struct pins_job *job = container_of(n, struct pins_job, node);
        if (job->change && slice_eq(job->server, name_of(server)))
            return true;
    }
    return false;
}

static void holds_run(struct io_work *work) {
    struct pins_job *job = container_of(work, struct pins_job, work);
    struct state_pins *store = NULL;
    job->failed = state_pins_open(job->home, &store, &job->err) < 0;
    for (size_t i = 0; !job->failed && i < job->hold_count; i++)
        job->failed = state_pins_hold(store, &job->holds[i], &job->err) < 0;
    state_pins_close(store);
}

static void holds_add(struct pins_job *job, const struct state_pin_hold *hold) {
    struct arena *a = &job->arena;
    if (job->hold_count < STATE_PIN_HOLDS_MAX) /* of the others each gate still compares with the pins */
        job->holds[job->hold_count++] = (struct state_pin_hold){
            arena_dup(a, hold->server), arena_dup(a, hold->name), arena_dup(a, hold->reason), hold->number};
}

/* With what is waiting already. */
static void holds_keep(struct pins_fleet *f, struct pins_job *take_job) {
    struct pins_job *later = f->waiting;
    f->waiting = take_job;
    for (size_t i = 0; later && i < later->hold_count; i++)
        holds_add(take_job, &later->holds[i]);
    job_free(later);
}

static void holds_send(struct pins *p);

/* A failed write is tried again: sharing a definition late is better than never. */
static void on_retry(struct io_timer *timer) {
    struct pins_fleet *f = container_of(timer, struct pins_fleet, retry);
    f->holding = false;
    holds_send(f->pins);
}

static void holds_done(struct io_work *work) {
    struct pins_job *job = container_of(work, struct pins_job, work);
    struct pins *p = job->pins;
    if (!p) {
        job_free(job);
        return;
    }
    struct pins_fleet *f = p->fleet;
    list_remove(&job->node);
    if (job->failed) {
        log_warn("the tools held here could not be shared with the other gates yet: %s", job->err.text);
        holds_keep(f, job);
        io_timer_arm(loop_of(p), &f->retry, RETRY_MS, on_retry);
        return;
    }
    job_free(job);
    f->holding = false;
    holds_send(p);
}

static void holds_send(struct pins *p) {
    struct pins_job *job = p->fleet->holding ? NULL : steal(p->fleet->waiting);
    if (!job)
        return;
    p->fleet->holding = true;
    job_start(job, holds_run, holds_done);
}

static void fleet_hold(struct pins *p, struct slice key, struct slice why) {
    struct pins_fleet *f = p->fleet;
    if (!f)
        return;
    if (!f->waiting) {
        f->waiting = job_new(p);
        f->waiting->holds = arena_array(&f->waiting->arena, struct state_pin_hold, STATE_PIN_HOLDS_MAX);
    }
    struct slice server;
    slice_cut(&key, '\0', &server);
    holds_add(f->waiting, &(struct state_pin_hold){server, key, why, state_pins_number(f->copy, server)});
    holds_send(p);
}

static int fleet_open(struct pins *p, const char *home, struct pins *old, struct err *err) {
    struct pins_fleet *f = p->fleet = mem_zalloc(sizeof(*f));
    f->pins = p;
    f->home = mem_dup(home, strlen(home));
    list_init(&f->jobs);
    bool known = old && old->fleet;
    if (!known && pins_shared_open(home, p->path, &f->store, &f->copy, err) < 0)
        return -1;
    if (pins_shared_lock(known ? old->fleet->copy : f->copy, &p->lock, err) < 0)
        return -1;
    if (known) {
        f->store = steal(old->fleet->store);
        f->copy = steal(old->fleet->copy);
        f->tracked = old->fleet->tracked;
    }
    take_holds(p, f->copy);
    io_timer_arm(loop_of(p), &f->timer, STATE_FOLLOW_POLL_MS, on_follow);
    return 0;
}

static void fleet_close(struct pins *p) {
    struct pins_fleet *f = steal(p->fleet);
    if (!f)
        return;
    io_timer_stop(loop_of(p), &f->timer);
    io_timer_stop(loop_of(p), &f->retry);
    for (struct list *n; (n = list_pop(&f->jobs));)
        container_of(n, struct pins_job, node)->pins = NULL;
    job_free(f->waiting);
    state_pins_close(f->store);
    state_pins_copy_free(f->copy);
    free(f->home);
    free(f);
}
