#include "code/toolcall.h"

#include "base/mem.h"
#include "code/fault.h"
#include "code/journal.h"
#include "code/listing.h"
#include "code/sdk.h"
#include "code/unwrap.h"

#define DENIAL "sallyport/denial"

enum toolcall_kind {
    TOOLCALL_TOOL,    /* the value of its response */
    TOOLCALL_RAW,     /* its complete response: the code-mode endpoint */
    TOOLCALL_SERVERS, /* the names of the servers */
    TOOLCALL_TOOLS,   /* the tools of one server */
    TOOLCALL_NAMED,   /* resolves mcp_Server_tool */
};

struct toolcall {
    struct list node;
    struct toolcalls *calls;
    uint32_t id;
    enum toolcall_kind kind;
    struct arena arena;
    struct slice server, tool, args;
    struct code_inner inner;
    struct listing_wait tools;
    struct slice failed;         /* the response to a first attempt under an unknown name */
    struct journal_entry *entry; /* of a call during the run; NULL: none */
};

static struct toolcall *toolcall_new(struct toolcalls *c, uint32_t id, enum toolcall_kind kind) {
    struct toolcall *b = mem_zalloc(sizeof(*b));
    arena_init(&b->arena);
    b->calls = c;
    b->id = id;
    b->kind = kind;
    list_push(&c->open, &b->node);
    return b;
}

static void toolcall_free(struct toolcall *b) {
    listing_leave(&b->tools);
    list_remove(&b->node);
    arena_free(&b->arena);
    free(b);
}

static void drop(struct toolcall *b) {
    struct toolcalls *calls = b->calls;
    struct code_conn *conn = calls->conn;
    const bool sent = !b->inner.handle || !conn || conn->ops->drop_tool(conn->owner, &b->inner);
    if (!sent && b->entry && calls->journal)
        journal_forget(b->entry); /* it was held: the next run can make it */
    calls->held |= !sent;
    toolcall_free(b);
}

/* The response for the runtime's fetch: {"status":...,"body":...}. */
static void respond(struct toolcall *b, int status, struct slice body) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_INNER_RESULT_MAX + 64);
    buf_printf(&out, "{\"status\":%d,\"body\":%.*s}", status, SLICE_FMT(body));
    if (out.full)
        sandbox_answer_error(b->calls->sandbox, b->id, SLICE("the answer is too large"));
    else
        sandbox_answer(b->calls->sandbox, b->id, buf_slice(&out));
    toolcall_free(b);
}

static void respond_error(struct toolcall *b, int status, struct slice why) {
    cleanup_buf struct buf body;
    buf_init(&body, CODE_TEXT_RESULT_MAX * 6);
    buf_put_str(&body, "{\"error\":");
    emit_quote(&body, slice_upto(why, CODE_TEXT_RESULT_MAX / 2));
    buf_put_char(&body, '}');
    respond(b, status, buf_slice(&body));
}

static void fail(struct toolcall *b, struct slice why) {
    if (b->kind != TOOLCALL_TOOL && b->kind != TOOLCALL_NAMED) {
        respond_error(b, b->kind == TOOLCALL_TOOLS ? 404 : 500, why);
        return;
    }
    sandbox_answer_error(b->calls->sandbox, b->id, slice_upto(why, CODE_TEXT_RESULT_MAX));
    toolcall_free(b);
}

static void answer(struct toolcall *b, struct slice json) {
    if (b->kind != TOOLCALL_TOOL && b->kind != TOOLCALL_NAMED) {
        respond(b, 200, json);
        return;
    }
    sandbox_answer(b->calls->sandbox, b->id, json);
    toolcall_free(b);
}

/* ---- lists of tools ---- */

static void answer_servers(struct toolcall *b, struct registry *c) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_INNER_RESULT_MAX);
    struct map seen;
    map_init(&seen);
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    const struct index_tool *tool;
    size_t at = 0;
    while ((tool = index_next(c->index, NULL, &at)))
        if (!map_put(&seen, tool->server, b))
            emit_str(&e, tool->server);
    emit_array_end(&e);
    map_free(&seen);
    answer(b, buf_slice(&out));
}

static void answer_tools(struct toolcall *b, struct registry *c) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_INNER_RESULT_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "tools");
    emit_array(&e);
    const struct index_tool *tool;
    bool known = false;
    size_t at = 0;
    while ((tool = index_next(c->index, NULL, &at))) {
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

static void call_now(struct toolcall *b);
static void fail_call(struct toolcall *b, struct slice answered);

static void find_named(struct toolcall *b, struct registry *c) {
    const struct index_tool *tool = registry_find_alias(c, b->tool);
    if (!tool) {
        fail_call(b, arena_printf(&b->arena, "Unknown tool: %.*s", SLICE_FMT(slice_upto(b->tool, 128))));
        return;
    }
    b->server = arena_dup(&b->arena, tool->server);
    b->tool = arena_dup(&b->arena, tool->name);
    b->kind = TOOLCALL_TOOL;
    call_now(b);
}

static void on_list(struct listing_wait *w, struct registry *c) {
    struct toolcall *b = container_of(w, struct toolcall, tools);
    if (b->kind == TOOLCALL_SERVERS)
        answer_servers(b, c);
    else if (b->kind == TOOLCALL_TOOLS)
        answer_tools(b, c);
    else
        find_named(b, c);
}

static void list_now(struct toolcall *b) { listing_ask(&b->tools, b->calls->conn, b->calls->owner, on_list); }

/* ---- calls ---- */

/* The error that code catches. */
static void fail_call(struct toolcall *b, struct slice answered) {
    struct toolcalls *calls = b->calls;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    if (b->kind == TOOLCALL_RAW) {
        const int status = fault_write_http(answered, &out);
        respond(b, status, out.full ? SLICE("{\"error\":\"the call failed\"}") : buf_slice(&out));
        return;
    }
    fault_write(b->server, b->tool, answered, &out);
    sandbox_answer_fault(calls->sandbox, b->id,
                         out.full ? SLICE("{\"message\":\"the call failed\"}") : buf_slice(&out));
    toolcall_free(b);
}

static void note_approval(struct toolcall *b, struct slice answered) {
    struct toolcalls *calls = b->calls;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    fault_write(b->server, b->tool, answered, &out);
    if (!calls->approval.len && !out.full)
        calls->approval = arena_dup(calls->arena, buf_slice(&out));
}

/* tools.my_server.a_tool refers to a tool whose own names are not identifiers. */
static bool resolve_name(struct toolcall *b, struct registry *c) {
    const struct index_tool *tool = sdk_find(c, b->server, b->tool);
    if (!tool || (slice_eq(tool->server, b->server) && slice_eq(tool->name, b->tool)))
        return false;
    b->server = arena_dup(&b->arena, tool->server);
    b->tool = arena_dup(&b->arena, tool->name);
    return true;
}

static void on_second_look(struct listing_wait *w, struct registry *c) {
    struct toolcall *b = container_of(w, struct toolcall, tools);
    if (resolve_name(b, c))
        call_now(b);
    else
        fail_call(b, b->failed);
}

static void note_answer(struct toolcall *b, bool made, struct slice text) {
    struct journal *journal = b->calls->journal;
    struct journal_entry *entry = steal(b->entry);
    if (entry && journal && made)
        journal_answer(journal, entry, text);
    else if (entry && journal)
        journal_forget(entry);
}

static void on_answer(struct code_inner *inner, bool ok, struct slice text) {
    struct toolcall *b = container_of(inner, struct toolcall, inner);
    struct toolcalls *calls = b->calls;
    struct slice value = text;
    bool judged = ok && memmem(text.ptr, text.len, DENIAL, sizeof(DENIAL) - 1);
    note_answer(b, ok && !judged, text);
    if (!ok && fault_needs_approval(text))
        note_approval(b, text);
    if (ok && b->kind == TOOLCALL_RAW) {
        answer(b, text);
    } else if (ok && unwrap_result(text, &b->arena, &value)) {
        sdk_learn(calls->owner, b->server, b->tool, value);
        answer(b, value);
    } else if (ok && text.len > CODE_INNER_RESULT_MAX) {
        fail_call(b, value);
    } else if (!judged && !b->failed.len && !listing_known(calls->owner) && !calls->approval.len) {
        /* The tools have not been listed yet: the name may be that of a file. */
        b->failed = arena_dup(&b->arena, text);
        listing_ask(&b->tools, calls->conn, calls->owner, on_second_look);
    } else {
        fail_call(b, text);
    }
}

static void call_now(struct toolcall *b) {
    struct toolcalls *calls = b->calls;
    struct registry *known = listing_known(calls->owner);
    struct slice before;
    b->inner.done = on_answer;
    if (known)
        resolve_name(b, known);
    const enum journal_found found =
        calls->journal ? journal_replay(calls->journal, b->server, b->tool, b->args, &before) : JOURNAL_NEW;
    if (found == JOURNAL_ANSWERED) {
        on_answer(&b->inner, true, before);
    } else if (found == JOURNAL_UNKNOWN) {
        fail_call(
            b, SLICE("this call was under way when an earlier run of the same code ended, or its answer was "
                     "too large to keep; it is not made again: check its effect, and change the code"));
    } else {
        b->entry = calls->journal ? journal_begin(calls->journal, b->server, b->tool, b->args) : NULL;
        calls->conn->ops->call_tool(calls->conn->owner, b->server, b->tool, b->args, calls->record,
                                    &b->inner);
    }
}

/* ---- the code-mode endpoints, requested by the runtime's fetch: {"method","path","body"} ---- */

static void fetch_call(struct toolcall *b, struct slice body) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, body, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT)) {
        respond_error(b, 400, SLICE("the body is not a JSON object"));
        return;
    }
    uint32_t inner = tape_get_str(&t, 0, "args");
    b->kind = TOOLCALL_RAW;
    b->server = arena_dup(&b->arena, tape_text_of(&t, 0, "server", &b->arena));
    b->tool = arena_dup(&b->arena, tape_text_of(&t, 0, "tool", &b->arena));
    b->args =
        inner && tape_is(&t, inner, TAPE_OBJECT) ? arena_dup(&b->arena, tape_raw(&t, inner)) : SLICE("{}");
    call_now(b);
}

static void fetch(struct toolcalls *c, uint32_t id, struct slice args) {
    static const struct slice head = SLICE("/mcp/"), tail = SLICE("/tools");
    struct toolcall *b = toolcall_new(c, id, TOOLCALL_SERVERS);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, args, NULL) != TAPE_OK) {
        respond_error(b, 400, SLICE("Bad request"));
        return;
    }
    struct slice path = tape_text_of(&t, 0, "path", &b->arena);
    bool get = slice_is(tape_text_of(&t, 0, "method", &b->arena), "GET");
    bool tools = slice_starts(path, head) && slice_ends(path, tail) && path.len > head.len + tail.len;
    if (slice_is(path, "/mcp/call") && !get) {
        fetch_call(b, tape_text_of(&t, 0, "body", &b->arena));
    } else if (slice_is(path, "/mcp/servers") && get) {
        list_now(b);
    } else if (tools && get) {
        b->kind = TOOLCALL_TOOLS;
        b->server = arena_dup(&b->arena, slice_of(path.ptr + head.len, path.len - head.len - tail.len));
        list_now(b);
    } else {
        respond_error(b, 404, SLICE("Not found"));
    }
}

void toolcall_start(struct toolcalls *c, uint32_t id, struct slice server, struct slice tool,
                    struct slice args) {
    if (!c->conn) {
        sandbox_answer_error(c->sandbox, id, SLICE("the client that started this run has disconnected"));
        return;
    }
    if (!server.len && slice_is(tool, "fetch")) {
        fetch(c, id, args);
        return;
    }
    bool named = !server.len && slice_starts(tool, SLICE("mcp_"));
    struct toolcall *b = toolcall_new(c, id, named ? TOOLCALL_NAMED : TOOLCALL_TOOL);
    b->server = server.len ? arena_dup(&b->arena, server) : slice_str(c->owner->server->config.name);
    b->tool = arena_dup(&b->arena, tool);
    b->args = arena_dup(&b->arena, args);
    if (named)
        list_now(b);
    else
        call_now(b);
}

void toolcall_drop(struct toolcalls *c, uint32_t id) {
    LIST_FOR (n, &c->open) {
        struct toolcall *b = container_of(n, struct toolcall, node);
        if (b->id == id) {
            drop(b);
            return;
        }
    }
}

void toolcall_drop_all(struct toolcalls *c) {
    while (!list_empty(&c->open))
        drop(container_of(c->open.next, struct toolcall, node));
}

void toolcall_fail_all(struct toolcalls *c) {
    while (!list_empty(&c->open)) {
        struct toolcall *b = container_of(c->open.next, struct toolcall, node);
        sandbox_answer_error(c->sandbox, b->id, SLICE("the client that started this run has disconnected"));
        drop(b);
    }
}
