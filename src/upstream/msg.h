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
};

void msg_pool_init(struct msg_pool *p);
void msg_pool_free(struct msg_pool *p);

/* Reads one message. Returns it (one reference), or NULL with the JSON-RPC code and a reason; *ret_id is then
 * a copy of the usable raw id in the arena, or empty. `block` may be NULL when the bytes live long enough. */
struct msg *msg_read(struct msg_pool *p, struct block *block, struct slice bytes, struct arena *a,
                     int *ret_code, const char **ret_why, struct slice *ret_id);
struct msg *msg_ref(struct msg *m);
void msg_unref(struct msg *m); /* NULL is fine */
/* Gives the bytes back before the message itself: only its kind, nodes and length may be asked for
 * afterwards. */
void msg_release_bytes(struct msg *m);
/* Line breaks between tokens become spaces, for transports that frame by lines. The offsets stay. */
void msg_flatten(struct msg *m);
