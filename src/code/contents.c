#include "code/contents.h"

#include "base/hex.h"
#include "code/code_reply.h"
#include "wire/base64.h"

#define NOT_FOUND_LEGACY (-32002)

struct slice contents_decode(struct slice text, struct arena *a) {
    char *out = arena_alloc(a, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        int high = i + 2 < text.len && text.ptr[i] == '%' ? hex_value(text.ptr[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text.ptr[i + 2]) : -1;
        if (low >= 0) {
            out[len++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[len++] = text.ptr[i];
        }
    }
    return slice_of(out, len);
}

struct slice contents_uri(struct code_req *r) {
    return rpc_param_text(&r->tape, &r->rpc, "uri", &r->arena);
}

void contents_not_found(struct code_req *r) {
    code_reply_error(r, r->modern ? RPC_INVALID_PARAMS : NOT_FOUND_LEGACY, "Resource not found");
}

void contents_reply(struct code_req *r, struct slice uri, const char *mime, struct slice bytes,
                    bool as_text) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    buf_put_str(&out, "\"contents\":[{\"uri\":");
    emit_quote(&out, uri);
    buf_printf(&out, ",\"mimeType\":\"%s\",", mime);
    if (as_text) {
        buf_put_str(&out, "\"text\":");
        emit_quote(&out, bytes);
    } else {
        buf_put_str(&out, "\"blob\":\"");
        base64_put(&out, bytes, BASE64_PADDED);
        buf_put_char(&out, '"');
    }
    buf_put_str(&out, "}]");
    if (out.full)
        code_reply_error(r, RPC_INTERNAL, "the resource is too large");
    else
        code_reply_cached(r, buf_slice(&out));
}
