#include "cli/gates.h"

#include "approval/approval.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "channel/channel.h"
#include "cli/command.h"
#include "front/settings.h"
#include "io/file.h"
#include "io/work.h"
#include "server/server.h"
#include "ship/ship.h"
#include "state/state.h"
#include "wire/emit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_MS 1000 /* between two checks; written when something has changed */
#define PAGE_BYTES_MAX (4u << 20)
#define PAGES_MAX 1024
#define PAGE_PIDS_MAX 64 /* of one server; with a process a session there can be many */

/* ---- the pages there are ---- */

const char *cli_gate_url(const struct settings *s, struct arena *a) {
    const bool all = strcmp(s->bind, "0.0.0.0") == 0 || strcmp(s->bind, "::") == 0;
    const char *host = all ? "127.0.0.1" : s->bind, *scheme = s->tls.cert ? "https" : "http";
    return strchr(host, ':') ? arena_printf(a, "%s://[%s]:%u/mcp", scheme, host, s->port).ptr
                             : arena_printf(a, "%s://%s:%u/mcp", scheme, host, s->port).ptr;
}

/* Is that pid one of our processes? */
static bool runs(uint64_t pid) {
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%llu/comm", (unsigned long long)pid);
    cleanup_file FILE *f = fopen(path, "re");
    return f && fgets(name, sizeof(name), f) && strncmp(name, "sallyport", 9) == 0;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The gates with a page, oldest first, running or not. */
static size_t list_pages(const char *home, uint64_t pids[PAGES_MAX]) {
    char path[CLI_PATH_MAX + 64];
    size_t count = 0;
    snprintf(path, sizeof(path), "%s/gates", home);
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir && count < PAGES_MAX && (d = readdir(dir));) {
        struct slice rest = slice_str(d->d_name), number;
        if (slice_cut(&rest, '.', &number) && slice_is(rest, "json") && slice_to_u64(number, &pids[count]))
            count++;
    }
    if (dir)
        closedir(dir);
    qsort(pids, count, sizeof(pids[0]), by_number);
    return count;
}

static void page_path(const char *home, uint64_t pid, char ret_path[CLI_PATH_MAX + 64]) {
    snprintf(ret_path, CLI_PATH_MAX + 64, "%s/gates/%llu.json", home, (unsigned long long)pid);
}

void cli_gates_each(const char *home, void (*each)(void *ctx, const struct tape *page), void *ctx) {
    uint64_t pids[PAGES_MAX];
    const size_t count = list_pages(home, pids);
    for (size_t i = 0; i < count; i++) {
        char path[CLI_PATH_MAX + 64];
        cleanup_buf struct buf text;
        cleanup_tape struct tape t;
        struct err ignored;
        buf_init(&text, PAGE_BYTES_MAX);
        tape_init(&t);
        page_path(home, pids[i], path);
        if (runs(pids[i]) && io_file_read(path, &text, NULL, &ignored) == 0 &&
            tape_parse(&t, slice_trim(buf_slice(&text)), NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT))
            each(ctx, &t);
    }
}

/* Removes pages of gates that were killed. */
static void sweep_pages(const char *home) {
    uint64_t pids[PAGES_MAX];
    const size_t count = list_pages(home, pids);
    for (size_t i = 0; i < count; i++) {
        char path[CLI_PATH_MAX + 64];
        page_path(home, pids[i], path);
        if (!runs(pids[i]))
            unlink(path);
    }
}

/* ---- writing ---- */

static void put_pid(struct emit *e, const struct channel *ch, size_t *left) {
    if (!ch->link || !ch->link->pid || !*left)
        return;
    emit_int(e, ch->link->pid);
    --*left;
}

/* The processes of one server: of each session, and of each of its further channels. */
static void put_pids(struct emit *e, const struct core *core, size_t slot) {
    size_t left = PAGE_PIDS_MAX;
    emit_key(e, "pids");
    emit_array(e);
    LIST_FOR (n, &core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        const struct channel *ch = slot < s->channel_count ? s->channels[slot] : NULL;
        if (!ch)
            continue;
        put_pid(e, ch, &left);
        LIST_FOR (l, &ch->others)
            put_pid(e, container_of(l, struct channel, other_node), &left);
    }
    emit_array_end(e);
}

static void put_policy(void *ctx, const char *hash) { emit_cstr(ctx, hash); }

static void put_server(struct emit *e, const struct core *core, const struct server *server) {
    size_t ready, missing;
    channel_count(core, server, &ready, &missing);
    emit_object(e);
    emit_key(e, "name");
    emit_cstr(e, server->up.name);
    emit_key(e, "transport");
    emit_cstr(e, server->up.url ? "http" : server->up.argv ? "stdio" : "builtin");
    emit_key(e, "state");
    emit_cstr(e, channel_state_name(ready, missing));
    if (server->fault[0] || server->list_fault[0]) {
        emit_key(e, "fault");
        emit_cstr(e, server->fault[0] ? server->fault : server->list_fault);
    }
    if (server->tools.loaded) {
        emit_key(e, "tools");
        emit_int(e, (int64_t)server->tools.by_name.count);
    }
    emit_key(e, "links");
    emit_int(e, (int64_t)ready);
    put_pids(e, core, server->slot);
    emit_key(e, "restarts");
    emit_int(e, server->up.ended_count);
    emit_object_end(e);
}

static void put_page(const struct cli_gate_page *p, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "pid");
    emit_int(&e, getpid());
    emit_key(&e, "version");
    emit_cstr(&e, SALLYPORT_VERSION);
    emit_time(&e, "started_at", p->started_ms);
    emit_key(&e, "listen");
    emit_cstr(&e, p->listen);
    emit_key(&e, "sessions");
    emit_int(&e, p->core->session_count);
    emit_key(&e, "policies");
    emit_array(&e);
    approval_policies(p->core, put_policy, &e);
    emit_array_end(&e);
    if (p->core->restart_settings) {
        emit_key(&e, "restart_needed_for");
        emit_cstr(&e, p->core->restart_settings);
    }
    if (p->core->settings_fault) {
        emit_key(&e, "settings_fault");
        emit_cstr(&e, p->core->settings_fault);
    }
    if (p->core->audit) {
        struct audit_health log;
        audit_health(p->core->audit, &log);
        if (log.failed) {
            emit_key(&e, "audit_fault");
            emit_cstr(&e, log.fault);
        }
    }
    if (p->core->state && !state_is_remote(p->core->state)) {
        struct state_health counters;
        state_health(p->core->state, &counters);
        if (counters.down) {
            emit_key(&e, "state_fault");
            emit_cstr(&e, counters.fault);
        }
    }
    if (p->core->ship) {
        struct ship_health shipped;
        ship_health(p->core->ship, &shipped);
        if (shipped.failed) {
            emit_key(&e, "audit_ship_fault");
            emit_cstr(&e, shipped.fault);
        }
    }
    emit_key(&e, "servers");
    emit_array(&e);
    for (size_t i = 0; i < p->core->server_count; i++)
        if (p->core->servers[i])
            put_server(&e, p->core, p->core->servers[i]);
    emit_array_end(&e);
    emit_object_end(&e);
    buf_put_char(out, '\n');
}

/* A page on its way to the disk. */
struct page_work {
    struct io_work work;
    char *path;
    struct buf text;
};

static void run_page(struct io_work *work) {
    struct page_work *w = container_of(work, struct page_work, work);
    struct err ignored;
    io_file_post(w->path, buf_slice(&w->text), 0600, &ignored);
}

static void on_page(struct io_work *work) {
    struct page_work *w = container_of(work, struct page_work, work);
    buf_free(&w->text);
    free(w->path);
    free(w);
}

/* The first page is written immediately: `status` then shows every gate that answers. Later pages are
 * written on the worker thread. */
static void post_page(struct cli_gate_page *p, struct slice text) {
    struct page_work *w = mem_zalloc(sizeof(*w));
    w->work = (struct io_work){.run = run_page, .done = on_page};
    w->path = mem_dup(p->path, strlen(p->path));
    buf_init(&w->text, PAGE_BYTES_MAX);
    buf_put_slice(&w->text, text);
    if (p->text.len) {
        io_work_add(p->core->up.loop, &w->work);
        return;
    }
    run_page(&w->work);
    on_page(&w->work);
}

static void update_page(struct io_timer *timer) {
    struct cli_gate_page *p = container_of(timer, struct cli_gate_page, timer);
    cleanup_buf struct buf now;
    buf_init(&now, PAGE_BYTES_MAX);
    put_page(p, &now);
    if (!now.full && !slice_eq(buf_slice(&now), buf_slice(&p->text))) {
        post_page(p, buf_slice(&now));
        buf_reset(&p->text);
        buf_put_slice(&p->text, buf_slice(&now));
    }
    io_timer_arm(p->core->up.loop, &p->timer, PAGE_MS, update_page);
}

void cli_gate_page_open(struct cli_gate_page *p, struct core *core, const char *home, const char *bind,
                        uint16_t port) {
    char text[CLI_PATH_MAX + 64];
    const bool six = bind && strchr(bind, ':');
    *p = (struct cli_gate_page){.core = core, .started_ms = clock_wall_ms()};
    snprintf(text, sizeof(text), "%s/gates", home);
    mkdir(text, 0700);
    sweep_pages(home);
    page_path(home, (uint64_t)getpid(), text);
    p->path = mem_dup(text, strlen(text));
    snprintf(text, sizeof(text), "%s%s%s:%u", six ? "[" : "", bind ? bind : "127.0.0.1", six ? "]" : "",
             port);
    p->listen = mem_dup(text, strlen(text));
    buf_init(&p->text, PAGE_BYTES_MAX);
    /* Not before the loop runs: the servers exist by then. */
    io_timer_soon(core->up.loop, &p->timer, update_page);
}

void cli_gate_page_close(struct cli_gate_page *p) {
    if (!p->core)
        return;
    io_timer_stop(p->core->up.loop, &p->timer);
    io_work_finish(p->core->up.loop);
    unlink(p->path);
    free(p->path);
    free(p->listen);
    buf_free(&p->text);
    *p = (struct cli_gate_page){0};
}
