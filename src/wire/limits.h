/* Every ceiling of the grammars, in one place; docs/limits.md lists them. */
#pragma once

#define TAPE_DEPTH_MAX 64
#define TAPE_BYTES_MAX (1u << 30) /* offsets are 32 bits wide; the message ceilings lie far below */
#define TAPE_NODES_MAX (1u << 23)
#define TAPE_NUMBER_MAX 512 /* characters of one number */

#define RPC_ID_TEXT_MAX 256 /* raw bytes of an id, quotes included */
#define RPC_METHOD_MAX 256
#define RPC_OUTLINE_MAX 4096 /* bytes of a refused message's envelope that are searched for its id */
#define RPC_ID_INT_MAX                                                                                       \
    9007199254740991 /* 2^53 - 1: the largest integer that every JSON parser reads exactly */

#define HTTP_LINE_MAX 8192  /* request line or status line */
#define HTTP_HEAD_MAX 32768 /* the whole head, with the empty line */
#define HTTP_HEADERS_MAX 100
#define HTTP_METHOD_MAX 32
#define HTTP_HOST_MAX 253       /* a DNS name */
#define HTTP_CHUNK_LINE_MAX 256 /* chunk size and extensions */
#define HTTP_TRAILER_MAX 4096

#define CANON_PARTS_NODES_MAX 64 /* nodes of a value that is hashed together with another */

#define SSE_FIELD_MAX 1024 /* event name, id; data is bounded by the message ceiling */

#define TREE_DEPTH_MAX 32
#define TREE_NODES_MAX 1000000
#define TREE_BYTES_MAX (16u << 20)
#define TREE_COPIES_MAX 100000 /* values that all aliases expand to, together */

#define HOST_URL_MAX 8192 /* bytes of a URL whose host is parsed */

#define TOML_PATH_MAX 32 /* parts of a key, tables included */
#define TOML_NEST_MAX 32 /* nesting of lists and inline tables */
