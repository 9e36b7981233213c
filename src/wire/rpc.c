#include "wire/rpc.h"

#include "base/buf.h"
#include "wire/clash.h"

static const struct slice rpc_keys[] = {SLICE("jsonrpc"), SLICE("id"),     SLICE("method"),
                                        SLICE("params"),  SLICE("result"), SLICE("error")};
enum { KEY_JSONRPC, KEY_ID, KEY_METHOD, KEY_PARAMS, KEY_RESULT, KEY_ERROR, KEY_COUNT };

static int invalid(const char **ret_why, const char *why) {
    *ret_why = why;
    return RPC_INVALID_REQUEST;
}

/* Index of the envelope key, KEY_COUNT for any other, -1 for a look-alike. */
static int classify_key(const struct tape *t, uint32_t key) {
    for (int i = 0; i < KEY_COUNT; i++)
        if (tape_eq(t, key, rpc_keys[i]))
            return i;
    for (int i = 0; i < KEY_COUNT; i++)
        if (clash_key(t, key, rpc_keys[i]))
            return -1;
    return KEY_COUNT;
}

static bool id_ok(const struct tape *t, uint32_t id) {
    if (tape_raw(t, id).len > RPC_ID_TEXT_MAX)
        return false;
    if (tape_is(t, id, TAPE_STRING))
        return true;
    int64_t value;
    return tape_int(t, id, &value) && value >= -RPC_ID_INT_MAX && value <= RPC_ID_INT_MAX &&
           !slice_is(tape_raw(t, id), "-0");
}

static int read_request(const struct tape *t, const uint32_t *at, struct rpc *out, const char **ret_why) {
    if (at[KEY_RESULT] || at[KEY_ERROR])
        return invalid(ret_why, "a message has either method or result or error");
    if (!tape_is(t, at[KEY_METHOD], TAPE_STRING) || tape_node(t, at[KEY_METHOD])->len == 0 ||
        tape_node(t, at[KEY_METHOD])->len > RPC_METHOD_MAX)
        return invalid(ret_why, "method must be a string of at most 256 bytes");
    out->method = at[KEY_METHOD];
    out->kind = at[KEY_ID] ? RPC_REQUEST : RPC_NOTIFICATION;
    if (at[KEY_PARAMS] && !tape_is(t, at[KEY_PARAMS], TAPE_OBJECT)) {
        *ret_why = "params must be an object";
        return RPC_INVALID_PARAMS;
    }
    out->params = at[KEY_PARAMS];
    return 0;
}

static int read_response(const struct tape *t, const uint32_t *at, struct rpc *out, const char **ret_why) {
    if (!at[KEY_RESULT] == !at[KEY_ERROR])
        return invalid(ret_why, "a message has either method or result or error");
    out->kind = at[KEY_ERROR] ? RPC_ERROR : RPC_RESULT;
    out->body = at[KEY_ERROR] ? at[KEY_ERROR] : at[KEY_RESULT];
    if (!tape_is(t, out->body, TAPE_OBJECT))
        return invalid(ret_why, "result and error must be objects");
    if (!out->id && out->kind == RPC_RESULT)
        return invalid(ret_why, "a result must carry an id");
    return 0;
}

int rpc_read(const struct tape *t, struct rpc *out, const char **ret_why) {
    *out = (struct rpc){0};
    if (tape_is(t, 0, TAPE_ARRAY))
        return invalid(ret_why, "batches are not supported");
    if (!tape_is(t, 0, TAPE_OBJECT))
        return invalid(ret_why, "a message must be a JSON object");
    uint32_t at[KEY_COUNT] = {0};
    TAPE_FOR_MEMBER(t, 0, key) {
        int which = classify_key(t, key);
        if (which < 0)
            return invalid(ret_why, "a key differs only in case from one of the envelope's own");
        if (which < KEY_COUNT)
            at[which] = key + 1;
    }
    bool null_id = at[KEY_ID] && tape_is(t, at[KEY_ID], TAPE_NULL);
    if (at[KEY_ID] && !null_id) {
        if (!id_ok(t, at[KEY_ID]))
            return invalid(ret_why, "id must be a string or an integer within 2^53");
        out->id = at[KEY_ID];
    }
    if (!at[KEY_JSONRPC] || !tape_eq(t, at[KEY_JSONRPC], SLICE("2.0")))
        return invalid(ret_why, "jsonrpc must be \"2.0\"");
    /* Only an error response about an unreadable message may have a null id. */
    if (null_id && !at[KEY_ERROR])
        return invalid(ret_why, "id must not be null");
    return at[KEY_METHOD] ? read_request(t, at, out, ret_why) : read_response(t, at, out, ret_why);
}

/* ---- refused texts ---- */

/* Returns the offset after the string that begins at `at`. */
static size_t skip_string(struct slice text, size_t at) {
    for (at++; at < text.len && text.ptr[at] != '"'; at++)
        at += text.ptr[at] == '\\';
    return at < text.len ? at + 1 : text.len;
}

/* The message with every object and array of its members empty:
 *   {"id":1,"method":"x","params":{"a":{"b":[2]}}}   becomes   {"id":1,"method":"x","params":{}} */
static bool put_outline(struct slice text, struct buf *out) {
    size_t depth = 0;
    for (size_t at = 0, next; at < text.len; at = next) {
        const char c = text.ptr[at];
        const bool closes = c == '}' || c == ']';
        if (closes && depth-- == 0)
            return false;
        next = c == '"' ? skip_string(text, at) : at + 1;
        if (depth <= 1 && !buf_put(out, text.ptr + at, next - at))
            return false;
        depth += c == '{' || c == '[';
    }
    return depth == 0;
}

static bool read_outline(struct slice text, struct tape *t, struct buf *outline) {
    tape_init(t);
    buf_init(outline, RPC_OUTLINE_MAX);
    return put_outline(text, outline) && tape_parse(t, buf_slice(outline), NULL) == TAPE_OK;
}

bool rpc_find_id(struct slice text, struct arena *a, struct slice *ret_id) {
    cleanup_buf struct buf outline;
    cleanup_tape struct tape t;
    struct rpc rpc;
    const char *why;
    if (!read_outline(text, &t, &outline) || rpc_read(&t, &rpc, &why) != 0 || rpc.kind != RPC_REQUEST)
        return false;
    *ret_id = arena_dup(a, tape_raw(&t, rpc.id));
    return true;
}

bool rpc_find_answered(struct slice text, struct arena *a, struct slice *ret_id) {
    cleanup_buf struct buf outline;
    cleanup_tape struct tape t;
    struct rpc rpc;
    const char *why;
    if (!read_outline(text, &t, &outline) || !tape_is(&t, 0, TAPE_OBJECT))
        return false;
    rpc_read(&t, &rpc, &why); /* it may be refused, and still name its request */
    if (!rpc.id || tape_get_str(&t, 0, "method"))
        return false;
    *ret_id = arena_dup(a, tape_raw(&t, rpc.id));
    return true;
}
