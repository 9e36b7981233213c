#include "channel/tools.h"

#include "base/mem.h"
#include "base/sha.h"
#include "call/call.h"
#include "channel/channel.h"
#include "channel/outbox.h"
#include "guard/guard.h"
#include "policy/schema.h"
#include "risk/fingerprint.h"
#include "risk/lockfile.h"

#include <stdio.h>
#include <stdlib.h>

#define TOOLS_FRESH_MS 300000
#define TOOLS_RETRY_MS 1000 /* delay after a list that could not be read */
#define TOOLS_PAGE_MS 30000 /* time-out of one page */
#define TOOLS_MAX 20000
#define TOOLS_PAGES_MAX 200
#define TOOLS_RAW_MAX (64u << 10) /* bytes of one definition that are kept to be shown */
#define TOOLS_AGAIN_MAX 4         /* repeats for a list that changes while it is read */
#define TOOLS_STORE_MS 10         /* interval of checks whether a first use is stored */

/* ---- requesting ---- */

static void fetch(struct channel *ch, struct slice cursor_raw);
static bool await_store(struct channel *ch);

/* Does the schema of results name a format that tokens can keep? */
static bool names_format(const struct tape *t, uint32_t schema) {
    static const char *const formats[] = {"email",         "idn-email", "uri",  "iri",
                                          "uri-reference", "ipv4",      "ipv6", "date"};
    for (uint32_t i = schema; i && i + 1 < tape_node(t, schema)->next; i++) {
        if (!tape_is(t, i, TAPE_STRING) || !tape_eq(t, i, SLICE("format")) || !tape_is(t, i + 1, TAPE_STRING))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(formats); k++)
            if (tape_eq(t, i + 1, slice_str(formats[k])))
                return true;
    }
    return false;
}

static void learn_tool(struct guard_page *p, struct tool_table *table, uint32_t def) {
    const struct tape *t = p->t;
    if (!tape_is(t, def, TAPE_OBJECT))
        return;
    uint32_t name = tape_get_str(t, def, "name");
    uint32_t schema = tape_get_str(t, def, "inputSchema");
    if (!name || !tape_is(t, name, TAPE_STRING) || table->by_name.count >= TOOLS_MAX)
        return;
    struct slice key = arena_dup(&table->arena, tape_text(t, name, &p->scratch));
    struct tool *known = map_get(&table->by_name, key);
    if (known && known->serial == table->serial)
        return; /* of two tools with one name, the first counts */
    if (known)
        policy_schema_free(known->schema);
    struct tool *tool = arena_new(&table->arena, struct tool);
    table->has_apps |=
        tape_path(t, def, "_meta", "ui", NULL) || tape_path(t, def, "_meta", "ui/resourceUri", NULL);
    /* A tool with invalid header annotations gets no headers. */
    tool->bad_marks = !mirror_params(t, schema, &table->arena, &tool->params, &tool->param_count);
    if (tool->bad_marks)
        tool->param_count = 0;
    uint32_t tasks = tape_path(t, def, "execution", "taskSupport", NULL);
    tool->task_required = tasks && tape_eq(t, tasks, SLICE("required"));
    tool->task_optional = tasks && tape_eq(t, tasks, SLICE("optional"));
    tool->formats = names_format(t, tape_get_str(t, def, "outputSchema"));
    struct risk_report report;
    risk_classify(&p->ctx, t, def, &p->scratch, &report);
    tool->traits =
        (struct policy_traits){.class = (enum policy_class)report.cls, .tags = report.tags & POLICY_FLOW_ALL};
    tool->tags = report.tags;
    tool->confidence = report.confidence;
    if (schema)
        tool->schema_unreadable = policy_schema_compile(tape_raw(t, schema), &tool->schema, NULL) < 0;
    struct risk_fingerprint print;
    if (risk_fingerprint_of(t, def, &p->scratch, &print)) {
        struct buf text;
        buf_init(&text, sizeof(tool->fingerprint));
        risk_fingerprint_text(print.full, &text);
        memcpy(tool->fingerprint, text.ptr, text.len < sizeof(tool->fingerprint) ? text.len : 0);
        buf_free(&text);
    }
    if (tape_raw(t, def).len <= TOOLS_RAW_MAX)
        tool->raw = arena_dup(&table->arena, tape_raw(t, def));
    tool->serial = table->serial;
    tool->elem = def;
    guard_judge(p, def, tool);
    map_put(&table->by_name, key, tool);
}

static void keep_definition(struct buf *all, struct slice raw) {
    if (all->len)
        buf_put_char(all, ',');
    buf_put_slice(all, raw);
}

static void learn_page(struct channel *ch, struct tool_table *table, bool keep, const struct msg *m) {
    uint32_t list = tape_get_str(&m->tape, m->rpc.body, "tools");
    if (!list || !tape_is(&m->tape, list, TAPE_ARRAY))
        return;
    struct guard_page p;
    guard_page_init(&p, ch->session->core, ch->server, &m->tape, list, &table->arena);
    TAPE_FOR_ELEM(&m->tape, list, i) {
        learn_tool(&p, table, i);
        if (keep)
            keep_definition(&table->definitions, tape_raw(&m->tape, i));
    }
    guard_page_free(&p);
}

static bool is_last_page(const struct msg *m) {
    uint32_t next = tape_get_str(&m->tape, m->rpc.body, "nextCursor");
    return !next || !tape_is(&m->tape, next, TAPE_STRING);
}

/* For a list on one page. False when it has more. */
static bool print_list(const struct msg *m, char print[SHA_HEX]) {
    uint32_t list = tape_get_str(&m->tape, m->rpc.body, "tools");
    if (!list || !is_last_page(m))
        return false;
    sha_256_hex(tape_raw(&m->tape, list), print);
    return true;
}

void tools_learn_answer(struct call *c) {
    struct channel *ch = c->channel;
    const struct msg *m = c->response;
    uint32_t params = c->request->rpc.params;
    const uint32_t cursor = params ? tape_get_str(&c->request->tape, params, "cursor") : 0;
    bool first_page = !cursor || tape_is(&c->request->tape, cursor, TAPE_NULL);
    struct tool_table *table = &ch->server->tools;
    if (first_page)
        tool_table_free(table);
    table->serial = ++ch->session->core->list_serial;
    learn_page(ch, table, false, m);
    table->loaded = is_last_page(m);
    table->partial = false;
    table->printed = first_page && print_list(m, table->print);
    table->loaded_ms = io_now_ms(ch->session->core->up.loop);
    c->list_serial = table->serial;
}

void tools_abandon(struct channel *ch) {
    io_timer_stop(ch->session->core->up.loop, &ch->tools_timer);
    arena_free(&ch->tools_page);
    if (ch->tools_fresh)
        tool_table_free(ch->tools_fresh);
    free(steal(ch->tools_fresh));
}

/* The store of a fleet answers later. Then the list is requested again, and judged by what the store has. */
static void on_store_due(struct io_timer *timer) {
    struct channel *ch = container_of(timer, struct channel, tools_timer);
    if (!await_store(ch))
        channel_wake(ch);
}

static bool await_store(struct channel *ch) {
    if (!guard_is_storing(ch->session->core, ch->server))
        return false;
    io_timer_arm(ch->session->core->up.loop, &ch->tools_timer, TOOLS_STORE_MS, on_store_due);
    return true;
}

static void fetched(struct channel *ch, bool complete) {
    struct server *server = ch->server;
    struct core *core = ch->session->core;
    /* The list changed during the request: repeats it, a few times. */
    if (ch->tools_changes != server->tools_changes && ++ch->tools_again < TOOLS_AGAIN_MAX) {
        tools_abandon(ch);
        channel_wake(ch);
        return;
    }
    ch->tools_again = 0;
    tool_table_free(&server->tools);
    server->tools = *ch->tools_fresh;
    free(steal(ch->tools_fresh));
    tools_abandon(ch);
    if (complete && guard_wants_list(core, server))
        guard_first_use(core, server, &server->tools);
    if (await_store(ch)) {
        tool_table_free(&server->tools);
        return;
    }
    server->tools.loaded = true;
    server->tools.partial = !complete;
    server->tools.loaded_ms = io_now_ms(core->up.loop);
    ch->tools_loads++;
    channel_wake(ch);
}

/* Byte for byte the known list: nothing has to be judged again. */
static bool fetched_same(struct channel *ch, const struct msg *m) {
    struct tool_table *known = &ch->server->tools;
    struct tool_table *fresh = ch->tools_fresh;
    if (ch->tools_pages.count || !(fresh->printed = print_list(m, fresh->print)) || !known->loaded ||
        !known->printed || memcmp(known->print, fresh->print, sizeof(known->print)) != 0)
        return false;
    tools_abandon(ch);
    known->loaded_ms = io_now_ms(ch->session->core->up.loop);
    ch->tools_loads++;
    channel_wake(ch);
    return true;
}

/* Skills are accepted together with the tools, unless the server has declared that it has none. */
static bool skills_follow(const struct channel *ch) {
    return guard_wants_list(ch->session->core, ch->server) &&
           server_offers(ch->server, "io.modelcontextprotocol/skills");
}

static void keep_skills(struct channel *ch, const struct msg *m) {
    uint32_t list = tape_get_str(&m->tape, m->rpc.body, "skills");
    if (!list || !tape_is(&m->tape, list, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(&m->tape, list, i) { keep_definition(&ch->tools_fresh->skills, tape_raw(&m->tape, i)); }
}

/* False when the page has no new elements. */
static bool takes_page(struct channel *ch, const struct msg *m, struct slice *ret_cursor) {
    uint32_t list = tape_get_str(&m->tape, m->rpc.body, ch->tools_skills ? "skills" : "tools");
    return list && tape_is(&m->tape, list, TAPE_ARRAY) &&
           server_pages_take(&ch->tools_pages, &m->tape, m->rpc.body, list, ret_cursor);
}

static void on_page(struct own_request *own, struct msg *m) {
    struct channel *ch = container_of(own, struct channel, tools_own);
    bool listed = m->rpc.kind == RPC_RESULT;
    struct slice cursor = {0};
    if (listed && !ch->tools_skills && fetched_same(ch, m))
        return;
    if (!listed || !takes_page(ch, m, &cursor))
        ; /* nothing to learn */
    else if (ch->tools_skills)
        keep_skills(ch, m);
    else
        learn_page(ch, ch->tools_fresh, guard_wants_list(ch->session->core, ch->server), m);
    if (cursor.len && ch->tools_pages.count < TOOLS_PAGES_MAX) {
        fetch(ch, cursor);
    } else if (!cursor.len && !ch->tools_skills && listed && skills_follow(ch)) {
        ch->tools_skills = true;
        ch->tools_pages = (struct server_pages){0};
        fetch(ch, (struct slice){0});
    } else {
        fetched(ch, (listed || ch->tools_skills) && !cursor.len);
    }
}

/* A server that cannot list its tools has no known header annotations. One that cannot list its skills has
 * no accepted skills. */
static void on_page_failed(struct own_request *own, const char *why) {
    struct channel *ch = container_of(own, struct channel, tools_own);
    (void)why;
    fetched(ch, ch->tools_skills);
}

static void on_page_late(struct io_timer *timer) {
    struct channel *ch = container_of(timer, struct channel, tools_timer);
    link_end(&ch->tools_req);
    fetched(ch, ch->tools_skills);
}

static void fetch(struct channel *ch, struct slice cursor_raw) {
    io_timer_arm(ch->session->core->up.loop, &ch->tools_timer, TOOLS_PAGE_MS, on_page_late);
    ch->tools_own = (struct own_request){OWN_REQUEST_MAGIC, on_page, on_page_failed, NULL};
    if (!link_begin(ch->link, &ch->tools_req, &ch->tools_own)) {
        fetched(ch, false);
        return;
    }
    struct slice members =
        cursor_raw.len ? arena_printf(&ch->tools_page, "\"cursor\":%.*s", SLICE_FMT(cursor_raw)) : cursor_raw;
    const char *method = ch->tools_skills ? "skills/list" : "tools/list";
    struct slice text = channel_own_text(ch, ch->tools_req.id, method, members, &ch->tools_page);
    channel_send(ch, text, slice_str(method), &ch->tools_req);
}

static void ask(struct channel *ch, struct call *call) {
    channel_wait(ch, call);
    if (ch->tools_req.id)
        return; /* one request for all waiting calls */
    tools_abandon(ch);
    if (await_store(ch))
        return;
    ch->tools_fresh = mem_zalloc(sizeof(*ch->tools_fresh));
    tool_table_init(ch->tools_fresh);
    ch->tools_fresh->serial = ++ch->session->core->list_serial;
    ch->tools_pages = (struct server_pages){0};
    ch->tools_skills = false;
    ch->tools_changes = ch->server->tools_changes;
    fetch(ch, (struct slice){0});
}

static bool is_known(const struct channel *ch, uint64_t max_age_ms) {
    const struct tool_table *table = &ch->server->tools;
    uint64_t age = io_now_ms(ch->session->core->up.loop) - table->loaded_ms;
    return table->loaded && age < (table->partial ? TOOLS_RETRY_MS : max_age_ms);
}

bool tools_ready(struct channel *ch, struct call *call) {
    if (is_known(ch, TOOLS_FRESH_MS))
        return true;
    ask(ch, call);
    return false;
}

bool tools_checked(struct channel *ch, struct call *call) {
    uint64_t max_age_ms = guard_max_age_ms(ch->session->core, ch->server);
    if (call->kind != CALL_TOOLS_CALL || max_age_ms >= TOOLS_FRESH_MS)
        return tools_ready(ch, call);
    if (call->checked_on != ch) {
        call->checked_on = ch;
        call->checked_loads = ch->tools_loads;
    }
    if (ch->server->tools.loaded && ch->tools_loads != call->checked_loads)
        return true; /* requested for this call */
    if (is_known(ch, max_age_ms))
        return true;
    ask(ch, call);
    return false;
}

/* ---- using ---- */

struct slice tools_header_lines(struct channel *ch, struct call *call) {
    const struct tool *tool = tool_find(&ch->server->tools, call->name);
    struct buf lines;
    buf_init(&lines, HTTP_HEAD_MAX / 2);
    for (size_t i = 0; tool && i < tool->param_count; i++) {
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

/* The value of that Mcp-Param header among complete lines; ptr NULL when it is absent. */
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

bool tools_headers_agree(struct channel *ch, struct call *call) {
    const struct tool *tool = tool_find(&ch->server->tools, call->name);
    for (size_t i = 0; tool && i < tool->param_count; i++) {
        const struct mirror_param *p = &tool->params[i];
        struct slice value = find_line(call->extra_headers, p->header);
        if (!mirror_agrees(&call->request->tape, call->args, p, value, &call->arena))
            return false;
    }
    return true;
}
