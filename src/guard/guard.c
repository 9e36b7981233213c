#include "guard/guard.h"

#include "audit/audit.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/call.h"
#include "guard/pins.h"
#include "risk/confusable.h"
#include "risk/lockfile.h"
#include "risk/poison.h"

#include <stdlib.h>
#include <unistd.h>

#define SKILL SLICE("skill://")
#define RECORDED_MAX 100000 /* definitions whose findings are remembered as recorded */

struct guard {
    struct pins *pins; /* NULL: nothing is pinned */
    uint64_t max_age_ms;
    enum guard_mode definitions;
    enum guard_mode results;
    struct map recorded; /* findings that are on record, by their text */
    struct arena arena;
};

const char *guard_lock_path(const char *named, const char *usual) {
    if (named)
        return strcmp(named, "off") == 0 ? NULL : named;
    return access(usual, F_OK) == 0 ? usual : NULL;
}

int guard_open(struct core *core, const struct guard_config *config, struct err *err) {
    struct pins *pins = NULL;
    const struct pins_config locked = {.path = config->lock, .home = config->home, .ask = config->ask};
    if (config->lock && !(pins = pins_open(core, &locked, core->guard ? core->guard->pins : NULL, err)))
        return -1;
    guard_close(core);
    struct guard *g = core->guard = mem_zalloc(sizeof(*g));
    g->pins = pins;
    g->max_age_ms = config->max_age_ms;
    g->definitions = config->definitions;
    g->results = config->results;
    map_init(&g->recorded);
    arena_init(&g->arena);
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i])
            server_forget_tools(core->servers[i]);
    return 0;
}

void guard_close(struct core *core) {
    struct guard *g = steal(core->guard);
    if (!g)
        return;
    pins_close(g->pins);
    map_free(&g->recorded);
    arena_free(&g->arena);
    free(g);
}

bool guard_pins(const struct core *core, const struct server *server) {
    return core->guard && core->guard->pins && (server->up.argv || server->up.url);
}

uint64_t guard_max_age_ms(const struct core *core, const struct server *server) {
    return guard_pins(core, server) ? core->guard->max_age_ms : UINT64_MAX;
}

bool guard_may_open(struct core *core, struct server *server) {
    if (!guard_pins(core, server))
        return true;
    server_forget_tools(server);
    return pins_may_start(core->guard->pins, server);
}

/* ---- judging ---- */

enum guard_mode guard_of_definitions(const struct core *core) {
    return core->guard ? core->guard->definitions : GUARD_OFF;
}

enum guard_mode guard_of_results(const struct core *core) {
    return core->guard ? core->guard->results : GUARD_OFF;
}

/* Once for each text: the same lists are read repeatedly. */
void guard_record(struct core *core, bool deny, struct slice text) {
    struct guard *g = core->guard;
    if (g->recorded.count >= RECORDED_MAX || map_get(&g->recorded, text))
        return;
    map_put(&g->recorded, arena_dup(&g->arena, text), g);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice message = arena_printf(&a, "%.*s (%s)", SLICE_FMT(text),
                                        !deny ? "flagged only"
                                        : g->definitions == GUARD_FLAG
                                            ? "passes, by the setting `poison`"
                                            : "`poison.definitions: flag` or `--poison flag` allows it");
    if (deny)
        log_warn("%.*s", SLICE_FMT(message));
    else /* legitimate servers trigger this detector now and then */
        log_debug("%.*s", SLICE_FMT(message));
    if (core->audit)
        audit_put_event(core->audit, SLICE("poison"), (struct slice){0}, (struct slice){0}, message);
}

/* Compared before the names of this page: the name that resembles another server's is the imitation. */
static void gather_others(struct guard_page *p) {
    for (size_t i = 0; i < p->core->server_count; i++) {
        const struct server *other = p->core->servers[i];
        if (!other || other == p->server)
            continue;
        size_t at = 0;
        struct map_entry *e;
        while ((e = map_next(&other->tools.by_name, &at))) {
            map_put(&p->others, e->key, e->value);
            map_put(&p->skeletons, risk_skeleton(e->key, &p->scratch), &e->key);
        }
    }
}

void guard_page_init(struct guard_page *p, struct core *core, struct server *server, const struct tape *t,
                     uint32_t tools, struct arena *keep) {
    *p = (struct guard_page){.core = core, .server = server, .t = t, .keep = keep};
    arena_init(&p->scratch);
    map_init(&p->skeletons);
    map_init(&p->others);
    risk_toolset_read(t, tools, slice_str(p->server->up.name), &p->scratch, &p->ctx);
    if (!p->core->guard || p->core->guard->definitions == GUARD_OFF)
        return;
    gather_others(p);
    risk_skeletons_add(&p->skeletons, t, tools, &p->scratch);
}

void guard_page_free(struct guard_page *p) {
    map_free(&p->skeletons);
    map_free(&p->others);
    arena_free(&p->scratch);
}

static void judge_poison(struct guard_page *p, uint32_t def, struct tool *tool) {
    struct risk_neighbours near = {&p->skeletons, p->others.count ? &p->others : NULL};
    struct risk_findings f = {0};
    struct arena *a = &p->scratch;
    risk_poison_tool(&p->ctx, &near, p->t, def, a, &f);
    tool->findings = f.seen;
    if (!f.seen)
        return;
    bool deny = risk_findings_deny(&f);
    struct slice what = risk_findings_text(&f, a);
    struct slice name =
        glyph_printable(tape_text(p->t, tape_get_str(p->t, def, "name"), a), RISK_TOOL_NAME_MAX, a);
    if (deny)
        tool->poison = arena_dup(p->keep, what).ptr;
    guard_record(p->core, deny,
                 arena_printf(a, "server `%s`, tool `%.*s`: %.*s", p->server->up.name, SLICE_FMT(name),
                              SLICE_FMT(what)));
}

void guard_judge(struct guard_page *p, uint32_t def, struct tool *tool) {
    const struct guard *g = p->core->guard;
    if (!g)
        return;
    if (guard_pins(p->core, p->server)) {
        const char *why = pins_judge(g->pins, RISK_PIN_TOOL, p->server, p->t, def, &p->scratch);
        tool->held = why ? arena_dup(p->keep, slice_str(why)).ptr : NULL;
        tool->first_use = why && pins_trusts(g->pins, p->server);
    }
    if (g->definitions != GUARD_OFF)
        judge_poison(p, def, tool);
}

bool guard_wants_list(const struct core *core, const struct server *server) {
    return guard_pins(core, server) && pins_trusts(core->guard->pins, server);
}

bool guard_is_storing(const struct core *core, const struct server *server) {
    return guard_pins(core, server) && pins_is_storing(core->guard->pins, server);
}

void guard_first_use(struct core *core, struct server *server, struct tool_table *table) {
    struct err err = {0};
    if (table->definitions.full || table->skills.full)
        err_set(&err, "its definitions are larger than %zu bytes", table->definitions.max);
    else
        pins_first_use(core->guard->pins, server, buf_slice(&table->definitions), buf_slice(&table->skills),
                       &err);
    tool_table_drop_definitions(table);
    if (guard_is_storing(core, server))
        return;
    if (guard_wants_list(core, server)) {
        log_server(LOG_ERROR, server->up.name, "server `%s` stays out of reach: %s", server->up.name,
                   err.text);
        return;
    }
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&table->by_name, &at))) {
        struct tool *tool = e->value;
        tool->held = tool->first_use ? NULL : tool->held;
        tool->first_use = false;
    }
}

/* ---- enforcing ---- */

void guard_deny(struct call *c, enum policy_reason reason, struct slice rule, struct slice text) {
    call_set_verdict(
        c, &(struct policy_verdict){
               .outcome = POLICY_DENY, .reason = reason, .rule = rule, .pointer = SLICE(""), .text = text});
}

bool guard_is_poisoned(const struct core *core, const struct tool *tool) {
    return tool->poison && core->guard->definitions >= GUARD_HIDE;
}

bool guard_refuses(struct call *c, const struct tool *tool) {
    const struct guard *g = c->session->core->guard;
    if (!g || c->verdict.outcome == POLICY_DENY)
        return false;
    if (!tool && guard_pins(c->session->core, c->server)) {
        guard_deny(c, POLICY_BY_PIN, SLICE("(pin)"),
                   SLICE("The server does not list this tool, and it is pinned"));
        return true;
    }
    if (tool && tool->held) {
        guard_deny(c, POLICY_BY_PIN, SLICE("(pin)"), arena_dup(&c->arena, slice_str(tool->held)));
        return true;
    }
    if (!tool || !guard_is_poisoned(c->session->core, tool))
        return false;
    if (g->definitions == GUARD_HIDE)
        guard_deny(c, POLICY_BY_HIDE, SLICE("(poison)"), SLICE("This tool is not available"));
    else
        guard_deny(c, POLICY_BY_POISON, SLICE("(poison)"),
                   arena_printf(&c->arena, "The definition of tool `%.*s` carries instructions: %s",
                                SLICE_FMT(c->name), tool->poison));
    return true;
}

/* ---- skills ---- */

const char *guard_skill_held(struct core *core, const struct server *server, const struct tape *t,
                             uint32_t skill, struct arena *a) {
    return guard_pins(core, server) ? pins_judge(core->guard->pins, RISK_PIN_SKILL, server, t, skill, a)
                                    : NULL;
}

const char *guard_file_held(struct core *core, const struct server *server, struct slice uri,
                            struct slice bytes, struct arena *a) {
    return guard_pins(core, server) ? pins_judge_file(core->guard->pins, server, uri, bytes, a) : NULL;
}

/* The scheme of a URI is case-insensitive. */
bool guard_is_skill_call(const struct call *c) {
    return slice_starts(c->method, SLICE("skills/")) ||
           (slice_starts(c->method, SLICE("resources/")) &&
            slice_eq_nocase(slice_upto(c->name, SKILL.len), SKILL));
}

/* ---- for the console and the commands ---- */

bool guard_definitions(const struct core *core, const struct server *server, struct tape *t, struct arena *a,
                       struct risk_lists *ret_lists) {
    struct buf list;
    size_t at = 0;
    bool complete = true, more = false;
    buf_init(&list, RISK_LOCK_BYTES_MAX);
    buf_put_str(&list, "{\"tools\":[");
    for (const struct map_entry *e; (e = map_next(&server->tools.by_name, &at));) {
        const struct tool *tool = e->value;
        complete = complete && tool->raw.len;
        if (more)
            buf_put_char(&list, ',');
        buf_put_slice(&list, tool->raw);
        more = true;
    }
    buf_put_str(&list, "],\"skills\":[");
    if (guard_pins(core, server))
        pins_put_skills(core->guard->pins, server, &list);
    buf_put_str(&list, "]}");
    complete = complete && !list.full;
    struct slice text = complete ? arena_dup(a, buf_slice(&list)) : (struct slice){0};
    buf_free(&list);
    if (!complete || tape_parse(t, text, NULL) != TAPE_OK)
        return false;
    *ret_lists = (struct risk_lists){.t = t,
                                     .tools = tape_get_str(t, 0, "tools"),
                                     .skills = tape_get_str(t, 0, "skills"),
                                     .skills_some = true};
    return true;
}

/* The server's current definitions. `done` and `command` name the operation in the error. */
static int read_current(const struct core *core, const struct server *server, const char *done,
                        const char *command, struct tape *t, struct arena *a, struct risk_lists *ret_lists,
                        struct err *err) {
    arena_init(a);
    tape_init(t);
    if (!guard_pins(core, server))
        return err_set(err, "no definitions are pinned here: name a lock file with `pins: {lock: FILE}`");
    if (!server->tools.loaded)
        return err_set(err, "the server's tools are not known yet");
    if (!guard_definitions(core, server, t, a, ret_lists))
        return err_set(err, "a definition is too large to be %s here; use `sallyport pin %s`", done, command);
    return 0;
}

int guard_diff(const struct core *core, const struct server *server,
               void (*each)(void *ctx, const struct risk_difference *difference), void *ctx,
               struct err *err) {
    cleanup_arena struct arena a;
    cleanup_tape struct tape t;
    struct risk_lists lists;
    if (read_current(core, server, "shown", "diff", &t, &a, &lists, err) < 0)
        return -1;
    pins_diff(core->guard->pins, server, &lists, &a, each, ctx);
    return 0;
}

struct pins_change *guard_accept(struct core *core, const struct server *server, struct slice name,
                                 struct arena *a, struct err *err) {
    cleanup_arena struct arena scratch;
    cleanup_tape struct tape t;
    struct risk_lists lists;
    if (read_current(core, server, "accepted", "accept", &t, &scratch, &lists, err) < 0)
        return NULL;
    return pins_accept(core->guard->pins, server, &lists, name, a);
}

int guard_accept_write(struct pins_change *w, struct arena *a, struct err *err) {
    return pins_accept_write(w, a, err);
}

void guard_accept_done(struct core *core, struct pins_change *w) {
    pins_accept_done(core->guard ? core->guard->pins : NULL, w);
}
