#include "code/promote.h"

#include "base/mem.h"
#include "code/execute.h"
#include "code/prelude.h"
#include "code/skill.h"
#include "policy/schema.h"

static bool is_offered(const struct code_server *s, const struct skill *skill) {
    return skill->schema.len && slice_is(skill->language, "python") && s->face->structured &&
           !code_tool_find(s, skill->name, true);
}

static bool can_run(const struct code_server *s) {
    return s->shared_skills_fd >= 0 && s->sandbox && !sandbox_why_not(s->sandbox, SANDBOX_PYTHON);
}

void promote_list(struct code_req *r, struct emit *e) {
    const struct code_server *s = r->conn->server;
    struct skill_list all = {0};
    if (can_run(s))
        skill_all(s->shared_skills_fd, &r->arena, &all);
    for (size_t i = 0; i < all.count; i++) {
        const struct skill *skill = &all.skills[i];
        if (!is_offered(s, skill))
            continue;
        emit_object(e);
        emit_key(e, "name");
        emit_str(e, skill->name);
        emit_key(e, "description");
        emit_str(e, skill->description);
        emit_key(e, "inputSchema");
        emit_raw(e, skill->schema);
        emit_object_end(e);
    }
}

static bool fits(struct code_req *r, const struct skill *skill, struct slice args) {
    struct policy_schema *schema = NULL;
    struct policy_schema_failure why = {0};
    struct err err;
    cleanup_tape struct tape t;
    tape_init(&t);
    bool ok = policy_schema_compile(skill->schema, &schema, &err) == 0 &&
              tape_parse(&t, args, NULL) == TAPE_OK &&
              policy_schema_check(schema, &t, 0, &r->arena, &why) == POLICY_SCHEMA_VALID;
    policy_schema_free(schema);
    if (!ok)
        code_reply_text(
            r,
            arena_printf(&r->arena, "Input validation error: %.*s does not satisfy the input schema of %.*s",
                         SLICE_FMT(why.pointer.len ? why.pointer : SLICE("/")), SLICE_FMT(skill->name)),
            true);
    return ok;
}

bool promote_call(struct code_req *r, struct slice name) {
    const struct code_server *s = r->conn->server;
    struct skill skill;
    if (!can_run(s) || skill_load(s->shared_skills_fd, name, 0, &r->arena, &skill) != SKILL_OK ||
        !is_offered(s, &skill))
        return false;
    if (r->inner) {
        code_reply_text(r, SLICE("code cannot run code: import the skill instead"), true);
        return true;
    }
    uint32_t node = tape_get_str(&r->tape, r->rpc.params, "arguments");
    struct slice args = node ? tape_raw(&r->tape, node) : SLICE("{}");
    if (!fits(r, &skill, args))
        return true;
    struct code_run run = {
        .language = SANDBOX_PYTHON,
        .prelude = CODE_PRELUDE_PYTHON,
        .code = arena_printf(&r->arena, "%.*s\n\nresult = main(**args)\n", SLICE_FMT(skill.code)),
        .context = arena_printf(&r->arena, "{\"args\":%.*s}", SLICE_FMT(args)),
        .timeout_ms = CODE_TIMEOUT_S * 1000,
        .memory_mb = SANDBOX_MEMORY_MB,
        .format = execute_format,
        .handle = execute_handle,
    };
    code_job_start(r, &run);
    return true;
}
