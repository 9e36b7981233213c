/* The servers of a client's configuration (`mcpServers` or `servers`) or of sallyport.yaml, and the origin
 * of their programs. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "front/settings.h"
#include "risk/lookalike.h"
#include "risk/supply.h"
#include "wire/emit.h"

struct cli_mcpserver {
    const char *name;
    const char *url; /* NULL when it is a program */
    const struct settings_server *from;
    struct risk_supply supply;
    struct risk_lookalike impostor; /* the known package that this one imitates */
    bool incomplete;                /* values are missing, so it is never started */
};

struct cli_mcpconfig {
    struct settings *settings;
    struct arena arena; /* owns the servers */
    struct cli_mcpserver *servers;
    size_t count;
};

void cli_mcpconfig_init(struct cli_mcpconfig *c);
void cli_mcpconfig_free(struct cli_mcpconfig *c);
static inline void cli_mcpconfig_cleanup(struct cli_mcpconfig *c) { cli_mcpconfig_free(c); }
#define cleanup_mcpconfig __attribute__((cleanup(cli_mcpconfig_cleanup)))

int cli_mcpconfig_read(struct cli_mcpconfig *c, const char *path, struct err *err);
/* Adds a server of settings that outlive c. There must be room for it in c->servers. */
void cli_mcpconfig_add(struct cli_mcpconfig *c, const struct settings_server *from);
/* One line: the origin and its problems. */
void cli_mcpserver_text(const struct cli_mcpserver *s, struct arena *a, struct buf *out);
/* The same as members of the open object. */
void cli_mcpserver_json(const struct cli_mcpserver *s, struct emit *e);
