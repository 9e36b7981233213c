/* codemode-mcp: its three tools. Code calls servers by fetch to the code-mode endpoints, as in the original,
 * but over the bridge: every call is decided by policy, and there is no open port. */
#include "base/mem.h"
#include "code/code_answer.h"
#include "code/code_arg.h"
#include "code/code_reply.h"
#include "code/code_start.h"
#include "profiles/discover.h"
#include "profiles/execute.h"
#include "runner/shape.h"

#define TIMEOUT_MS 30000

static void put_failure(struct code_job *j, const struct sandbox_outcome *o, struct arena *a,
                        struct buf *out) {
    struct slice details = o->traceback.len ? o->traceback : o->err.len ? o->err : execute_error(j, o, a);
    buf_printf(out, "Code execution failed.\n\nError Details:\n%.*s\n\n",
               SLICE_FMT(shape_text(details, CODE_RESULT_MAX)));
    if (o->exit == SANDBOX_TIMEOUT)
        buf_put_str(out, "The code execution timed out after 30 seconds. Do less at once, in smaller pieces, "
                         "and look for loops "
                         "without an end.\n");
    else if (o->violation_count)
        buf_put_str(
            out,
            "Permission denied. There are no files, no environment, no programs and no network here but the "
            "code-mode endpoints.\n");
    else
        buf_printf(out, "Error: %.*s\n", SLICE_FMT(execute_error(j, o, a)));
}

static void format_run(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer) {
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    if (o->exit != SANDBOX_OK) {
        put_failure(j, o, &a, &out);
        if (o->out.len)
            buf_printf(&out, "\nOutput:\n%.*s", SLICE_FMT(shape_text(o->out, CODE_RESULT_MAX)));
        if (o->err.len)
            buf_printf(&out, "\nErrors/Warnings:\n%.*s", SLICE_FMT(shape_text(o->err, CODE_RESULT_MAX)));
        code_answer_text(answer, buf_slice(&out));
        answer->is_error = true;
        return;
    }
    /* A returned value counts like printed output. */
    bool cut, some = o->result.len && !slice_is(o->result, "null");
    if (o->out.len)
        buf_printf(&out, "Output:\n%.*s", SLICE_FMT(shape_text(o->out, CODE_RESULT_MAX)));
    if (some) {
        struct emit e;
        buf_put_str(&out, o->out.len ? "" : "Output:\n");
        emit_init(&e, &out);
        execute_result(o, &e, &cut);
        buf_put_char(&out, '\n');
    }
    code_answer_text(answer, out.len ? buf_slice(&out) : SLICE("Code executed successfully with no output."));
    if (o->err.len) {
        struct slice err = shape_text(o->err, CODE_RESULT_MAX);
        code_answer_text(answer, arena_printf(&a, "Errors/Warnings:\n%.*s", SLICE_FMT(err)));
    }
}

static void run_code(struct code_req *r) {
    struct code_run run = {
        .language = code_arg_bool(r, "typescript", true) ? SANDBOX_TYPESCRIPT : SANDBOX_JAVASCRIPT,
        .code = code_arg_text(r, "code", (struct slice){0}),
        .timeout_ms = TIMEOUT_MS,
        .memory_mb = SANDBOX_MEMORY_MB,
        .format = format_run,
        .handle = code_job_answer_text,
    };
    if (run.code.len)
        code_start_run(r, &run);
    else
        code_reply_text(r,
                        SLICE("Error: No code provided for execution.\n\nGive TypeScript or JavaScript in "
                              "the 'code' parameter."),
                        true);
}

static void check_version(struct code_req *r) {
    const struct code_server *s = r->conn->server;
    const char *name = s->sandbox ? sandbox_runtime_name(s->sandbox, SANDBOX_TYPESCRIPT) : "";
    code_reply_text(r,
                    arena_printf(&r->arena,
                                 "Deno Version Information:\n%s\n(code runs on this runtime, in a sandbox of "
                                 "the operating system)\n",
                                 *name ? name : "no runtime"),
                    false);
}

#define NOTHING "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"

static const struct code_tool codemode_tools[] = {
    {.name = "execute_code",
     .description = "Execute TypeScript/JavaScript code that can reach the other MCP servers with "
                    "fetch().\n\nEndpoints:\n- GET "
                    "http://localhost:3001/mcp/servers - the names of the servers\n- GET "
                    "http://localhost:3001/mcp/{server}/tools - "
                    "the tools of one\n- POST http://localhost:3001/mcp/call - call a tool (body: {server, "
                    "tool, args})\n\nUse it to "
                    "combine several calls, to transform data between them, for loops and conditions. "
                    "30-second timeout; no other "
                    "network, no files.",
     .input = "{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\",\"description\":\"Complete "
              "TypeScript/JavaScript "
              "code. Use fetch() for the endpoints and console.log() for "
              "output.\"},\"typescript\":{\"type\":\"boolean\","
              "\"description\":\"Whether the code is TypeScript (true) or JavaScript "
              "(false).\",\"default\":true}},\"required\":"
              "[\"code\"],\"additionalProperties\":false}",
     .run = run_code,
     .packages = true,
     .executes = true},
    {.name = "check_deno_version",
     .description = "What the code runs on.",
     .input = NOTHING,
     .run = check_version},
    {.name = "list_servers_with_tools",
     .description = "Every server with its tools and their descriptions.",
     .input = NOTHING,
     .run = discover_servers},
};

const struct code_face profile_mode = {
    .server_name = "codemode-mcp-server",
    .server_version = "1.0.0",
    .instructions = "Write code that calls other servers' tools with fetch().",
    .tools = codemode_tools,
    .tool_count = ARRAY_LEN(codemode_tools),
    .languages = 1u << SANDBOX_TYPESCRIPT | 1u << SANDBOX_JAVASCRIPT,
};
