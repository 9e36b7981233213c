/* The servers of a client's configuration (`mcpServers` or `servers`), and where their programs come from. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "risk/supply.h"
#include "wire/emit.h"
#include "wire/tape.h"

struct cli_mcpserver {
    const char *name;
    char **argv;      /* program and arguments, NULL-terminated; NULL when there is a url */
    const char **env; /* NAME=VALUE */
    size_t env_count;
    const char *cwd;
    const char *url;
    const char **headers; /* "Name: value" */
    size_t header_count;
    struct risk_supply supply;
    struct slice impostor; /* the known package that this one imitates; empty when none */
};

struct cli_mcpconfig {
    struct buf text;
    struct tape tape;
    struct arena arena; /* owns the servers */
    struct cli_mcpserver *servers;
    size_t count;
};

void cli_mcpconfig_init(struct cli_mcpconfig *c);
void cli_mcpconfig_free(struct cli_mcpconfig *c);
static inline void cli_mcpconfig_cleanup(struct cli_mcpconfig *c) { cli_mcpconfig_free(c); }
#define cleanup_mcpconfig __attribute__((cleanup(cli_mcpconfig_cleanup)))

/* ${NAME} in a value stands for the environment variable, ${NAME:-text} for text when it is not set. */
int cli_mcpconfig_read(struct cli_mcpconfig *c, const char *path, struct err *err);
/* One line: where it comes from and what is wrong with that. */
void cli_mcpserver_text(const struct cli_mcpserver *s, struct arena *a, struct buf *out);
/* The same as members of an object that is open. */
void cli_mcpserver_json(const struct cli_mcpserver *s, struct emit *e);
