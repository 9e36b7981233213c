/* Policies at the API: which are in force, whether a text is one, and what it would say. */
#include "admin/api.h"
#include "policy/policy.h"
#include "policy/simulate.h"
#include "server/server.h"

static void put_policy(struct emit *e, const struct policy *p, const char *server) {
    if (!p)
        return;
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, policy_name(p));
    if (server) {
        emit_key(e, "server");
        emit_cstr(e, server);
    }
    emit_key(e, "hash");
    emit_cstr(e, policy_hash(p));
    emit_key(e, "version");
    emit_str(e, policy_version(p));
    emit_key(e, "dialect");
    emit_cstr(e, policy_dialect(p) == POLICY_INTERCEPT ? "intercept" : "policylayer");
    emit_key(e, "shadow");
    emit_bool(e, policy_is_shadow(p));
    emit_key(e, "tools");
    emit_int(e, (int64_t)policy_tool_count(p));
    emit_object_end(e);
}

void api_policies(struct api_call *c) {
    const struct core *core = c->admin->core;
    emit_array(&c->e);
    put_policy(&c->e, core->policy, NULL);
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i])
            put_policy(&c->e, core->servers[i]->policy, core->servers[i]->up.name);
    emit_array_end(&c->e);
    api_answer(c, 200);
}

void api_validate(struct api_call *c) {
    struct slice text = api_member(c, "policy_text");
    if (!text.len) {
        api_error(c, 400, "policy_text is needed");
        return;
    }
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    struct policy *p = NULL;
    bool valid = policy_load(text, "policy", &p, &problems) == 0;
    if (valid)
        policy_lint(p, &problems);
    struct emit *e = &c->e;
    emit_object(e);
    emit_key(e, "valid");
    emit_bool(e, valid);
    emit_key(e, "problems");
    emit_array(e);
    for (size_t i = 0; i < problems.count; i++) {
        const struct policy_problem *one = &problems.items[i];
        emit_object(e);
        emit_key(e, "severity");
        emit_cstr(e, one->severity == POLICY_ERROR ? "error" : "warning");
        emit_key(e, "text");
        emit_str(e, one->text);
        emit_key(e, "pointer");
        emit_str(e, one->pointer);
        emit_key(e, "line");
        emit_int(e, one->line);
        emit_object_end(e);
    }
    emit_array_end(e);
    emit_object_end(e);
    api_answer(c, 200);
    policy_unref(p);
}

/* The body is what `sallyport simulate` reads, and so is the answer what it prints. */
void api_dry_run(struct api_call *c) {
    policy_simulate_line(c->request->body, NULL, &c->out);
    c->out.len -= c->out.len > 0; /* its newline */
    api_answer(c, 200);
}
