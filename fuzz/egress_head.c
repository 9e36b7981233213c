/* A head for a proxy: a front part of what is taken is not enough; what is taken names a host and a port in
 * one form, and what is sent of it is one request that the strict reader takes, whole, with the same body. */
#include "egress/egress_head.h"
#include "fuzz.h"

static void check_sent(const struct egress_head *h, struct arena *a) {
    const struct slice added = SLICE("Authorization: Bearer s");
    struct http_head again;
    const char *why;
    cleanup_buf struct buf out;
    buf_init(&out, 4 * HTTP_HEAD_MAX);
    egress_head_write(&h->http, h->target, egress_head_authority(h->host, h->port, 80, a), &added, 1, &out);
    CHECK(!out.full);
    const int got = http_parse_request(buf_slice(&out), &again, &why);
    CHECK(got == (int)out.len || got == -431 || got == -414);
    if (got < 0)
        return;
    CHECK(again.body == h->http.body && again.body_len == h->http.body_len);
    CHECK(slice_is(http_value(&again, HTTP_FIELD_AUTHORIZATION), "Bearer s") && !again.keep_alive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct slice in = slice_of((const char *)data, size);
    struct egress_head head;
    const char *why = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_free char *copy = fuzz_copy(in);
    const int got = egress_head_read(slice_of(copy, in.len), &a, &head, &why);
    CHECK(got <= (int)in.len && (got >= 0 || why));
    if (got <= 0)
        return 0;
    CHECK(head.host.len && head.port);
    CHECK(egress_head_read(slice_of(copy, (size_t)got - 1), &a, &head, &why) == 0);
    CHECK(egress_head_read(slice_of(copy, (size_t)got), &a, &head, &why) == got);
    if (!head.connect)
        check_sent(&head, &a);
    return 0;
}
