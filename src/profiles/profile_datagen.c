/* DataGen, its tools that run code: executeCode, asyncExecuteCode, checkCodeExecStatus and related ones.
 * Tools are functions mcp_Server_tool. Its result formats are not published; these are the simplest that fit.
 */
#include "base/mem.h"
#include "code/code_answer.h"
#include "code/code_arg.h"
#include "code/code_job.h"
#include "code/code_reply.h"
#include "code/code_session.h"
#include "code/code_start.h"
#include "code/listing.h"
#include "code/prelude.h"
#include "profiles/discover.h"
#include "profiles/execute.h"
#include "profiles/promote.h"
#include "runner/shape.h"

#define TIMEOUT_S 300        /* default of a run; one in the background may take an hour */
#define STATUS_WAIT_MS 10000 /* how long a status request waits for the end of the run */

/* The requested outputs, with the names of those that are missing or have another type. */
static void put_result(const struct sandbox_outcome *o, struct emit *e) {
    bool cut;
    cleanup_tape struct tape t;
    tape_init(&t);
    const uint32_t outputs =
        tape_parse(&t, o->result, NULL) == TAPE_OK ? tape_get_str(&t, 0, "__outputs__") : 0;
    if (!outputs) {
        execute_result(o, e, &cut);
        return;
    }
    emit_raw(e, tape_raw(&t, outputs));
    static const char *const lists[] = {"missing_outputs", "mistyped_outputs"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const uint32_t names = tape_get_str(&t, 0, lists[i]);
        if (!names || !tape_is(&t, names, TAPE_ARRAY) || !tape_node(&t, names)->count)
            continue;
        emit_key(e, lists[i]);
        emit_raw(e, tape_raw(&t, names));
    }
}

static void format_run(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer) {
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    bool ok = o->exit == SANDBOX_OK;
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "success");
    emit_bool(&e, ok);
    emit_key(&e, "execution_uuid");
    emit_cstr(&e, j->id);
    emit_key(&e, "status");
    emit_cstr(&e, ok ? "completed" : "failed");
    emit_key(&e, "result");
    if (ok)
        put_result(o, &e);
    else
        emit_null(&e);
    if (!ok) {
        emit_key(&e, "error");
        emit_str(&e, execute_error(j, o, &a));
        emit_key(&e, "traceback");
        emit_str(&e, shape_text(o->traceback, CODE_RESULT_MAX));
    }
    emit_key(&e, "stdout");
    emit_str(&e, shape_text(o->out, CODE_RESULT_MAX));
    emit_key(&e, "stderr");
    emit_str(&e, shape_text(o->err, CODE_RESULT_MAX));
    emit_key(&e, "execution_time");
    emit_double(&e, (double)o->wall_us / 1e6);
    emit_object_end(&e);
    code_answer_json(answer, buf_slice(&out));
    answer->is_error = !ok;
}

static void answer_job(struct code_job *j, struct code_answer *answer) {
    /* It has four states: a run cannot be cancelled there. */
    bool pending = code_job_state(j) == CODE_JOB_PENDING;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "execution_uuid");
    emit_cstr(&e, j->id);
    emit_key(&e, "status");
    emit_cstr(&e, pending ? "pending" : "running");
    if (!pending) { /* output so far */
        emit_key(&e, "stdout");
        emit_str(&e, shape_text(buf_slice(&j->out), CODE_RESULT_MAX));
        emit_key(&e, "stderr");
        emit_str(&e, shape_text(buf_slice(&j->err), CODE_RESULT_MAX));
    }
    emit_object_end(&e);
    code_answer_json(answer, buf_slice(&out));
}

/* The variables of the code. The names in output_vars become the result. */
static struct slice read_variables(struct code_req *r) {
    const uint32_t inputs = code_arg_node(r, "input_vars"), outputs = code_arg_node(r, "output_vars"),
                   imports = code_arg_node(r, "additional_imports");
    cleanup_buf struct buf out;
    buf_init(&out, SANDBOX_CODE_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    if (inputs)
        TAPE_FOR_MEMBER(&r->tape, inputs, key) {
            emit_key_slice(&e, tape_text(&r->tape, key, &r->arena));
            emit_raw(&e, tape_raw(&r->tape, key + 1));
        }
    if (outputs && tape_node(&r->tape, outputs)->count) {
        emit_key(&e, "__outputs__");
        emit_raw(&e, tape_raw(&r->tape, outputs));
    }
    if (imports) {
        emit_key(&e, "__imports__");
        emit_raw(&e, tape_raw(&r->tape, imports));
    }
    emit_object_end(&e);
    return out.full ? (struct slice){0} : arena_dup(&r->arena, buf_slice(&out));
}

static void refuse(struct code_req *r, struct slice why) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "success");
    emit_bool(&e, false);
    emit_key(&e, "status");
    emit_cstr(&e, "failed");
    emit_key(&e, "error");
    emit_str(&e, why);
    emit_object_end(&e);
    code_reply_json(r, buf_slice(&out), true);
}

static void run_script(struct code_req *r, bool detached) {
    struct code_run run = {
        .language = SANDBOX_PYTHON,
        .prelude = CODE_PRELUDE_DATAGEN,
        .code = code_arg_text(r, "script", (struct slice){0}),
        .context = read_variables(r),
        .timeout_ms = (uint64_t)code_arg_int(r, "timeout", TIMEOUT_S) * 1000,
        .memory_mb = SANDBOX_MEMORY_MB,
        .session = code_arg_text(r, "session_id", (struct slice){0}),
        .detached = detached,
        .format = format_run,
        .handle = answer_job,
    };
    code_start_run(r, &run);
}

/* The first unknown name of the list; empty if all are known. */
static struct slice find_unknown(struct code_req *r, const char *list,
                                 const struct index_tool *(*find)(struct registry *, struct slice),
                                 struct registry *c) {
    const uint32_t names = code_arg_node(r, list);
    if (names)
        TAPE_FOR_ELEM(&r->tape, names, i) {
            struct slice name = tape_text(&r->tape, i, &r->arena);
            if (!find(c, name))
                return name;
        }
    return (struct slice){0};
}

static const struct index_tool *find_server(struct registry *c, struct slice name) {
    const struct index_tool *tool;
    size_t at = 0;
    while ((tool = index_next(c->index, NULL, &at)) && !slice_eq_nocase(tool->server, name))
        continue;
    return tool;
}

/* Reports unknown names before the run instead of during it. */
static void start_known(struct listing_wait *w, struct registry *c, bool detached) {
    struct code_req *r = container_of(w, struct code_req, tools);
    struct slice server = find_unknown(r, "mcp_server_names", find_server, c),
                 tool = find_unknown(r, "required_tools", registry_find_alias, c);
    if (server.len)
        refuse(r, arena_printf(&r->arena, "mcp_server_names: there is no server %.*s here",
                               SLICE_FMT(slice_upto(server, 128))));
    else if (tool.len)
        refuse(r,
               arena_printf(&r->arena, "required_tools: there is no tool %.*s here; searchTools finds tools",
                            SLICE_FMT(slice_upto(tool, 128))));
    else
        run_script(r, detached);
}

static void on_listing(struct listing_wait *w, struct registry *c) { start_known(w, c, false); }
static void on_listing_detached(struct listing_wait *w, struct registry *c) { start_known(w, c, true); }

static void start(struct code_req *r, bool detached) {
    const uint32_t secrets = code_arg_node(r, "required_secrets");
    struct slice session = code_arg_text(r, "session_id", (struct slice){0});
    if (secrets && tape_node(&r->tape, secrets)->count)
        refuse(
            r,
            SLICE(
                "required_secrets: code is handed no secrets here; the tools that it calls have their own"));
    else if (session.len && (!code_session_name_ok(session) || !code_session_allowed(r->owner, session)))
        refuse(r, SLICE("session_id: this one cannot be used"));
    else if (code_arg_node(r, "required_tools") || code_arg_node(r, "mcp_server_names"))
        listing_ask(&r->tools, r->conn, r->owner, detached ? on_listing_detached : on_listing);
    else
        run_script(r, detached);
}

static void execute(struct code_req *r) { start(r, false); }
static void execute_async(struct code_req *r) { start(r, true); }

static void answer_status(struct code_req *r) {
    struct code_answer answer;
    if (code_job_over(r->job)) {
        code_reply_answer(r, &r->job->answer);
        return;
    }
    code_answer_init(&answer);
    answer_job(r->job, &answer);
    code_reply_answer(r, &answer);
    code_answer_free(&answer);
}

static void check_status(struct code_req *r) {
    struct code_job *j = code_job_find(r->owner, code_arg_text(r, "execution_uuid", (struct slice){0}));
    if (j)
        code_job_wait(r, j, STATUS_WAIT_MS, answer_status);
    else
        code_reply_text(r, SLICE("Unknown execution_uuid"), true);
}

#define TEXT(about) "{\"type\":\"string\",\"description\":\"" about "\"}"
#define TEXTS(about) "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"" about "\"}"
#define THING(about) "{\"type\":\"object\",\"description\":\"" about "\"}"

/* clang-format off */
#define RUN_INPUT(max) \
    "{\"type\":\"object\",\"properties\":{" \
    "\"script\":" TEXT("Python code") "," \
    "\"name\":" TEXT("A name for this run") "," \
    "\"description\":" TEXT("What it is for") "," \
    "\"session_id\":" TEXT("Groups runs that share variables") "," \
    "\"input_vars\":" THING("Variables that the code finds") "," \
    "\"output_vars\":" THING("Variables that become the result, with their types") "," \
    "\"required_tools\":" TEXTS("Tools that it calls, as mcp_Server_tool; it is not run when one is not there") "," \
    "\"additional_imports\":" TEXTS("Packages that it imports; it is not run when one is not installed") "," \
    "\"local\":{\"type\":\"boolean\",\"description\":\"Where to run it; there is one place here\"}," \
    "\"mcp_server_names\":" TEXTS("The servers that it needs; it is not run when one is not there") "," \
    "\"timeout\":{\"type\":\"number\",\"default\":300,\"minimum\":1,\"maximum\":" max ",\"description\":\"Seconds\"}," \
    "\"required_secrets\":" TEXTS("Secrets that it needs; code gets none here") \
    "},\"required\":[\"script\"]}"

static const struct code_tool datagen_tools[] = {
    {.name = "executeCode",
     .description = "Run Python code and wait for its result: the variables that output_vars names, else `result`. Inside: tools "
                    "are functions mcp_Server_tool(...), also DatagenClient().execute_tool(alias, params).",
     .input = RUN_INPUT("300"),
     .run = execute,
     .packages = true,
     .executes = true},
    {.name = "asyncExecuteCode",
     .description = "Start Python code in the background; answers at once with an execution_uuid for checkCodeExecStatus.",
     .input = RUN_INPUT("3600"),
     .run = execute_async,
     .packages = true,
     .executes = true},
    {.name = "checkCodeExecStatus",
     .description = "The state of a background run: pending, running, completed or failed, with its result once it is over.",
     .input = "{\"type\":\"object\",\"properties\":{\"execution_uuid\":" TEXT("As asyncExecuteCode gave it") "},\"required\":[\"execution_uuid\"]}",
     .run = check_status},
    {.name = "searchTools",
     .description = "Find tools by words.",
     .input = "{\"type\":\"object\",\"properties\":{\"query\":" TEXT("What to look for") "},\"required\":[\"query\"]}",
     .run = discover_search},
    {.name = "getToolDetails",
     .description = "The whole definition of one tool.",
     .input = "{\"type\":\"object\",\"properties\":{\"tool_name\":" TEXT("Its name") "},\"required\":[\"tool_name\"]}",
     .run = discover_definition},
    {.name = "executeTool",
     .description = "Call a tool by its alias.",
     .input = "{\"type\":\"object\",\"properties\":{\"alias\":" TEXT("mcp_Server_tool") ",\"params\":" THING("Its arguments") "},\"required\":[\"alias\"]}",
     .run = discover_alias},
};
/* clang-format on */

const struct code_face profile_datagen = {
    .server_name = "datagen",
    .instructions = "Run Python code that calls tools as functions mcp_Server_tool(...).",
    .tools = datagen_tools,
    .tool_count = ARRAY_LEN(datagen_tools),
    .languages = 1u << SANDBOX_PYTHON,
    .structured = true,
    .list_more = promote_list,
    .call_more = promote_call,
};
