#include "front/header.h"

#include "front/front.h"
#include "wire/mirror.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

static uint32_t meta_node(const struct msg *m, const char *key) {
    return m->rpc.params ? tape_path(&m->tape, m->rpc.params, "_meta", key, NULL) : 0;
}

bool header_is_modern(const struct http_head *head, const struct msg *m) {
    struct slice version = http_value(head, HTTP_FIELD_MCP_VERSION);
    if (version.len && front_is_modern_version(version))
        return true;
    uint32_t meta = rpc_param(&m->tape, &m->rpc, "_meta");
    return meta &&
           (tape_get_str(&m->tape, meta, META_VERSION) || tape_get_str(&m->tape, meta, META_CAPABILITIES));
}

static bool fail(struct header_fault *fault, int code, const char *why) {
    *fault = (struct header_fault){.code = code, .why = why};
    return false;
}

static bool check_meta(const struct http_head *head, const struct msg *m, struct arena *a,
                       struct header_fault *fault) {
    uint32_t version = meta_node(m, META_VERSION);
    uint32_t capabilities = meta_node(m, META_CAPABILITIES);
    struct slice header = http_value(head, HTTP_FIELD_MCP_VERSION);
    if (!version || !tape_is(&m->tape, version, TAPE_STRING))
        return fail(fault, RPC_INVALID_PARAMS, "params._meta must contain " META_VERSION);
    if (!header.len || !tape_eq(&m->tape, version, header))
        return fail(fault, RPC_HEADER_MISMATCH, "the MCP-Protocol-Version header must equal params._meta");
    if (!front_is_modern_version(header) || !front_is_known_version(header)) {
        fail(fault, RPC_VERSION_UNSUPPORTED, "unsupported protocol version");
        fault->data = arena_printf(a, "{\"supported\":[\"2026-07-28\"],\"requested\":%.*s}",
                                   SLICE_FMT(tape_raw(&m->tape, version)));
        return false;
    }
    if (!capabilities || !tape_is(&m->tape, capabilities, TAPE_OBJECT))
        return fail(fault, RPC_INVALID_PARAMS, "params._meta must contain " META_CAPABILITIES);
    return true;
}

/* The methods that mirror a member of params in Mcp-Name. */
static const struct {
    const char *method;
    const char *member;
} named_methods[] = {
    {"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
    {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
};

static bool check_name(const struct http_head *head, const struct msg *m, struct arena *a,
                       struct header_fault *fault) {
    const char *member = NULL;
    for (size_t i = 0; i < sizeof(named_methods) / sizeof(named_methods[0]); i++)
        if (tape_eq(&m->tape, m->rpc.method, slice_str(named_methods[i].method)))
            member = named_methods[i].member;
    if (!member)
        return true;
    uint32_t node = rpc_param(&m->tape, &m->rpc, member);
    struct slice text;
    if (!http_has(head, HTTP_FIELD_MCP_NAME) ||
        !mirror_decode(http_value(head, HTTP_FIELD_MCP_NAME), a, &text) || !node ||
        !tape_eq(&m->tape, node, text))
        return fail(fault, RPC_HEADER_MISMATCH, "the Mcp-Name header must equal the name in the message");
    return true;
}

bool header_check_modern(const struct http_head *head, const struct msg *m, struct arena *a,
                         struct header_fault *ret_fault) {
    bool named = http_has(head, HTTP_FIELD_MCP_METHOD);
    bool request = m->rpc.kind == RPC_REQUEST;
    /* The specification is silent about headers of notifications: they may be missing, but must not be
     * wrong. */
    if (request && !check_meta(head, m, a, ret_fault))
        return false;
    if ((request && !named) ||
        (named && !tape_eq(&m->tape, m->rpc.method, http_value(head, HTTP_FIELD_MCP_METHOD))))
        return fail(ret_fault, RPC_HEADER_MISMATCH, "the Mcp-Method header must equal the method");
    return !request || check_name(head, m, a, ret_fault);
}

struct slice header_params(const struct http_head *head, struct arena *a) {
    struct buf lines;
    buf_init(&lines, HTTP_HEAD_MAX);
    for (size_t i = 0; i < head->count; i++) {
        const struct http_header *h = &head->headers[i];
        if (!slice_eq_nocase(slice_upto(h->name, 10), SLICE("Mcp-Param-")))
            continue;
        buf_put_slice(&lines, h->name);
        buf_put_str(&lines, ": ");
        buf_put_slice(&lines, h->value);
        buf_put_str(&lines, "\r\n");
    }
    struct slice kept = arena_dup(a, buf_slice(&lines));
    buf_free(&lines);
    return kept;
}
