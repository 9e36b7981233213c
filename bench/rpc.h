/* The few members of a JSON-RPC request that the echo server needs, as raw slices of the message, in
 * one pass. It trusts that the JSON is well-formed; a message it cannot follow is refused. */
#ifndef BENCH_RPC_H
#define BENCH_RPC_H

#include "util.h"

struct rpc {
    struct slice id;      /* raw: number or quoted string */
    struct slice method;  /* between the quotes */
    struct slice name;    /* params.name */
    struct slice text;    /* params.arguments.text, still escaped */
    struct slice version; /* params.protocolVersion */
    bool modern;          /* params._meta carries a protocol version */
};

bool rpc_scan(struct rpc *ret_rpc, const char *base, size_t len);

#endif
