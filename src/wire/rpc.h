/* The JSON-RPC 2.0 envelope. Keys may come in any order and are matched exactly after decoding; a key that
 * only differs in case from one of the envelope's own is refused, so that no peer can read it otherwise. */
#pragma once

#include "wire/tape.h"

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

enum rpc_code {
    RPC_PARSE = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_NO_RESOURCE = -32002, /* of the legacy era */
    RPC_APPROVAL_REQUIRED = -32003,
    RPC_RESOURCE_NOT_FOUND = -32002, /* of the legacy era */
    RPC_URL_ELICITATION = -32042,    /* the same */
    RPC_HEADER_MISMATCH = -32020,
    RPC_CAPABILITY_MISSING = -32021,
    RPC_VERSION_UNSUPPORTED = -32022,
    RPC_RESERVED_LAST = -32099, /* from RPC_HEADER_MISMATCH on: of the protocol itself */
};

/* The revision that did away with batches. */
#define RPC_NO_BATCHES_SINCE "2025-06-18"

struct rpc {
    enum rpc_kind kind;
    /* Nodes of the tape; 0 when absent. */
    uint32_t id;
    uint32_t method;
    uint32_t params; /* an object when present */
    uint32_t body;   /* the value of result or error */
};

/* Reads the envelope of a parsed tape. 0, or the code to answer with and *ret_why. On failure out->id is the
 * id's node when a usable one was found, so the answer can carry it. */
int rpc_read(const struct tape *t, struct rpc *out, const char **ret_why);
/* The raw id of a request whose text the tape refused for what is inside its members (a key twice, half a
 * surrogate, bytes that are no UTF-8, too deep), so that the refusal can name it. The envelope itself has to
 * pass the same rules as that of any message. False when it does not, or when this is no request. */
bool rpc_find_id(struct slice text, struct arena *a, struct slice *ret_id);
