#include "code/fault.h"

#include "base/mem.h"
#include "code/limits.h"
#include "code/unwrap.h"
#include "wire/emit.h"
#include "wire/rpc.h"
#include "wire/tape.h"

#include <string.h>

#define APPROVAL_NEEDED (-32003)
#define DENIAL "sallyport/denial"

struct fault {
    const char *kind;
    struct slice message;
    uint32_t details; /* an object whose members are copied, or 0 */
    int64_t code;     /* of a JSON-RPC error, or 0 */
};

static bool is_text(const struct tape *t, uint32_t node) { return node && tape_is(t, node, TAPE_STRING); }

static bool is_unknown(struct slice message) { return slice_starts(message, SLICE("Unknown tool")); }

/* A result that is an error: a denial of the gate, or an error of the tool. */
static void read_result(const struct tape *t, struct slice answer, struct arena *a, struct fault *f) {
    uint32_t denial = tape_path(t, 0, "_meta", DENIAL, NULL);
    bool denied = denial && tape_is(t, denial, TAPE_OBJECT);
    uint32_t reason = denied ? tape_get_str(t, denial, "reason") : 0;
    unwrap_result(answer, a, &f->message);
    f->kind = !denied                                                    ? "tool_error"
              : is_text(t, reason) && tape_eq(t, reason, SLICE("limit")) ? "rate_limited"
                                                                         : "denied";
    f->details = denied ? denial : 0;
}

static void read_error(const struct tape *t, struct arena *a, struct fault *f) {
    uint32_t code = tape_get_str(t, 0, "code"), data = tape_get_str(t, 0, "data");
    f->message = tape_text(t, tape_get_str(t, 0, "message"), a);
    if (code)
        tape_int(t, code, &f->code);
    if (f->code == APPROVAL_NEEDED)
        f->kind = "approval_needed";
    else if (f->code == RPC_INVALID_PARAMS && is_unknown(f->message))
        f->kind = "unknown_tool";
    f->details = data && tape_is(t, data, TAPE_OBJECT) ? data : 0;
}

static void read_fault(struct slice answer, struct tape *t, struct arena *a, struct fault *f) {
    *f = (struct fault){.kind = is_unknown(answer) ? "unknown_tool" : "failed", .message = answer};
    if (!answer.len || answer.ptr[0] != '{' || tape_parse(t, answer, NULL) != TAPE_OK)
        return;
    if (tape_get_str(t, 0, "isError"))
        read_result(t, answer, a, f);
    else if (is_text(t, tape_get_str(t, 0, "message")))
        read_error(t, a, f);
}

static void put_details(const struct fault *f, const struct tape *t, struct emit *e) {
    static const char *const kept[] = {"rule",           "policy",      "reason",
                                       "retry_after_ms", "approval_id", "expires_at"};
    for (size_t i = 0; f->details && i < ARRAY_LEN(kept); i++) {
        uint32_t node = tape_get_str(t, f->details, kept[i]);
        if (!node)
            continue;
        emit_key(e, kept[i]);
        emit_raw(e, tape_raw(t, node));
    }
    uint32_t words = f->details ? tape_get_str(t, f->details, "human_instructions") : 0;
    if (words) {
        emit_key(e, "instructions");
        emit_raw(e, tape_raw(t, words));
    }
}

void fault_write(struct slice server, struct slice tool, struct slice answer, struct buf *out) {
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct fault f;
    read_fault(answer, &t, &a, &f);
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "message");
    emit_str(&e, slice_upto(f.message, CODE_FAULT_TEXT_MAX));
    emit_key(&e, "kind");
    emit_cstr(&e, f.kind);
    emit_key(&e, "server");
    emit_str(&e, slice_upto(server, CODE_QUERY_MAX));
    emit_key(&e, "tool");
    emit_str(&e, slice_upto(tool, CODE_QUERY_MAX));
    if (f.code) {
        emit_key(&e, "code");
        emit_int(&e, f.code);
    }
    put_details(&f, &t, &e);
    emit_object_end(&e);
}

int fault_write_http(struct slice answer, struct buf *out) {
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct fault f;
    struct emit e;
    read_fault(answer, &t, &a, &f);
    const bool unknown = strcmp(f.kind, "unknown_tool") == 0;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "error");
    emit_str(&e, unknown ? SLICE("Not found") : slice_upto(f.message, CODE_FAULT_TEXT_MAX));
    if (f.code && !unknown) {
        emit_key(&e, "code");
        emit_int(&e, f.code);
    }
    if (f.details && !unknown) {
        emit_key(&e, "data");
        emit_raw(&e, tape_raw(&t, f.details));
    }
    emit_object_end(&e);
    return unknown                        ? 404
           : !f.code                      ? 500
           : f.code == RPC_INTERNAL       ? 502
           : f.code == RPC_INVALID_PARAMS ? 400
                                          : 403;
}

struct slice fault_words(struct slice answer, struct arena *a) {
    cleanup_tape struct tape t;
    tape_init(&t);
    struct fault f;
    read_fault(answer, &t, a, &f);
    return arena_dup(a, f.message);
}

bool fault_needs_approval(struct slice answer) {
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct fault f;
    read_fault(answer, &t, &a, &f);
    return f.code == APPROVAL_NEEDED;
}
