/* The JSON-RPC 2.0 envelope. Keys may be in any order and are matched exactly after decoding. A key that
 * differs only in case from a key of the envelope is refused, because a lenient peer could read it as that
 * key. */
#pragma once

#include "wire/tape.h"

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

enum rpc_code {
    RPC_PARSE = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_APPROVAL_REQUIRED = -32003,
    RPC_RESOURCE_NOT_FOUND = -32002, /* of the legacy era */
    RPC_URL_ELICITATION = -32042,    /* legacy era */
    RPC_HEADER_MISMATCH = -32020,
    RPC_CAPABILITY_MISSING = -32021,
    RPC_VERSION_UNSUPPORTED = -32022,
    RPC_RESERVED_LAST = -32099, /* from RPC_HEADER_MISMATCH on: of the protocol itself */
};

/* The revision that removed batches. */
#define RPC_NO_BATCHES_SINCE "2025-06-18"

struct rpc {
    enum rpc_kind kind;
    /* Nodes of the tape; 0 when absent. */
    uint32_t id;
    uint32_t method;
    uint32_t params; /* an object when present */
    uint32_t body;   /* the value of result or error */
};

/* A member of params, or its text; 0, or empty, when there is none. */
static inline uint32_t rpc_param(const struct tape *t, const struct rpc *rpc, const char *key) {
    return rpc->params ? tape_get_str(t, rpc->params, key) : 0;
}
static inline struct slice rpc_param_text(const struct tape *t, const struct rpc *rpc, const char *key,
                                          struct arena *a) {
    return rpc->params ? tape_text_of(t, rpc->params, key, a) : (struct slice){0};
}

/* Reads the envelope of a parsed tape. 0, or the code to answer with and *ret_why. On failure out->id is the
 * id's node when a usable one was found, so the answer can carry it. */
int rpc_read(const struct tape *t, struct rpc *out, const char **ret_why);
/* The raw id of a request that the tape refused because of the contents of its members (duplicate key, lone
 * surrogate, invalid UTF-8, too deep), so that the error response can carry it. The envelope must pass the
 * same rules as that of any message. False when it does not, or when this is not a request. */
bool rpc_find_id(struct slice text, struct arena *a, struct slice *ret_id);
/* The raw id of the request that an unreadable answer belongs to, so that its caller need not wait. False for
 * any other message. */
bool rpc_find_answered(struct slice text, struct arena *a, struct slice *ret_id);
