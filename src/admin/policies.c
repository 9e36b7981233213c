/* Policies at the API: which are in force, whether a text is valid, and what it would decide. */
#include "admin/api.h"
#include "base/clock.h"
#include "policy/memory.h"
#include "policy/policy.h"
#include "policy/simulate.h"
#include "policy/trace.h"
#include "privacy/sent.h"
#include "server/server.h"

struct listing {
    struct api_call *call;
    struct api_page page;
    const struct policy *policy; /* the server or grant whose file is needed */
    const char *path, *fault;
};

static void note_file(void *ctx, const struct core_policy *one) {
    struct listing *l = ctx;
    if (one->policy != l->policy)
        return;
    l->path = one->path;
    l->fault = one->fault;
}

static void put_text(struct emit *e, const char *key, const char *text) {
    if (!text)
        return;
    emit_key(e, key);
    emit_cstr(e, text);
}

/* Is it the default, or a server's policy? */
static bool is_placed(const struct core *core, const struct policy *p) {
    bool placed = core->policy == p;
    for (size_t i = 0; i < core->server_count; i++)
        placed |= core->servers[i] && core->servers[i]->policy == p;
    return placed;
}

static void put_policy(struct listing *all, const struct policy *p, const char *server) {
    struct api_call *c = all->call;
    const struct core_files *files = &c->admin->core->files;
    struct listing l = {.policy = p};
    struct emit *e = &c->e;
    char id[API_POLICY_ID];
    if (!p)
        return;
    if (files->each_policy)
        files->each_policy(files->owner, note_file, &l);
    /* The default is one entry, and so is each server's policy and each file that only grants name. */
    if (!api_page_takes(&all->page, arena_printf(&c->arena, "%s\n%s", server ? server : "",
                                                 l.path && !is_placed(c->admin->core, p) ? l.path : "")))
        return;
    emit_object(e);
    if (l.path) {
        api_policy_id(l.path, id);
        put_text(e, "id", id);
        put_text(e, "path", l.path);
    }
    emit_key(e, "name");
    emit_str(e, policy_name(p));
    put_text(e, "server", server);
    put_text(e, "fault", l.fault);
    put_text(e, "hash", policy_hash(p));
    emit_key(e, "version");
    emit_str(e, policy_version(p));
    put_text(e, "dialect", policy_dialect(p) == POLICY_INTERCEPT ? "intercept" : "policylayer");
    emit_key(e, "shadow");
    emit_bool(e, policy_is_shadow(p));
    emit_key(e, "tools");
    emit_int(e, (int64_t)policy_tool_count(p));
    emit_object_end(e);
}

static void put_others(void *ctx, const struct core_policy *one) {
    struct listing *l = ctx;
    if (!is_placed(l->call->admin->core, one->policy))
        put_policy(l, one->policy, NULL);
}

void api_policies(struct api_call *c) {
    const struct core *core = c->admin->core;
    struct listing l = {.call = c};
    if (!api_page_open(c, ADMIN_LIST_MAX, &l.page))
        return;
    put_policy(&l, core->policy, NULL);
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i])
            put_policy(&l, core->servers[i]->policy, core->servers[i]->up.name);
    if (core->files.each_policy)
        core->files.each_policy(core->files.owner, put_others, &l);
    api_page_answer(c, &l.page);
}

void api_problems(struct emit *e, const struct policy_problems *problems) {
    emit_key(e, "problems");
    emit_array(e);
    for (size_t i = 0; i < problems->count; i++) {
        const struct policy_problem *one = &problems->items[i];
        emit_object(e);
        emit_key(e, "severity");
        emit_cstr(e, one->severity == POLICY_ERROR ? "error" : "warning");
        emit_key(e, "text");
        emit_str(e, one->text);
        emit_key(e, "pointer");
        emit_str(e, one->pointer);
        if (one->hint.len) {
            emit_key(e, "hint");
            emit_str(e, one->hint);
        }
        emit_key(e, "line");
        emit_int(e, one->line);
        emit_key(e, "column");
        emit_int(e, one->column);
        emit_object_end(e);
    }
    emit_array_end(e);
}

void api_lint(const struct api_call *c, const struct policy *p, struct policy_problems *problems) {
    const struct core *core = c->admin->core;
    policy_lint(p, problems);
    for (size_t i = 0; i < core->server_count; i++) {
        const struct server *s = core->servers[i];
        size_t at = 0;
        for (const struct map_entry *e; s && (e = map_next(&s->tools.by_name, &at));) {
            const struct tool *tool = e->value;
            if (tool->schema)
                policy_lint_types(p, &(struct policy_lint_tool){e->key, slice_str(s->up.name), tool->schema},
                                  problems);
        }
    }
}

void api_validate(struct api_call *c) {
    struct slice text = api_member(c, "policy_text");
    if (!text.len) {
        api_error(c, 400, "policy_text is required");
        return;
    }
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    struct policy *p = NULL;
    bool valid = policy_load(text, "policy", &p, &problems) == 0;
    if (valid)
        api_lint(c, p, &problems);
    struct emit *e = &c->e;
    emit_object(e);
    emit_key(e, "valid");
    emit_bool(e, valid);
    api_problems(e, &problems);
    emit_object_end(e);
    api_answer(c, 200);
    policy_unref(p);
}

/* The body has the format that `sallyport simulate` reads, and the response the one that it prints. */
void api_dry_run(struct api_call *c) {
    policy_simulate_line(c->request->body, NULL, sent_detector_alone(), &c->out);
    c->out.len -= c->out.len > 0; /* the newline */
    api_answer(c, 200);
}

/* The verdict of a policy for one call, and its reasons. */
void api_explain(struct api_call *c) {
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    cleanup_memory struct policy_memory memory;
    policy_problems_init(&problems);
    policy_memory_init(&memory);
    uint32_t args = tape_get_str(&c->body, 0, "arguments");
    if (policy_load(api_member(c, "policy_text"), "policy", &policy, &problems) < 0) {
        api_error(c, 400, "%.*s", SLICE_FMT(problems.items[0].text));
        return;
    }
    if (!api_member(c, "tool").len || (args && !tape_is(&c->body, args, TAPE_OBJECT))) {
        api_error(c, 400, "tool must be a string, arguments an object");
        return;
    }
    memory.now_ms = clock_wall_ms();
    struct policy_counters counters = policy_memory_counters(&memory);
    struct policy_facts facts = {.method = SLICE("tools/call"),
                                 .server = api_member(c, "server"),
                                 .tool = api_member(c, "tool"),
                                 .grant = api_member(c, "grant"),
                                 .traits.class = policy_class_from(api_member(c, "class")),
                                 .tape = &c->body,
                                 .args = args,
                                 .now_ms = memory.now_ms,
                                 .counters = &counters,
                                 .detector = sent_detector_alone()};
    struct policy_trace trace = {.arena = &c->arena};
    struct policy_verdict verdict;
    uint64_t retry_ms = 0;
    policy_decide(policy, &facts, &c->arena, &trace, &verdict);
    const struct policy_limit *refused = NULL;
    if (verdict.outcome != POLICY_DENY)
        refused = policy_memory_reserve(&memory, &verdict, &c->arena, &retry_ms);
    if (refused)
        policy_refuse(refused, retry_ms, &c->arena, &verdict);
    policy_trace_json(&c->e, &trace, &verdict, policy_verdict_text(policy, &verdict, &c->arena));
    api_answer(c, 200);
}
