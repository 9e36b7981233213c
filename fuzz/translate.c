/* Whatever a message says, its translation is JSON again, keeps its id and method, and says nothing that only
 * the other era may say. Input: one byte for the direction, then the message. */
#include "mcp/translate.h"
#include "base/buf.h"
#include "fuzz.h"
#include "wire/rpc.h"

static void take(const struct splice *s, struct buf *out, struct tape *ret_tape) {
    buf_init(out, s->src.len * 8 + 8192);
    CHECK(splice_write(s, out));
    tape_init(ret_tape);
    CHECK(tape_parse(ret_tape, buf_slice(out), NULL) == TAPE_OK);
}

static void check_request(const struct tape *t, const struct rpc *rpc, struct splice *s, bool up) {
    const struct translate_client client = {.capabilities = SLICE("{}"), .log_level = SLICE("info")};
    cleanup_buf struct buf out = {0};
    cleanup_tape struct tape made = {0};
    struct rpc read;
    const char *why;
    bool good = up ? translate_request_up(s, t, rpc, translate_client_meta(&client, s->arena), SLICE("5"),
                                          (struct slice){0}, (struct slice){0})
                   : translate_request_down(s, t, rpc, SLICE("5"), (struct slice){0}, (struct slice){0});
    if (!good)
        return;
    take(s, &out, &made);
    CHECK(rpc_read(&made, &read, &why) == 0 && read.kind == rpc->kind);
    CHECK(slice_eq(tape_raw(&made, read.method), tape_raw(t, rpc->method)));
    uint32_t version = read.params ? tape_path(&made, read.params, "_meta", UP_META_VERSION, NULL) : 0;
    CHECK(up ? tape_eq(&made, version, SLICE(UP_MODERN_VERSION)) : !version);
    CHECK(!read.params || !tape_get_str(&made, read.params, "requestState"));
}

static void check_result(const struct tape *t, const struct rpc *rpc, struct splice *s, bool up) {
    cleanup_buf struct buf out = {0};
    cleanup_tape struct tape made = {0};
    struct slice method = SLICE("tools/call");
    if (!(up ? translate_result_up(s, t, rpc->body, method, SLICE("{}"))
             : translate_result_down(s, t, rpc->body, method)))
        return;
    take(s, &out, &made);
    uint32_t body = tape_get_str(&made, 0, "result");
    uint32_t type = tape_is(&made, body, TAPE_OBJECT) ? tape_get_str(&made, body, "resultType") : 0;
    CHECK(up ? tape_eq(&made, type, SLICE("complete")) : !type);
}

static void check_json(struct slice json) {
    cleanup_tape struct tape made;
    tape_init(&made);
    CHECK(!json.len || tape_parse(&made, json, NULL) == TAPE_OK);
}

/* A task and what came of it, whatever the object is. */
static void check_task(const struct tape *t, uint32_t node, struct arena *a) {
    struct slice up = translate_task_up(t, node, (struct slice){0}, a);
    struct slice down = translate_task_down(t, node, SLICE("\"failed\""), a);
    check_json(arena_printf(a, "{%.*s}", SLICE_FMT(up)));
    check_json(arena_printf(a, "{%.*s}", SLICE_FMT(down)));
    check_json(translate_outcome_up(t, node, a));
    check_json(translate_outcome_down(t, node, SLICE("a \"task\""), a));
    check_json(translate_client(t, node, true, a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    bool up = fuzz_byte(&in) & 1;
    struct tape t;
    struct rpc rpc;
    struct splice s;
    struct arena a;
    const char *why;
    tape_init(&t);
    arena_init(&a);
    if (tape_parse(&t, in, NULL) == TAPE_OK && rpc_read(&t, &rpc, &why) == 0) {
        splice_init(&s, in, &a);
        if (rpc.kind == RPC_REQUEST)
            check_request(&t, &rpc, &s, up);
        else if (rpc.kind == RPC_RESULT)
            check_result(&t, &rpc, &s, up);
        check_json(translate_description_up(&t, 0, &a));
        check_json(translate_description_down(&t, 0, SLICE("2025-11-25"), &a));
        check_task(&t, rpc.body ? rpc.body : rpc.params, &a);
    }
    arena_free(&a);
    tape_free(&t);
    return 0;
}
