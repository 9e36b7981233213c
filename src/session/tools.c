#include "session/tools.h"

#include "base/mem.h"
#include "session/call.h"

#include <stdio.h>

#define TOOLS_FRESH_MS 300000
#define TOOLS_MAX 20000
#define TOOLS_PAGES_MAX 200

struct tool {
    struct mirror_param *params;
    size_t count;
};

void tools_init(struct session_tools *t) {
    *t = (struct session_tools){0};
    arena_init(&t->arena);
    map_init(&t->by_name);
}

void tools_free(struct session_tools *t) {
    map_free(&t->by_name);
    arena_free(&t->arena);
    t->loaded = false;
}

static struct session_tools *table_of(struct session_core *core, const struct up_server *server) {
    return &core->tools[server - core->servers];
}

void tools_forget(struct up_server *server, struct session_core *core) { tools_free(table_of(core, server)); }

/* ---- asking ---- */

static void fetch(struct session_link *sl, struct slice cursor_raw);

static void learn_page(struct session_tools *table, const struct msg *m) {
    uint32_t list = tape_get_str(&m->tape, m->rpc.body, "tools");
    if (!list || !tape_is(&m->tape, list, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(&m->tape, list, i) {
        uint32_t name = tape_get_str(&m->tape, i, "name");
        if (!name || !tape_is(&m->tape, name, TAPE_STRING) || table->by_name.count >= TOOLS_MAX)
            continue;
        struct mirror_param *params;
        size_t count;
        /* A tool whose marks break the rules has no headers that could be right. */
        if (!mirror_params(&m->tape, tape_get_str(&m->tape, i, "inputSchema"), &table->arena, &params, &count) || !count)
            continue;
        struct tool *tool = arena_new(&table->arena, struct tool);
        *tool = (struct tool){params, count};
        map_put(&table->by_name, arena_dup(&table->arena, tape_text(&m->tape, name, &table->arena)), tool);
    }
}

static void fetched(struct session_link *sl) {
    struct session_tools *table = table_of(sl->session->core, sl->server);
    table->loaded = true;
    table->loaded_ms = io_now_ms(sl->session->core->up.loop);
    arena_free(&sl->tools_page);
    session_wake(sl);
}

static void on_page(struct session_own *own, struct msg *m) {
    struct session_link *sl = container_of(own, struct session_link, tools_own);
    struct session_tools *table = table_of(sl->session->core, sl->server);
    uint32_t next = m->rpc.kind == RPC_RESULT ? tape_get_str(&m->tape, m->rpc.body, "nextCursor") : 0;
    if (m->rpc.kind == RPC_RESULT)
        learn_page(table, m);
    struct slice cursor = next && tape_is(&m->tape, next, TAPE_STRING) ? tape_raw(&m->tape, next) : (struct slice){0};
    if (cursor.len && ++sl->tools_pages < TOOLS_PAGES_MAX)
        fetch(sl, cursor);
    else
        fetched(sl);
}

/* A server that cannot list its tools has no marks we could know of. */
static void on_page_failed(struct session_own *own, const char *why) {
    (void)why;
    fetched(container_of(own, struct session_link, tools_own));
}

static void fetch(struct session_link *sl, struct slice cursor_raw) {
    sl->tools_own = (struct session_own){SESSION_OWN_MAGIC, on_page, on_page_failed};
    if (!link_begin(sl->link, &sl->tools_req, &sl->tools_own)) {
        fetched(sl);
        return;
    }
    struct slice text = arena_printf(
        &sl->tools_page,
        "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"tools/list\",\"params\":{%s%.*s%s\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"sallyport\",\"version\":\"" SALLYPORT_VERSION "\"},"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
        (unsigned long long)sl->tools_req.id, cursor_raw.len ? "\"cursor\":" : "", SLICE_FMT(cursor_raw),
        cursor_raw.len ? "," : "");
    session_send_own(sl, text, SLICE("tools/list"), true, &sl->tools_req);
}

bool tools_ready(struct session_link *sl, struct call *call) {
    struct session_tools *table = table_of(sl->session->core, sl->server);
    uint64_t now = io_now_ms(sl->session->core->up.loop);
    if (table->loaded && now - table->loaded_ms < TOOLS_FRESH_MS)
        return true;
    session_wait(sl, call);
    if (!sl->tools_req.id) {
        tools_free(table);
        sl->tools_pages = 0;
        fetch(sl, (struct slice){0});
    }
    return false;
}

/* ---- using ---- */

static const struct tool *tool_of(struct session_link *sl, struct call *call) {
    return map_get(&table_of(sl->session->core, sl->server)->by_name, call->name);
}

struct slice tools_header_lines(struct session_link *sl, struct call *call) {
    const struct tool *tool = tool_of(sl, call);
    struct buf lines;
    buf_init(&lines, HTTP_HEAD_MAX / 2);
    for (size_t i = 0; tool && i < tool->count; i++) {
        size_t before = lines.len;
        buf_put_str(&lines, "Mcp-Param-");
        buf_put_slice(&lines, tool->params[i].header);
        buf_put_str(&lines, ": ");
        if (mirror_value(&call->request->tape, call->args, &tool->params[i], &call->arena, &lines))
            buf_put_str(&lines, "\r\n");
        else
            lines.len = before;
    }
    struct slice kept = arena_dup(&call->arena, buf_slice(&lines));
    buf_free(&lines);
    return kept;
}

/* The value of that Mcp-Param header among complete lines; ptr NULL when it is not there. */
static struct slice find_line(struct slice lines, struct slice name) {
    const struct slice prefix = SLICE("Mcp-Param-");
    struct slice line;
    while (lines.len && slice_cut(&lines, '\n', &line)) {
        struct slice key;
        slice_cut(&line, ':', &key);
        if (key.len == prefix.len + name.len && slice_eq_nocase(slice_from(key, prefix.len), name))
            return slice_trim(line);
    }
    return (struct slice){0};
}

bool tools_headers_agree(struct session_link *sl, struct call *call) {
    const struct tool *tool = tool_of(sl, call);
    for (size_t i = 0; tool && i < tool->count; i++) {
        const struct mirror_param *p = &tool->params[i];
        struct slice value = find_line(call->extra_headers, p->header);
        if (!mirror_agrees(&call->request->tape, call->args, p, value, &call->arena))
            return false;
    }
    return true;
}
