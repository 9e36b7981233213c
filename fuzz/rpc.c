/* The envelope: what is read holds what it promises, and the way the text is written does not matter. */
#include "wire/rpc.h"
#include "base/buf.h"
#include "fuzz.h"
#include "wire/emit.h"

/* The root object again, every key written plainly. Members are written from the last to the first: their
 * order must not matter either. */
static void rewrite(const struct tape *t, struct buf *out, struct arena *a) {
    struct emit e;
    uint32_t *keys = arena_array(a, uint32_t, tape_node(t, 0)->count + 1);
    uint32_t count = 0;
    TAPE_FOR_MEMBER(t, 0, key) { keys[count++] = key; }
    emit_init(&e, out);
    emit_object(&e);
    while (count--) {
        emit_key_slice(&e, tape_text(t, keys[count], a));
        emit_raw(&e, tape_raw(t, keys[count] + 1));
    }
    emit_object_end(&e);
}

static struct slice raw_or_none(const struct tape *t, uint32_t i) {
    return i ? tape_raw(t, i) : (struct slice){0};
}

static void check_read(const struct tape *t, const struct rpc *r) {
    bool request = r->kind == RPC_REQUEST || r->kind == RPC_NOTIFICATION;
    CHECK(request == (r->method != 0) && request != (r->body != 0));
    CHECK(!r->params || tape_is(t, r->params, TAPE_OBJECT));
    CHECK(!r->method || tape_is(t, r->method, TAPE_STRING));
    CHECK(!r->id || tape_is(t, r->id, TAPE_STRING) || tape_is(t, r->id, TAPE_NUMBER));
    CHECK(!r->id || tape_raw(t, r->id).len <= RPC_ID_TEXT_MAX);
    CHECK((r->kind == RPC_REQUEST || r->kind == RPC_RESULT) <= (r->id != 0));
    CHECK(r->kind != RPC_NOTIFICATION || !r->id);
    CHECK(tape_eq(t, tape_get_str(t, 0, "jsonrpc"), SLICE("2.0")));
    CHECK(r->id == tape_get_str(t, 0, "id") || (!r->id && r->kind == RPC_ERROR));
    CHECK(r->method == tape_get_str(t, 0, "method") &&
          r->params == (request ? tape_get_str(t, 0, "params") : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_tape struct tape t, again;
    cleanup_arena struct arena a;
    cleanup_buf struct buf out;
    struct rpc first, second;
    const char *why = NULL, *why_again = NULL;
    tape_init(&t);
    tape_init(&again);
    arena_init(&a);
    buf_init(&out, size * 6 + 64);
    if (tape_parse(&t, slice_of((const char *)data, size), NULL) != TAPE_OK)
        return 0;
    int code = rpc_read(&t, &first, &why);
    CHECK(code <= 0 && (code == 0 || why));
    CHECK(!first.id || tape_raw(&t, first.id).len <= RPC_ID_TEXT_MAX);
    if (code == 0)
        check_read(&t, &first);
    if (!tape_is(&t, 0, TAPE_OBJECT))
        return 0;
    rewrite(&t, &out, &a);
    CHECK(tape_parse(&again, buf_slice(&out), NULL) == TAPE_OK);
    CHECK(rpc_read(&again, &second, &why_again) == code);
    if (code)
        return 0;
    CHECK(first.kind == second.kind);
    CHECK(slice_eq(raw_or_none(&t, first.id), raw_or_none(&again, second.id)));
    CHECK(slice_eq(raw_or_none(&t, first.method), raw_or_none(&again, second.method)));
    CHECK(slice_eq(raw_or_none(&t, first.params), raw_or_none(&again, second.params)));
    CHECK(slice_eq(raw_or_none(&t, first.body), raw_or_none(&again, second.body)));
    return 0;
}
