#include "mcp/translate.h"

#include "base/mem.h"
#include "upstream/limits.h"
#include "wire/emit.h"

static const char *const retry_members[] = {"inputResponses", "requestState", NULL};

static bool is_object(const struct tape *t, uint32_t node) { return node && tape_is(t, node, TAPE_OBJECT); }

/* ---- rewritten objects: some members are dropped, others added ---- */

static void copy_members(struct emit *e, const struct tape *t, uint32_t obj, const char *const *but) {
    if (!is_object(t, obj))
        return;
    TAPE_FOR_MEMBER(t, obj, key) {
        if (tape_eq_any(t, key, but))
            continue;
        struct slice raw = tape_raw(t, key);
        emit_key_raw(e, raw);
        emit_raw(e, tape_raw(t, key + 1));
    }
}

static struct slice keep(struct buf *out, struct arena *a) {
    struct slice text = out->full ? (struct slice){0} : arena_dup(a, buf_slice(out));
    buf_free(out);
    return text;
}

/* ---- requests ---- */

#define META_OPEN SLICE("\"_meta\":{")

/* The text without its outer braces. */
static struct slice meta_members(struct slice meta) {
    return slice_of(meta.ptr + META_OPEN.len, meta.len - META_OPEN.len - 1);
}

struct slice translate_client_meta(const struct translate_client *client, struct arena *a) {
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_key(&e, "_meta");
    emit_object(&e);
    emit_key(&e, UP_META_VERSION);
    emit_cstr(&e, UP_MODERN_VERSION);
    emit_key(&e, UP_META_CAPABILITIES);
    emit_raw(&e, client->capabilities);
    if (client->info.len) {
        emit_key(&e, UP_META_CLIENT);
        emit_raw(&e, client->info);
    }
    if (client->log_level.len) {
        emit_key(&e, UP_META_LOG);
        emit_str(&e, client->log_level);
    }
    emit_object_end(&e);
    return keep(&out, a);
}

/* "_meta":{…}: the message's own without reserved members, then our token and the client's description. */
static struct slice meta_text(const struct tape *t, uint32_t meta, struct slice client, struct slice token,
                              struct slice trace, struct arena *a) {
    const char *const replaced[] = {UP_META_VERSION,
                                    UP_META_CAPABILITIES,
                                    UP_META_CLIENT,
                                    UP_META_LOG,
                                    "progressToken",
                                    trace.len ? "traceparent" : NULL,
                                    NULL};
    if (!meta && !token.len && !trace.len)
        return client;
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_key(&e, "_meta");
    emit_object(&e);
    copy_members(&e, t, meta, replaced);
    if (token.len) {
        emit_key(&e, "progressToken");
        emit_raw(&e, token);
    }
    if (trace.len) {
        emit_key(&e, "traceparent");
        emit_raw(&e, trace);
    }
    if (meta_members(client).len)
        emit_raw(&e, meta_members(client));
    emit_object_end(&e);
    return keep(&out, a);
}

/* Replaces `_meta` (an empty text removes it) and adds other members to params. */
static bool edit_params(struct splice *text, const struct tape *t, const struct rpc *rpc, struct slice meta,
                        const char *const *drop, struct slice more) {
    struct arena *a = text->arena;
    const char *dropped[8] = {"_meta"};
    for (size_t n = 1; drop && *drop && n + 1 < ARRAY_LEN(dropped); n++)
        dropped[n] = *drop++;
    struct slice add = meta.len && more.len ? arena_printf(a, "%.*s,%.*s", SLICE_FMT(meta), SLICE_FMT(more))
                                            : (meta.len ? meta : more);
    if (rpc->params)
        return splice_edit_members(text, t, rpc->params, dropped, add);
    return !add.len ||
           splice_add_member(text, t, 0, SLICE("params"), arena_printf(a, "{%.*s}", SLICE_FMT(add)));
}

bool translate_request_up(struct splice *text, const struct tape *t, const struct rpc *rpc,
                          struct slice client, struct slice token, struct slice trace, struct slice more) {
    static const char *const drop[] = {"inputResponses", "requestState", "task", NULL};
    uint32_t old = rpc_param(t, rpc, "_meta");
    struct slice meta = meta_text(t, old, client, token, trace, text->arena);
    return meta.len && edit_params(text, t, rpc, meta, drop, more);
}

bool translate_request_down(struct splice *text, const struct tape *t, const struct rpc *rpc,
                            struct slice token, struct slice trace, struct slice more) {
    uint32_t old = rpc_param(t, rpc, "_meta");
    struct slice meta = meta_text(t, old, SLICE("\"_meta\":{}"), token, trace, text->arena);
    if (!meta.len)
        return false;
    return edit_params(text, t, rpc, meta_members(meta).len ? meta : (struct slice){0}, retry_members, more);
}

/* ---- results ---- */

static const char *const cacheable[] = {"server/discover",
                                        "tools/list",
                                        "prompts/list",
                                        "resources/list",
                                        "resources/read",
                                        "resources/templates/list",
                                        "resources/directory/read",
                                        "skills/list",
                                        "skills/get",
                                        NULL};
static const char *const gone[] = {
    "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", NULL};
static const char *const asking[] = {"tools/call", "prompts/get", "resources/read", NULL};

static bool names(const char *const *list, struct slice method) {
    for (; *list; list++)
        if (slice_is(method, *list))
            return true;
    return false;
}

static bool is_cacheable(struct slice method) { return names(cacheable, method); }
bool translate_is_gone(struct slice method) { return names(gone, method); }
bool translate_may_ask(struct slice method) { return names(asking, method); }
bool translate_knows_tasks(struct slice version) { return slice_cmp(version, SLICE("2025-11-25")) >= 0; }

bool translate_result_up(struct splice *text, const struct tape *t, uint32_t result, struct slice method,
                         struct slice server_info) {
    static const char *const drop[] = {"resultType",    "ttlMs",        "cacheScope",
                                       "inputRequests", "requestState", NULL};
    static const char *const info_key[] = {UP_META_SERVER, NULL};
    struct arena *a = text->arena;
    if (!is_object(t, result))
        return false;
    uint32_t meta = tape_get_str(t, result, "_meta");
    bool has_meta = is_object(t, meta);
    struct slice info = server_info.len
                            ? arena_printf(a, "\"" UP_META_SERVER "\":%.*s", SLICE_FMT(server_info))
                            : server_info;
    if (has_meta && info.len && !splice_edit_members(text, t, meta, info_key, info))
        return false;
    struct slice add =
        arena_printf(a, "\"resultType\":\"complete\"%s%s%.*s%s",
                     is_cacheable(method) ? ",\"ttlMs\":0,\"cacheScope\":\"private\"" : "",
                     !has_meta && info.len ? ",\"_meta\":{" : "", !has_meta ? (int)info.len : 0,
                     info.len ? info.ptr : "", !has_meta && info.len ? "}" : "");
    return splice_edit_members(text, t, result, drop, add);
}

/* Legacy clients reject structured content that is not an object. Its text stays, or is made from it when
 * there is none. */
static struct slice plain_content(const struct tape *t, uint32_t result, struct arena *a, bool *ret_drop) {
    uint32_t structured = tape_get_str(t, result, "structuredContent");
    *ret_drop = structured && !is_object(t, structured);
    uint32_t content = tape_get_str(t, result, "content");
    if (!*ret_drop || (content && tape_is(t, content, TAPE_ARRAY) && tape_node(t, content)->count))
        return (struct slice){0};
    struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    buf_put_str(&out, "\"content\":[{\"type\":\"text\",\"text\":");
    emit_quote(&out, tape_raw(t, structured));
    buf_put_str(&out, "}]");
    return keep(&out, a);
}

bool translate_result_down(struct splice *text, const struct tape *t, uint32_t result, struct slice method) {
    if (!is_object(t, result))
        return true;
    const char *drop[6] = {"resultType"};
    size_t n = 1;
    struct slice add = {0};
    if (is_cacheable(method)) {
        drop[n++] = "ttlMs";
        drop[n++] = "cacheScope";
    }
    if (slice_is(method, "tools/call")) {
        bool plain;
        add = plain_content(t, result, text->arena, &plain);
        if (plain)
            drop[n++] = "structuredContent";
        if (add.len)
            drop[n++] = "content";
    }
    return splice_edit_members(text, t, result, drop, add);
}

bool translate_tool_down(struct splice *text, const struct tape *t, uint32_t tool, bool tasks) {
    static const char *const drop[] = {"outputSchema", NULL}, *const none[] = {NULL};
    uint32_t schema = tape_get_str(t, tool, "outputSchema");
    uint32_t type = is_object(t, schema) ? tape_get_str(t, schema, "type") : 0;
    bool plain = !schema || (type && tape_eq(t, type, SLICE("object")));
    /* In the modern era the server decides which calls become tasks, so any call may. */
    struct slice add = tasks && !tape_get_str(t, tool, "execution")
                           ? SLICE("\"execution\":{\"taskSupport\":\"optional\"}")
                           : (struct slice){0};
    return (plain && !add.len) || splice_edit_members(text, t, tool, plain ? none : drop, add);
}

int64_t translate_error_up(int64_t code, struct slice method) {
    if (code == RPC_RESOURCE_NOT_FOUND)
        return slice_is(method, "resources/read") ? RPC_INVALID_PARAMS : RPC_INTERNAL;
    /* Error codes of the modern era are only used by modern servers. */
    return code <= RPC_HEADER_MISMATCH && code >= RPC_RESERVED_LAST ? RPC_INTERNAL : code;
}

int64_t translate_error_down(int64_t code, struct slice method, const struct tape *t, uint32_t error) {
    uint32_t data = tape_get_str(t, error, "data");
    if (code == RPC_INVALID_PARAMS && slice_is(method, "resources/read") && is_object(t, data) &&
        tape_get_str(t, data, "uri"))
        return RPC_RESOURCE_NOT_FOUND;
    if (code == RPC_CAPABILITY_MISSING)
        return RPC_INVALID_REQUEST;
    return code == RPC_HEADER_MISMATCH || code == RPC_VERSION_UNSUPPORTED ? RPC_INTERNAL : code;
}

/* ---- capabilities ---- */

static bool has(const struct tape *t, uint32_t obj, const char *key) {
    uint32_t node = is_object(t, obj) ? tape_get_str(t, obj, key) : 0;
    return node && !tape_is(t, node, TAPE_NULL) && !tape_is(t, node, TAPE_FALSE);
}

static uint32_t member(const struct tape *t, uint32_t obj, const char *key) {
    return is_object(t, obj) ? tape_get_str(t, obj, key) : 0;
}

uint32_t translate_client_bits(const struct tape *t, uint32_t c) {
    uint32_t bits =
        (has(t, c, "sampling") ? TRANSLATE_SAMPLING : 0) | (has(t, c, "roots") ? TRANSLATE_ROOTS : 0);
    uint32_t elicitation = member(t, c, "elicitation");
    if (is_object(t, elicitation)) {
        /* An elicitation capability without members means forms. */
        bool url = has(t, elicitation, "url"), form = has(t, elicitation, "form") || !url;
        bits |= (url ? TRANSLATE_URL : 0) | (form ? TRANSLATE_FORM : 0);
    }
    return bits | (has(t, member(t, c, "extensions"), TRANSLATE_TASKS) ? TRANSLATE_TAKES_TASKS : 0);
}

uint32_t translate_server_bits(const struct tape *t, uint32_t c) {
    static const struct {
        const char *capability, *member;
        uint32_t bit;
    } table[] = {
        {"tools", "listChanged", TRANSLATE_TOOLS_CHANGED},
        {"prompts", "listChanged", TRANSLATE_PROMPTS_CHANGED},
        {"resources", "listChanged", TRANSLATE_RESOURCES_CHANGED},
        {"resources", "subscribe", TRANSLATE_SUBSCRIBE},
    };
    uint32_t bits = has(t, c, "logging") ? TRANSLATE_LOGGING : 0;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (has(t, member(t, c, table[i].capability), table[i].member))
            bits |= table[i].bit;
    uint32_t requests = member(t, member(t, c, "tasks"), "requests");
    if (has(t, member(t, requests, "tools"), "call") || has(t, member(t, c, "extensions"), TRANSLATE_TASKS))
        bits |= TRANSLATE_MAKES_TASKS;
    return bits;
}

uint32_t translate_ask_bit(struct slice method, const struct tape *t, uint32_t params) {
    if (slice_is(method, "sampling/createMessage"))
        return TRANSLATE_SAMPLING;
    if (slice_is(method, "roots/list"))
        return TRANSLATE_ROOTS;
    if (!slice_is(method, "elicitation/create"))
        return 0;
    uint32_t mode = member(t, params, "mode");
    return mode && tape_eq(t, mode, SLICE("url")) ? TRANSLATE_URL : TRANSLATE_FORM;
}

uint32_t translate_lacking_bit(struct slice text) {
    static const struct {
        struct slice start, end;
    } words[] = {
        {SLICE("Client does not support "), SLICE(")")},
        {SLICE("Cannot request input "),
         SLICE("): the client on this 2025-era connection did not declare the required capability")},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!slice_starts(text, words[i].start) || !slice_ends(text, words[i].end))
            continue;
        struct slice method = slice_upto(text, text.len - words[i].end.len);
        size_t at = method.len;
        while (at && method.ptr[at - 1] != '(' && method.ptr[at - 1] != ' ')
            at--;
        bool url = slice_starts(slice_from(text, words[i].start.len), SLICE("URL "));
        uint32_t bit = translate_ask_bit(slice_from(method, at), NULL, 0);
        return bit == TRANSLATE_FORM && url ? TRANSLATE_URL : bit;
    }
    return 0;
}

const char *translate_ask_capability(uint32_t bit) {
    return bit == TRANSLATE_SAMPLING      ? "{\"sampling\":{}}"
           : bit == TRANSLATE_ROOTS       ? "{\"roots\":{}}"
           : bit == TRANSLATE_URL         ? "{\"elicitation\":{\"url\":{}}}"
           : bit == TRANSLATE_TAKES_TASKS ? "{\"extensions\":{\"" TRANSLATE_TASKS "\":{}}}"
                                          : "{\"elicitation\":{}}";
}

enum tasks_as { NO_TASKS, TASKS_OLDER, TASKS_NEWER };

/* Capabilities with the task members of one era, or without: they differ between the eras. */
static void put_capabilities(struct emit *e, const struct tape *t, uint32_t c, enum tasks_as tasks) {
    static const char *const but[] = {"tasks", "extensions", NULL};
    static const char *const task_ext[] = {TRANSLATE_TASKS, NULL};
    uint32_t extensions = member(t, c, "extensions");
    emit_object(e);
    copy_members(e, t, c, but);
    if (tasks == TASKS_OLDER) {
        emit_key(e, "tasks");
        emit_raw(e, SLICE("{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
    }
    if (is_object(t, extensions) || tasks == TASKS_NEWER) {
        emit_key(e, "extensions");
        emit_object(e);
        copy_members(e, t, extensions, task_ext);
        if (tasks == TASKS_NEWER) {
            emit_key(e, TRANSLATE_TASKS);
            emit_raw(e, SLICE("{}"));
        }
        emit_object_end(e);
    }
    emit_object_end(e);
}

struct slice translate_client(const struct tape *t, uint32_t c, bool tasks, struct arena *a) {
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    put_capabilities(&e, t, c, tasks ? TASKS_NEWER : NO_TASKS);
    return keep(&out, a);
}

/* ---- tasks ---- */

static const struct {
    const char *legacy, *modern;
} task_members[] = {
    {"taskId", "taskId"},       {"statusMessage", "statusMessage"},
    {"createdAt", "createdAt"}, {"lastUpdatedAt", "lastUpdatedAt"},
    {"ttl", "ttlMs"},           {"pollInterval", "pollIntervalMs"},
};

static struct slice task_text(const struct tape *t, uint32_t task, struct slice status, bool up,
                              struct arena *a) {
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "status");
    uint32_t own = member(t, task, "status");
    emit_raw(&e, status.len ? status : own ? tape_raw(t, own) : SLICE("\"working\""));
    for (size_t i = 0; i < ARRAY_LEN(task_members); i++) {
        uint32_t node = member(t, task, up ? task_members[i].legacy : task_members[i].modern);
        if (!node)
            continue;
        emit_key(&e, up ? task_members[i].modern : task_members[i].legacy);
        emit_raw(&e, tape_raw(t, node));
    }
    emit_object_end(&e);
    struct slice text = keep(&out, a);
    return text.len ? slice_of(text.ptr + 1, text.len - 2) : text;
}

struct slice translate_task_up(const struct tape *t, uint32_t task, struct slice status, struct arena *a) {
    return task_text(t, task, status, true, a);
}

struct slice translate_task_down(const struct tape *t, uint32_t task, struct slice status, struct arena *a) {
    return task_text(t, task, status, false, a);
}

/* Replaces the related-task member in the result's own `_meta`. */
static struct slice outcome_text(const struct tape *t, uint32_t result, struct slice first, struct slice meta,
                                 struct arena *a) {
    static const char *const but[] = {"resultType", "_meta", NULL};
    static const char *const related[] = {TRANSLATE_RELATED_TASK, NULL};
    uint32_t old = member(t, result, "_meta");
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    if (first.len) {
        emit_key(&e, "resultType");
        emit_raw(&e, first);
    }
    copy_members(&e, t, result, but);
    emit_key(&e, "_meta");
    emit_object(&e);
    copy_members(&e, t, old, related);
    if (meta.len) {
        emit_key(&e, TRANSLATE_RELATED_TASK);
        emit_raw(&e, meta);
    }
    emit_object_end(&e);
    emit_object_end(&e);
    return keep(&out, a);
}

struct slice translate_outcome_up(const struct tape *t, uint32_t result, struct arena *a) {
    return outcome_text(t, result, SLICE("\"complete\""), (struct slice){0}, a);
}

struct slice translate_outcome_down(const struct tape *t, uint32_t result, struct slice task_id,
                                    struct arena *a) {
    struct buf id;
    buf_init(&id, task_id.len * 6 + 2);
    emit_quote(&id, task_id);
    struct slice meta = arena_printf(a, "{\"taskId\":%.*s}", SLICE_FMT(buf_slice(&id)));
    buf_free(&id);
    return outcome_text(t, result, (struct slice){0}, meta, a);
}

/* ---- initialize and server/discover ---- */

static void put_known(struct emit *e, const struct tape *t, uint32_t obj, const char *key, const char *as) {
    uint32_t node = tape_get_str(t, obj, key);
    if (!node)
        return;
    emit_key(e, as);
    emit_raw(e, tape_raw(t, node));
}

struct slice translate_description_up(const struct tape *t, uint32_t result, struct arena *a) {
    struct buf out;
    struct emit e;
    uint32_t c = tape_get_str(t, result, "capabilities");
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "resultType");
    emit_cstr(&e, "complete");
    emit_key(&e, "supportedVersions");
    emit_raw(&e, SLICE("[\"" UP_MODERN_VERSION "\"]"));
    emit_key(&e, "capabilities");
    put_capabilities(&e, t, c, translate_server_bits(t, c) & TRANSLATE_MAKES_TASKS ? TASKS_NEWER : NO_TASKS);
    put_known(&e, t, result, "instructions", "instructions");
    emit_key(&e, "ttlMs");
    emit_int(&e, 0);
    emit_key(&e, "cacheScope");
    emit_cstr(&e, "private");
    emit_key(&e, "_meta");
    emit_object(&e);
    put_known(&e, t, result, "serverInfo", UP_META_SERVER);
    emit_object_end(&e);
    emit_object_end(&e);
    return keep(&out, a);
}

struct slice translate_description_down(const struct tape *t, uint32_t result, struct slice version,
                                        struct arena *a) {
    struct buf out;
    struct emit e;
    uint32_t c = tape_get_str(t, result, "capabilities");
    uint32_t info = member(t, tape_get_str(t, result, "_meta"), UP_META_SERVER);
    if (!is_object(t, info)) /* some servers write it as the legacy era did */
        info = tape_get_str(t, result, "serverInfo");
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "protocolVersion");
    emit_str(&e, version);
    emit_key(&e, "capabilities");
    bool tasks = translate_knows_tasks(version) && translate_server_bits(t, c) & TRANSLATE_MAKES_TASKS;
    put_capabilities(&e, t, c, tasks ? TASKS_OLDER : NO_TASKS);
    emit_key(&e, "serverInfo");
    emit_raw(&e, is_object(t, info) ? tape_raw(t, info) : SLICE("{\"name\":\"unnamed\",\"version\":\"0\"}"));
    put_known(&e, t, result, "instructions", "instructions");
    emit_object_end(&e);
    return keep(&out, a);
}

/* ---- questions ---- */

struct slice translate_ask(const struct tape *t, uint32_t params, const char *elicitation_id,
                           struct arena *a) {
    static const char *const but[] = {"elicitationId", "task", "_meta", NULL};
    /* Progress tokens and task members of a question belong to the server that asks. */
    static const char *const hop[] = {"progressToken", TRANSLATE_RELATED_TASK, NULL};
    uint32_t mode = member(t, params, "mode"), meta = member(t, params, "_meta");
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    copy_members(&e, t, params, but);
    if (is_object(t, meta)) {
        emit_key(&e, "_meta");
        emit_object(&e);
        copy_members(&e, t, meta, hop);
        emit_object_end(&e);
    }
    if (elicitation_id && mode && tape_eq(t, mode, SLICE("url"))) {
        emit_key(&e, "elicitationId");
        emit_cstr(&e, elicitation_id);
    }
    emit_object_end(&e);
    return keep(&out, a);
}

int translate_log_rank(struct slice level) {
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (slice_is(level, levels[i]))
            return (int)i;
    return -1;
}
