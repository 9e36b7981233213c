/* A server's list of tools, from any source, with what is known about the server. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "risk/origin.h"
#include "wire/tape.h"

#define CLI_TOOLLIST_BYTES_MAX (64u << 20)

struct cli_toollist {
    struct buf text; /* the tape points into it */
    struct tape tape;
    uint32_t tools;  /* node of the array */
    uint32_t skills; /* the same; 0: not in the text */
    struct arena arena;
    struct slice server, package, version, instructions; /* empty when unknown */
    enum risk_registry registry;                         /* of the package; npm unless the text says so */
};

void cli_toollist_init(struct cli_toollist *list);
void cli_toollist_free(struct cli_toollist *list);
static inline void cli_toollist_cleanup(struct cli_toollist *list) { cli_toollist_free(list); }
#define cleanup_toollist __attribute__((cleanup(cli_toollist_cleanup)))

/* Reads list->text: a tools/list result, the complete JSON-RPC answer, an array of tools, or an object
 * with `tools` beside `skills`, `registry`, `package`, `version`, `serverInfo` and `instructions`. `name`
 * is used when the text names no server. */
int cli_toollist_parse(struct cli_toollist *list, const char *name, struct err *err);
/* The same from a file; "-" is stdin. */
int cli_toollist_read(struct cli_toollist *list, const char *path, struct err *err);
