#include "code/code_log.h"

#include "base/mem.h"
#include "code/code_reply.h"
#include "code/code_req.h"

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};
static const struct {
    const char *name, *level;
} streams[] = {[SANDBOX_STDOUT] = {"stdout", "info"}, [SANDBOX_STDERR] = {"stderr", "warning"}};

uint32_t code_log_rank(struct slice level) {
    for (uint32_t i = 0; i < ARRAY_LEN(levels); i++)
        if (slice_is(level, levels[i]))
            return i + 1;
    return 0;
}

void code_log_set_level(struct code_req *r) {
    const uint32_t node = rpc_param(&r->tape, &r->rpc, "level");
    const uint32_t rank = node && tape_is(&r->tape, node, TAPE_STRING)
                              ? code_log_rank(tape_text(&r->tape, node, &r->arena))
                              : 0;
    if (!rank) {
        code_reply_error(r, RPC_INVALID_PARAMS,
                         "level must be one of debug, info, notice, warning, error, "
                         "critical, alert, emergency");
        return;
    }
    r->conn->log_rank = rank;
    code_reply(r, (struct slice){0});
}

bool code_log_wanted(const struct code_req *r, enum sandbox_stream stream) {
    const uint32_t least = r->modern ? r->log_rank : r->conn->log_rank;
    return least && code_log_rank(slice_str(streams[stream].level)) >= least;
}

void code_log_send(const struct code_req *r, enum sandbox_stream stream, struct slice text) {
    cleanup_buf struct buf out;
    buf_init(&out, 8 * CODE_STREAM_BYTES_MAX);
    struct emit e;
    buf_put_str(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":");
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "level");
    emit_cstr(&e, streams[stream].level);
    emit_key(&e, "logger");
    emit_cstr(&e, streams[stream].name);
    emit_key(&e, "data");
    emit_str(&e, text);
    emit_object_end(&e);
    buf_put_char(&out, '}');
    code_req_send(r, buf_slice(&out));
}
