/* What the log reads back from files that may have been modified: records, frames of a block, the head
 * file. */
#include "fuzz.h"

#include "audit/chain.h"
#include "audit/format.h"
#include "audit/pack.h"
#include "audit/record.h"
#include "audit/segment.h"

#include <string.h>

static void read_record(struct slice bytes) {
    struct audit_record r;
    if (!audit_record_read(bytes, &r))
        return;
    /* Only the canonical bytes of a record are taken for it. */
    cleanup_free char *again = mem_alloc(audit_record_fit(&r));
    CHECK(audit_record_write(&r, again) == bytes.len && memcmp(again, bytes.ptr, bytes.len) == 0);
    struct audit_entry e = {.seq = 1, .record = &r};
    struct buf out;
    buf_init(&out, 64u << 20);
    audit_format_line(&out, &e);
    CHECK(memchr(out.ptr, '\n', out.len) == out.ptr + out.len - 1);
    buf_reset(&out);
    audit_format_cef(&out, &e);
    CHECK(memchr(out.ptr, '\n', out.len) == out.ptr + out.len - 1);
    audit_format_csv(&out, &e);
    audit_format_json(&out, &e);
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice all = slice_of((const char *)data, size), body = all;
    struct segment_frame frame;
    struct chain_point point;
    read_record(all);
    while (audit_segment_frame_next(&body, &frame))
        read_record(frame.bytes);
    cleanup_free char *room = NULL;
    body = audit_unpack(all, &room);
    while (audit_segment_frame_next(&body, &frame))
        read_record(frame.bytes);
    audit_chain_head_parse(all, &point, NULL);
    return 0;
}
