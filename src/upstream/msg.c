#include "upstream/msg.h"

#include "base/check.h"
#include "base/mem.h"

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

struct msg *msg_read(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                     int *ret_code, const char **ret_why, struct slice *ret_id) {
    struct msg *m = msg_take(p);
    m->bytes = bytes;
    *ret_id = (struct slice){0};
    enum tape_fault fault = tape_parse(&m->tape, bytes, NULL);
    if (fault != TAPE_OK) {
        *ret_code = fault == TAPE_DUPLICATE || fault == TAPE_DEPTH ? RPC_INVALID_REQUEST : RPC_PARSE;
        *ret_why = tape_fault_text(fault);
        msg_unref(m);
        return NULL;
    }
    *ret_code = rpc_read(&m->tape, &m->rpc, ret_why);
    if (*ret_code) {
        if (m->rpc.id)
            *ret_id = arena_dup(a, tape_raw(&m->tape, m->rpc.id));
        msg_unref(m);
        return NULL;
    }
    m->block = block ? block_ref(block) : NULL;
    return m;
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
