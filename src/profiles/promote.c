#include "profiles/promote.h"

#include "base/mem.h"
#include "code/code_reply.h"
#include "code/code_start.h"
#include "code/code_tool.h"
#include "code/prelude.h"
#include "code/skill.h"
#include "policy/schema.h"
#include "profiles/execute.h"

/* The runtime calls a default export without arguments, unless it is removed. */
#define CALL_MAIN                                                                                            \
    "const skill_main = typeof main === \"function\" ? main : __exports.default;\n"                          \
    "delete __exports.default;\n"                                                                            \
    "return await skill_main(skill_arguments);"

/* Code that calls the skill's function after its code has run. */
static const struct {
    const char *call;
    uint32_t prelude;
} ways[] = {
    [SANDBOX_PYTHON] = {"result = main(**skill_arguments)", CODE_PRELUDE_PYTHON},
    [SANDBOX_JAVASCRIPT] = {CALL_MAIN, 0},
    [SANDBOX_TYPESCRIPT] = {CALL_MAIN, 0},
};

static bool is_offered(const struct code_server *s, const struct skill *skill,
                       enum sandbox_language *ret_language) {
    return skill->schema.len && s->face->structured && !code_tool_find(s, skill->name, true) &&
           execute_language(skill->language, ret_language) && *ret_language < ARRAY_LEN(ways) &&
           !sandbox_why_not(s->sandbox, *ret_language);
}

static bool can_run(const struct code_server *s) { return s->shared_skills_fd >= 0 && s->sandbox; }

void promote_list(struct code_req *r, struct emit *e) {
    const struct code_server *s = r->conn->server;
    struct skill_list all = {0};
    if (can_run(s))
        skill_all(s->shared_skills_fd, &r->arena, &all);
    for (size_t i = 0; i < all.count; i++) {
        const struct skill *skill = &all.skills[i];
        enum sandbox_language language;
        if (!is_offered(s, skill, &language))
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
    enum sandbox_language language;
    if (!can_run(s) || skill_load(s->shared_skills_fd, name, 0, &r->arena, &skill) != SKILL_OK ||
        !is_offered(s, &skill, &language))
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
        .language = language,
        .prelude = ways[language].prelude,
        .code = arena_printf(&r->arena, "%.*s\n\n%s\n", SLICE_FMT(skill.code), ways[language].call),
        .context = arena_printf(&r->arena, "{\"skill_arguments\":%.*s}", SLICE_FMT(args)),
        .timeout_ms = CODE_TIMEOUT_S * 1000,
        .memory_mb = SANDBOX_MEMORY_MB,
        .format = execute_format,
        .handle = execute_handle,
    };
    code_start_run(r, &run);
    return true;
}
