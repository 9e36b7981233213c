/* The state of the gate: status, servers, tools, sessions. */
#include "admin/api.h"
#include "approval/approve.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sha.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "code/code.h"
#include "decision/stop.h"
#include "guard/guard.h"
#include "risk/poison.h"
#include "risk/tokens.h"
#include "server/server.h"
#include "ship/ship.h"
#include "state/stops.h"
#include "upstream/login.h"
#include "wire/tree.h"

static void put_number(struct emit *e, const char *key, uint64_t value) {
    emit_key(e, key);
    emit_int(e, (int64_t)value);
}

static void put_text(struct emit *e, const char *key, struct slice value) {
    emit_key(e, key);
    emit_str(e, value);
}

static void put_policy_fault(void *ctx, const struct core_policy *one) {
    struct emit *e = ctx;
    if (!one->fault)
        return;
    emit_object(e);
    put_text(e, "path", slice_str(one->path));
    put_text(e, "error", slice_str(one->fault));
    emit_object_end(e);
}

static void put_policy_faults(struct api_call *c) {
    const struct core_files *files = &c->admin->core->files;
    emit_key(&c->e, "policy_faults");
    emit_array(&c->e);
    if (files->each_policy)
        files->each_policy(files->owner, put_policy_fault, &c->e);
    emit_array_end(&c->e);
}

static void put_ship(struct emit *e, struct ship *ship) {
    struct ship_health health;
    ship_health(ship, &health);
    emit_key(e, "audit_ship");
    emit_object(e);
    emit_key(e, "active");
    emit_bool(e, health.active);
    put_number(e, "seq", health.seq);
    put_number(e, "lag_records", health.lag_records);
    put_number(e, "lag_ms", health.lag_ms);
    put_number(e, "backlog_bytes", health.backlog);
    emit_key(e, "calls_refused");
    emit_bool(e, health.held);
    if (health.failed)
        put_text(e, "fault", slice_str(health.fault));
    emit_object_end(e);
}

void api_status(struct api_call *c) {
    struct core *core = c->admin->core;
    struct emit *e = &c->e;
    char since[CLOCK_TEXT_MAX];
    clock_text(c->admin->started_ms, since);
    emit_object(e);
    put_text(e, "version", SLICE(SALLYPORT_VERSION));
    put_text(e, "started_at", slice_str(since));
    put_text(e, "identity", slice_str(c->request->who->id));
    put_number(e, "servers", core->server_count);
    put_number(e, "sessions", core->session_count);
    put_number(e, "calls_under_way", core->calls_under_way);
    emit_key(e, "draining");
    emit_bool(e, core->draining);
    if (core->restart_settings)
        put_text(e, "restart_needed_for", slice_str(core->restart_settings));
    if (core->settings_fault)
        put_text(e, "settings_fault", slice_str(core->settings_fault));
    put_policy_faults(c);
    if (core->approvals && core->approvals->store)
        put_number(e, "approvals_pending", approve_pending(core));
    if (core->audit) {
        struct audit_health health;
        audit_health(core->audit, &health);
        put_number(e, "audit_seq", health.seq);
        put_number(e, "audit_refused", health.refused);
        put_number(e, "audit_unrecorded", health.unrecorded);
        if (health.failed)
            put_text(e, "audit_fault", slice_str(health.fault));
    }
    if (core->ship)
        put_ship(e, core->ship);
    emit_object_end(e);
    api_answer(c, 200);
}

static size_t count_tools(const struct server *s, bool (*is)(const struct tool *tool)) {
    size_t at = 0, count = 0;
    for (const struct map_entry *e; (e = map_next(&s->tools.by_name, &at));)
        count += is(e->value);
    return count;
}

static bool is_held(const struct tool *tool) { return tool->held; }
static bool is_poisoned(const struct tool *tool) { return tool->poison; }

/* The era of one of its connections, or NULL. */
static const char *era_of(struct core *core, const struct server *s) {
    LIST_FOR (n, &core->sessions) {
        const struct channel *ch = channel_find(container_of(n, struct session, node), s);
        if (ch && ch->state == CHANNEL_READY && ch->era != ERA_UNKNOWN)
            return channel_is_modern(ch) ? "modern" : "legacy";
    }
    return NULL;
}

/* Facts about a server that does not run; `entry` is its entry in the settings, or NULL. */
void api_put_disabled(struct emit *e, struct slice name, const struct tree *entry) {
    put_text(e, "name", name);
    put_text(e, "transport", tree_get(entry, "url") ? SLICE("http") : SLICE("stdio"));
    put_text(e, "state", SLICE("disabled"));
    put_number(e, "links", 0);
    put_number(e, "connections", 0);
    emit_key(e, "tools_known");
    emit_bool(e, false);
    put_number(e, "tools", 0);
}

/* Whether the gate has logged in to a server that requires OAuth. */
static void put_login(struct api_call *c, const struct server *s) {
    struct up_login login;
    struct err err = {0};
    bool absent = false;
    if (!s->up.url)
        return;
    int rc = up_login_load(c->admin->home, s->up.url, &login, &absent, &err);
    if (rc == 0 || !absent) {
        bool over =
            rc == 0 && login.expires_ms && login.expires_ms < clock_wall_ms() && !login.refresh_token.len;
        put_text(&c->e, "login", slice_str(rc < 0 ? "unreadable" : over ? "expired" : "signed_in"));
    }
    arena_free(&login.arena);
}

void api_put_server(struct api_call *c, const struct server *s) {
    struct core *core = c->admin->core;
    struct state_stops *stops = stop_store(core);
    struct emit *e = &c->e;
    size_t ready, missing;
    channel_count(core, s, &ready, &missing);
    emit_object(e);
    put_text(e, "name", slice_str(s->up.name));
    /* Command lines and URLs may contain secrets, so only the transport is shown. */
    put_text(e, "transport", s->up.url ? SLICE("http") : s->up.argv ? SLICE("stdio") : SLICE("builtin"));
    put_text(e, "state", slice_str(channel_state_name(ready, missing)));
    const char *fault = s->fault[0] ? s->fault : s->refused[0] ? s->refused : s->list_fault;
    if (fault[0])
        put_text(e, "fault", slice_str(fault));
    const char *era = era_of(core, s);
    if (era)
        put_text(e, "era", slice_str(era));
    put_login(c, s);
    put_number(e, "links", ready);
    put_number(e, "connections", s->up.conn_count);
    emit_key(e, "tools_known");
    emit_bool(e, s->tools.loaded);
    put_number(e, "tools", s->tools.by_name.count);
    if (s->policy)
        put_text(e, "policy", policy_name(s->policy));
    put_number(e, "restarts", s->up.ended_count + s->health_misses);
    put_number(e, "held", count_tools(s, is_held));
    put_number(e, "poisoned", count_tools(s, is_poisoned));
    emit_key(e, "stopped");
    emit_bool(e, stops && state_stops_match(stops, slice_str(s->up.name), (struct slice){0}));
    emit_object_end(e);
}

void api_servers(struct api_call *c) {
    const struct core *core = c->admin->core;
    struct api_page page;
    if (!api_page_open(c, ADMIN_LIST_MAX, &page))
        return;
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i] && api_page_takes(&page, slice_str(core->servers[i]->up.name)))
            api_put_server(c, core->servers[i]);
    api_put_disabled_servers(c, &page);
    api_page_answer(c, &page);
}

void api_server(struct api_call *c) {
    const struct server *s = server_find(c->admin->core, c->arg);
    if (!s) {
        api_error(c, 404, "no server `%.*s`", SLICE_FMT(c->arg));
        return;
    }
    api_put_server(c, s);
    api_answer(c, 200);
}

const char *api_class_name(enum policy_class class) {
    static const char *const names[] = {"Unknown", "Read", "Write", "Execute", "Destructive", "Financial"};
    return names[class];
}

static void put_risk(struct emit *e, const struct tool *tool) {
    put_text(e, "category", slice_str(api_class_name(tool->traits.class)));
    put_text(e, "severity",
             slice_str(risk_severity_name(risk_class_severity((enum risk_class)tool->traits.class))));
    emit_key(e, "confidence");
    emit_double(e, tool->confidence / 100.0);
    risk_tags_put(e, tool->tags);
    emit_key(e, "findings");
    emit_array(e);
    for (unsigned i = 1; i < RISK_DETECTORS; i++)
        if (tool->findings & 1u << i)
            emit_cstr(e, risk_detector_id((enum risk_detector)i));
    emit_array_end(e);
}

/* Members that only the definition has. */
static void put_definition(struct emit *e, const struct tool *tool) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!tool->raw.len || tape_parse(&t, tool->raw, NULL) != TAPE_OK)
        return;
    uint32_t text = tape_get_str(&t, 0, "description"), schema = tape_get_str(&t, 0, "inputSchema");
    if (text && tape_is(&t, text, TAPE_STRING)) {
        emit_key(e, "description");
        emit_raw(e, tape_raw(&t, text));
    }
    if (schema) {
        emit_key(e, "schema");
        emit_raw(e, tape_raw(&t, schema));
    }
    put_number(e, "tokens", risk_tokens_of(tool->raw));
}

void api_put_tools(struct admin *a, const struct server *s, struct api_page *page, struct emit *e) {
    size_t at = 0;
    const struct map_entry *entry;
    emit_array(e);
    while ((entry = map_next(&s->tools.by_name, &at))) {
        const struct tool *tool = entry->value;
        if (!api_page_takes(page, entry->key))
            continue;
        emit_object(e);
        put_text(e, "name", entry->key);
        put_risk(e, tool);
        put_text(e, "fingerprint", slice_str(tool->fingerprint));
        put_text(e, "pin", slice_str(tool->held ? "held" : guard_pins(a->core, s) ? "accepted" : "none"));
        if (tool->held)
            put_text(e, "held", slice_str(tool->held));
        if (tool->poison)
            put_text(e, "poison", slice_str(tool->poison));
        put_definition(e, tool);
        emit_object_end(e);
    }
    emit_array_end(e);
}

struct policy_traits api_tool_traits(const struct server *s, struct slice name) {
    const struct tool *tool = map_get(&s->tools.by_name, name);
    return tool ? tool->traits : (struct policy_traits){0};
}

void api_tools(struct api_call *c) {
    struct server *s = server_find(c->admin->core, c->arg);
    if (!s) {
        api_error(c, 404, "no server `%.*s`", SLICE_FMT(c->arg));
        return;
    }
    /* Only authenticated users start a server by viewing it. */
    const struct principal *who = c->request->who;
    bool may_ask = who->roles && principal_may_use(who, c->arg);
    struct api_page page;
    if (!api_page_read(c, ADMIN_LIST_MAX, &page) ||
        (!s->tools.loaded && may_ask && !api_query_text(c, "known").len && api_desk_list(c, s, &page)))
        return;
    api_put_tools(c->admin, s, &page, &c->e);
    if (page.skipping) {
        api_error(c, 400, API_PAGE_GONE);
        return;
    }
    c->more = api_page_head(&page);
    api_answer(c, 200);
}

void api_sessions(struct api_call *c) {
    struct emit *e = &c->e;
    struct api_page page;
    char key[SHA_HEX];
    if (!api_page_open_part(c, &page))
        return;
    LIST_FOR (n, &c->admin->core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        sha_256_hex(slice_str(s->name), key); /* the full id would allow others to use the session */
        if (!api_page_takes(&page, slice_of(key, sizeof(key))))
            continue;
        emit_object(e);
        /* Enough to find it in the log, not enough to use it. */
        put_text(e, "session", slice_upto(slice_str(s->name), 8));
        put_text(e, "identity", slice_str(s->principal->id));
        if (s->only)
            put_text(e, "server", slice_str(s->only->up.name));
        put_text(e, "version", s->stateless ? SLICE("stateless") : slice_str(s->version));
        put_number(e, "calls", s->call_count);
        emit_object_end(e);
    }
    api_page_answer(c, &page);
}

void api_job(struct api_call *c) {
    if (c->admin->core->code && code_server_write_job(c->admin->core->code, c->arg, &c->e))
        api_answer(c, 200);
    else
        api_error(c, 404, "no such run: it has ended and was not kept");
}

void api_packages(struct api_call *c) {
    if (c->admin->core->code)
        code_server_write_packages(c->admin->core->code, &c->e);
    else
        emit_raw(&c->e, SLICE("{\"installed\":[],\"allowed\":[]}"));
    api_answer(c, 200);
}

static bool takes_job(void *ctx, struct slice id) { return api_page_takes(ctx, id); }

void api_jobs(struct api_call *c) {
    struct api_page page;
    if (!api_page_open_part(c, &page))
        return;
    if (c->admin->core->code)
        code_server_list_jobs(c->admin->core->code, takes_job, &page, &c->e);
    api_page_answer(c, &page);
}
