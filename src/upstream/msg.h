/* One JSON-RPC message: its bytes (kept alive by a reference to their block), the tape over them and the
 * envelope. Messages come from a pool and go back with the last reference. */
#pragma once

#include "base/block.h"
#include "upstream/limits.h"
#include "wire/rpc.h"

struct msg_pool {
    struct msg *free;
    uint32_t free_count;
};

struct msg {
    struct msg_pool *pool;
    struct msg *next_free;
    uint32_t refs;
    struct block *block;
    struct slice bytes;
    struct tape tape;
    struct rpc rpc;
    int http_status; /* of the response that carried it; 0 when none did */
    bool is_mended;  /* some characters were replaced */
};

void msg_pool_init(struct msg_pool *p);
void msg_pool_free(struct msg_pool *p);

/* Reads one message. Returns it (one reference), or NULL with the JSON-RPC code and a reason; *ret_id is then
 * a copy of the usable raw id in the arena, or empty. `block` may be NULL when the bytes live long enough;
 * messages in a block are mended (wire/mend.h). */
struct msg *msg_read(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                     int *ret_code, const char **ret_why, struct slice *ret_id);

/* Why a client's message is not admitted. */
struct msg_refusal {
    int code;
    const char *why;
    struct slice id;  /* as above: the id for the error answer */
    bool is_readable; /* a request with an error only inside its members */
};

/* Reads one message of a client: the same, but U+0000 and keys of one object that differ only in case or
 * Unicode form are refused, because servers read them otherwise, and a refusal names the request's id
 * wherever the envelope can be read. Characters are never replaced. Keys inside the arguments of a tool call
 * are left to the policy. */
struct msg *msg_admit(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                      struct msg_refusal *ret_refusal);
struct msg *msg_ref(struct msg *m);
void msg_unref(struct msg *m); /* NULL is fine */
/* Frees the bytes before the message itself: only its kind, nodes and length may be used afterwards. */
void msg_release_bytes(struct msg *m);
/* Replaces line breaks between tokens by spaces, for transports that frame by lines. The offsets stay. */
void msg_flatten(struct msg *m);
