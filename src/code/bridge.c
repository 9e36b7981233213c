#include "code/bridge.h"

#include "base/mem.h"
#include "code/fault.h"
#include "code/journal.h"
#include "code/sdk.h"

#define DENIAL "sallyport/denial"

enum bridge_kind {
    BRIDGE_TOOL,    /* the value of its answer */
    BRIDGE_RAW,     /* its whole answer: the code-mode endpoint */
    BRIDGE_SERVERS, /* the names of the servers */
    BRIDGE_TOOLS,   /* the tools of one server */
    BRIDGE_NAMED,   /* mcp_Server_tool: which one is that? */
};

struct bridge {
    struct list node;
    struct code_job *job;
    uint32_t id;
    enum bridge_kind kind;
    struct arena arena;
    struct slice server, tool, args;
    struct code_inner inner;
    struct catalogue_wait tools;
    struct slice failed; /* the answer to a first try under a name that nobody knows */
    bool replayed;       /* its answer is that of an earlier run */
};

static struct bridge *bridge_new(struct code_job *j, uint32_t id, enum bridge_kind kind) {
    struct bridge *b = mem_zalloc(sizeof(*b));
    arena_init(&b->arena);
    b->job = j;
    b->id = id;
    b->kind = kind;
    list_push(&j->calls, &b->node);
    return b;
}

static void bridge_free(struct bridge *b) {
    catalogue_leave(&b->tools);
    list_remove(&b->node);
    arena_free(&b->arena);
    free(b);
}

static void drop(struct bridge *b) {
    struct code_conn *conn = b->job->conn;
    if (b->inner.handle && conn)
        conn->ops->drop_tool(conn->owner, &b->inner);
    bridge_free(b);
}

/* What the runtime's fetch gets: {"status":...,"body":...}. */
static void respond(struct bridge *b, int status, struct slice body) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_INNER_RESULT_MAX + 64);
    buf_printf(&out, "{\"status\":%d,\"body\":%.*s}", status, SLICE_FMT(body));
    if (out.full)
        sandbox_answer_error(b->job->sandbox, b->id, SLICE("the answer is too large"));
    else
        sandbox_answer(b->job->sandbox, b->id, buf_slice(&out));
    bridge_free(b);
}

static void respond_error(struct bridge *b, int status, struct slice why) {
    cleanup_buf struct buf body;
    buf_init(&body, CODE_TEXT_RESULT_MAX * 6);
    buf_put_str(&body, "{\"error\":");
    emit_quote(&body, slice_upto(why, CODE_TEXT_RESULT_MAX / 2));
    buf_put_char(&body, '}');
    respond(b, status, buf_slice(&body));
}

static void fail(struct bridge *b, struct slice why) {
    if (b->kind != BRIDGE_TOOL && b->kind != BRIDGE_NAMED) {
        respond_error(b, b->kind == BRIDGE_TOOLS ? 404 : 500, why);
        return;
    }
    sandbox_answer_error(b->job->sandbox, b->id, slice_upto(why, CODE_TEXT_RESULT_MAX));
    bridge_free(b);
}

static void answer(struct bridge *b, struct slice json) {
    if (b->kind != BRIDGE_TOOL && b->kind != BRIDGE_NAMED) {
        respond(b, 200, json);
        return;
    }
    sandbox_answer(b->job->sandbox, b->id, json);
    bridge_free(b);
}

/* ---- lists of tools ---- */

static struct slice member(const struct tape *t, uint32_t obj, const char *key, struct arena *a) {
    uint32_t node = tape_is(t, obj, TAPE_OBJECT) ? tape_get_str(t, obj, key) : 0;
    return node && tape_is(t, node, TAPE_STRING) ? tape_text(t, node, a) : (struct slice){0};
}

static void answer_servers(struct bridge *b, struct catalogue *c) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_INNER_RESULT_MAX);
    struct map seen;
    map_init(&seen);
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    const struct code_indexed *tool;
    size_t at = 0;
    while ((tool = code_index_next(c->index, NULL, &at)))
        if (!map_put(&seen, tool->server, b))
            emit_str(&e, tool->server);
    emit_array_end(&e);
    map_free(&seen);
    answer(b, buf_slice(&out));
}

static void answer_tools(struct bridge *b, struct catalogue *c) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_INNER_RESULT_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "tools");
    emit_array(&e);
    const struct code_indexed *tool;
    bool known = false;
    size_t at = 0;
    while ((tool = code_index_next(c->index, NULL, &at))) {
        if (!slice_eq(tool->server, b->server))
            continue;
        emit_raw(&e, tool->definition);
        known = true;
    }
    emit_array_end(&e);
    emit_object_end(&e);
    if (known && !out.full)
        answer(b, buf_slice(&out));
    else
        fail(b, SLICE("Not found"));
}

static void call_now(struct bridge *b);
static void fail_call(struct bridge *b, struct slice answered);

static void find_named(struct bridge *b, struct catalogue *c) {
    const struct code_indexed *tool = catalogue_find_alias(c, b->tool);
    if (!tool) {
        fail_call(b, arena_printf(&b->arena, "Unknown tool: %.*s", SLICE_FMT(slice_upto(b->tool, 128))));
        return;
    }
    b->server = arena_dup(&b->arena, tool->server);
    b->tool = arena_dup(&b->arena, tool->name);
    b->kind = BRIDGE_TOOL;
    call_now(b);
}

static void on_list(struct catalogue_wait *w, struct catalogue *c) {
    struct bridge *b = container_of(w, struct bridge, tools);
    if (b->kind == BRIDGE_SERVERS)
        answer_servers(b, c);
    else if (b->kind == BRIDGE_TOOLS)
        answer_tools(b, c);
    else
        find_named(b, c);
}

static void list_now(struct bridge *b) { catalogue_ask(&b->tools, b->job->conn, b->job->owner, on_list); }

/* ---- calls ---- */

/* What code catches. */
static void fail_call(struct bridge *b, struct slice answered) {
    struct code_job *j = b->job;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    if (b->kind == BRIDGE_RAW) {
        const int status = fault_write_http(answered, &out);
        respond(b, status, out.full ? SLICE("{\"error\":\"the call failed\"}") : buf_slice(&out));
        return;
    }
    fault_write(b->server, b->tool, answered, &out);
    sandbox_answer_fault(j->sandbox, b->id,
                         out.full ? SLICE("{\"message\":\"the call failed\"}") : buf_slice(&out));
    bridge_free(b);
}

static void note_approval(struct bridge *b, struct slice answered) {
    struct code_job *j = b->job;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    fault_write(b->server, b->tool, answered, &out);
    if (!j->approval.len && !out.full)
        j->approval = arena_dup(&j->arena, buf_slice(&out));
}

/* tools.my_server.a_tool stands for a tool whose own names are no identifiers. */
static bool know_better(struct bridge *b, struct catalogue *c) {
    const struct code_indexed *tool = sdk_find(c, b->server, b->tool);
    if (!tool || (slice_eq(tool->server, b->server) && slice_eq(tool->name, b->tool)))
        return false;
    b->server = arena_dup(&b->arena, tool->server);
    b->tool = arena_dup(&b->arena, tool->name);
    return true;
}

static void on_second_look(struct catalogue_wait *w, struct catalogue *c) {
    struct bridge *b = container_of(w, struct bridge, tools);
    if (know_better(b, c))
        call_now(b);
    else
        fail_call(b, b->failed);
}

static void on_answer(struct code_inner *inner, bool ok, struct slice text) {
    struct bridge *b = container_of(inner, struct bridge, inner);
    struct code_job *j = b->job;
    struct slice value = text;
    bool judged = ok && memmem(text.ptr, text.len, DENIAL, sizeof(DENIAL) - 1);
    if (ok && !judged && j->journal && !b->replayed)
        journal_note(j->journal, b->server, b->tool, b->args, text);
    if (!ok && fault_needs_approval(text))
        note_approval(b, text);
    if (ok && b->kind == BRIDGE_RAW) {
        answer(b, text);
    } else if (ok && code_unwrap(text, &b->arena, &value)) {
        sdk_learn(j->owner, b->server, b->tool, value);
        answer(b, value);
    } else if (ok && text.len > CODE_INNER_RESULT_MAX) {
        fail_call(b, value);
    } else if (!judged && !b->failed.len && !catalogue_known(j->owner) && !j->approval.len) {
        /* Nobody has looked yet what there is: perhaps the name is that of a file. */
        b->failed = arena_dup(&b->arena, text);
        catalogue_ask(&b->tools, j->conn, j->owner, on_second_look);
    } else {
        fail_call(b, text);
    }
}

static void call_now(struct bridge *b) {
    struct code_job *j = b->job;
    struct catalogue *known = catalogue_known(j->owner);
    struct slice before;
    b->inner.done = on_answer;
    if (known)
        know_better(b, known);
    b->replayed = j->journal && journal_replay(j->journal, b->server, b->tool, b->args, &before);
    if (b->replayed)
        on_answer(&b->inner, true, before);
    else
        j->conn->ops->call_tool(j->conn->owner, b->server, b->tool, b->args, j->record, &b->inner);
}

/* ---- the code-mode endpoints, as the runtime's fetch asks for them: {"method","path","body"} ---- */

static void fetch_call(struct bridge *b, struct slice body) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, body, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT)) {
        respond_error(b, 400, SLICE("the body is not a JSON object"));
        return;
    }
    uint32_t inner = tape_get_str(&t, 0, "args");
    b->kind = BRIDGE_RAW;
    b->server = arena_dup(&b->arena, member(&t, 0, "server", &b->arena));
    b->tool = arena_dup(&b->arena, member(&t, 0, "tool", &b->arena));
    b->args =
        inner && tape_is(&t, inner, TAPE_OBJECT) ? arena_dup(&b->arena, tape_raw(&t, inner)) : SLICE("{}");
    call_now(b);
}

static void fetch(struct code_job *j, uint32_t id, struct slice args) {
    static const struct slice head = SLICE("/mcp/"), tail = SLICE("/tools");
    struct bridge *b = bridge_new(j, id, BRIDGE_SERVERS);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, args, NULL) != TAPE_OK) {
        respond_error(b, 400, SLICE("Bad request"));
        return;
    }
    struct slice path = member(&t, 0, "path", &b->arena);
    bool get = slice_is(member(&t, 0, "method", &b->arena), "GET");
    bool tools = slice_starts(path, head) && slice_ends(path, tail) && path.len > head.len + tail.len;
    if (slice_is(path, "/mcp/call") && !get) {
        fetch_call(b, member(&t, 0, "body", &b->arena));
    } else if (slice_is(path, "/mcp/servers") && get) {
        list_now(b);
    } else if (tools && get) {
        b->kind = BRIDGE_TOOLS;
        b->server = arena_dup(&b->arena, slice_of(path.ptr + head.len, path.len - head.len - tail.len));
        list_now(b);
    } else {
        respond_error(b, 404, SLICE("Not found"));
    }
}

void bridge_call(struct code_job *j, uint32_t id, struct slice server, struct slice tool, struct slice args) {
    if (!j->conn) {
        sandbox_answer_error(j->sandbox, id, SLICE("the client that started this run is gone"));
        return;
    }
    if (!server.len && slice_is(tool, "fetch")) {
        fetch(j, id, args);
        return;
    }
    bool named = !server.len && slice_starts(tool, SLICE("mcp_"));
    struct bridge *b = bridge_new(j, id, named ? BRIDGE_NAMED : BRIDGE_TOOL);
    b->server = server.len ? arena_dup(&b->arena, server) : slice_str(j->owner->server->config.name);
    b->tool = arena_dup(&b->arena, tool);
    b->args = arena_dup(&b->arena, args);
    if (named)
        list_now(b);
    else
        call_now(b);
}

void bridge_gone(struct code_job *j, uint32_t id) {
    LIST_FOR (n, &j->calls) {
        struct bridge *b = container_of(n, struct bridge, node);
        if (b->id == id) {
            drop(b);
            return;
        }
    }
}

void bridge_drop_all(struct code_job *j) {
    while (!list_empty(&j->calls))
        drop(container_of(j->calls.next, struct bridge, node));
}

void bridge_detach(struct code_job *j) {
    while (!list_empty(&j->calls)) {
        struct bridge *b = container_of(j->calls.next, struct bridge, node);
        sandbox_answer_error(j->sandbox, b->id, SLICE("the client that started this run is gone"));
        drop(b);
    }
}
