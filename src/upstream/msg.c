#include "upstream/msg.h"

#include "base/check.h"
#include "base/mem.h"
#include "wire/clash.h"
#include "wire/mend.h"

void msg_pool_init(struct msg_pool *p) { *p = (struct msg_pool){0}; }

void msg_pool_free(struct msg_pool *p) {
    while (p->free) {
        struct msg *m = p->free;
        p->free = m->next_free;
        tape_free(&m->tape);
        free(m);
    }
    msg_pool_init(p);
}

static struct msg *msg_take(struct msg_pool *p) {
    struct msg *m = p->free;
    if (m) {
        p->free = m->next_free;
        p->free_count--;
    } else {
        m = mem_zalloc(sizeof(*m));
        m->pool = p;
    }
    m->refs = 1;
    m->block = NULL;
    m->http_status = 0;
    m->is_mended = false;
    return m;
}

struct msg *msg_ref(struct msg *m) {
    m->refs++;
    return m;
}

void msg_unref(struct msg *m) {
    if (!m)
        return;
    CHECK(m->refs > 0);
    if (--m->refs)
        return;
    block_unref(m->block);
    m->block = NULL;
    tape_trim(&m->tape);
    if (m->pool->free_count >= MSG_POOL_MAX) {
        tape_free(&m->tape);
        free(m);
        return;
    }
    m->next_free = m->pool->free;
    m->pool->free = m;
    m->pool->free_count++;
}

/* *ret_fault is the result of parsing. A refused message whose envelope can be mended leaves the text that is
 * in `mended`. */
static struct msg *read_once(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                             struct msg_refusal *ret_refusal, enum tape_fault *ret_fault,
                             struct buf *mended) {
    struct msg *m = msg_take(p);
    struct msg_refusal r = {0};
    m->bytes = bytes;
    enum tape_fault fault = *ret_fault = tape_parse(&m->tape, bytes, NULL);
    if (fault != TAPE_OK) {
        r.code = fault == TAPE_DUPLICATE || fault == TAPE_DEPTH ? RPC_INVALID_REQUEST : RPC_PARSE;
        r.why = tape_fault_text(fault);
    } else {
        r.code = rpc_read(&m->tape, &m->rpc, &r.why);
        if (r.code && mended && !mend_envelope(&m->tape, a, mended))
            buf_reset(mended);
        if (r.code && m->rpc.id)
            r.id = arena_dup(a, tape_raw(&m->tape, m->rpc.id));
    }
    *ret_refusal = r;
    if (r.code) {
        msg_unref(m);
        return NULL;
    }
    m->block = block ? block_ref(block) : NULL;
    return m;
}

/* Reads the bytes, and once more with an envelope that was mended. */
static struct msg *read_bytes(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                              struct msg_refusal *ret_refusal, enum tape_fault *ret_fault) {
    cleanup_buf struct buf mended;
    buf_init(&mended, MSG_BYTES_MAX);
    struct msg *m = read_once(p, block, bytes, a, ret_refusal, ret_fault, block ? &mended : NULL);
    if (m || !mended.len)
        return m;
    struct block *copy = block_copy(block->pool, mended.ptr, mended.len);
    m = read_once(p, copy, slice_of(copy->data, mended.len), a, ret_refusal, ret_fault, NULL);
    block_unref(copy);
    return m;
}

/* The same with U+FFFD for bytes that are not Unicode. */
static struct msg *read_mended(struct msg_pool *p, struct block_pool *blocks, struct slice bytes,
                               struct arena *a, struct msg_refusal *ret_refusal) {
    cleanup_buf struct buf text;
    enum tape_fault fault;
    buf_init(&text, MSG_BYTES_MAX);
    if (!mend_text(bytes, &text))
        return NULL;
    struct block *copy = block_copy(blocks, text.ptr, text.len);
    struct msg *m = read_bytes(p, copy, slice_of(copy->data, text.len), a, ret_refusal, &fault);
    block_unref(copy);
    if (m)
        m->is_mended = true;
    return m;
}

struct msg *msg_read(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                     int *ret_code, const char **ret_why, struct slice *ret_id) {
    enum tape_fault fault;
    struct msg_refusal r;
    bytes = mend_mark(bytes);
    struct msg *m = read_bytes(p, block, bytes, a, &r, &fault);
    if (block && (fault == TAPE_UTF8 || fault == TAPE_SURROGATE))
        m = read_mended(p, block->pool, bytes, a, &r);
    *ret_code = r.code;
    *ret_why = r.why;
    *ret_id = r.id;
    return m;
}

static uint32_t find_clash(struct msg *m) {
    bool is_call = m->rpc.params && tape_eq(&m->tape, m->rpc.method, SLICE("tools/call"));
    return clash_admit(&m->tape, is_call ? tape_get_str(&m->tape, m->rpc.params, "arguments") : 0);
}

struct msg *msg_admit(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                      struct msg_refusal *ret_refusal) {
    enum tape_fault fault;
    struct msg_refusal *r = ret_refusal;
    struct msg *m = read_bytes(p, block, bytes, a, r, &fault);
    /* Invalid JSON has no envelope either. */
    if (fault != TAPE_OK && fault != TAPE_SYNTAX && fault != TAPE_TRUNCATED &&
        rpc_find_id(bytes, a, &r->id)) {
        r->code = RPC_INVALID_REQUEST;
        r->is_readable = true;
    }
    uint32_t clash = m ? find_clash(m) : 0;
    if (!m || (!m->tape.has_nul && !clash))
        return m;
    bool in_params = !clash || (m->rpc.params && clash > m->rpc.params);
    *r = (struct msg_refusal){.code = in_params ? RPC_INVALID_PARAMS : RPC_INVALID_REQUEST,
                              .why = clash ? "two keys of one object differ only in case or Unicode form"
                                           : "U+0000 in a string",
                              .is_readable = m->rpc.kind == RPC_REQUEST};
    if (r->is_readable)
        r->id = arena_dup(a, tape_raw(&m->tape, m->rpc.id));
    msg_unref(m);
    return NULL;
}

void msg_release_bytes(struct msg *m) {
    block_unref(m->block);
    m->block = NULL;
    m->bytes.ptr = NULL;
    m->tape.src = (struct slice){0};
}

void msg_flatten(struct msg *m) {
    if (!m->tape.has_breaks)
        return;
    m->tape.has_breaks = false;
    char *at = (char *)(uintptr_t)m->bytes.ptr, *end = at + m->bytes.len;
    for (; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        *at = ' ';
    for (at = (char *)(uintptr_t)m->bytes.ptr; (at = memchr(at, '\r', (size_t)(end - at))); at++)
        *at = ' ';
}
