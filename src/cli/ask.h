/* Where lists of tools come from: a file, a command, a URL, or every server of a client's configuration,
 * queried concurrently. What scan and pin share. */
#pragma once

#include "cli/command.h"
#include "cli/mcpconfig.h"
#include "cli/toollist.h"
#include "risk/lockfile.h"

struct cli_ask_options {
    const char *tools_json;
    const char *upstream;
    struct cli_list headers;
    struct cli_list env;
    const char *mcp_config;
    const char *server; /* name of the single server; NULL: derived from its command */
    uint64_t timeout_ms;
    bool no_network;
    bool no_start;
};

/* The rows of the options above, for a struct that has them as its member `ask`. */
#define CLI_ASK_ROWS(type)                                                                                   \
    {CLI_TEXT(type, ask.tools_json), .name = "tools-json", .argument = "FILE",                               \
     .help = "a tools/list result or an array of tools; - for stdin"},                                       \
        {CLI_TEXT(type, ask.upstream), .name = "upstream", .argument = "URL", .help = "a server over HTTP"}, \
        {CLI_LIST(type, ask.headers), .name = "header", .argument = "H", .help = "a header for --upstream"}, \
        {CLI_TEXT(type, ask.mcp_config), .name = "mcp-config", .argument = "FILE",                           \
         .help = "every server of a client's configuration, or of a sallyport.yaml"},                        \
        {CLI_LIST(type, ask.env), .name = "env", .argument = "NAME[=VALUE]",                                 \
         .help = "a variable for the server's environment; NAME alone copies the gate's own"},               \
        {CLI_SWITCH(type, ask.no_network), .name = "no-network",                                             \
         .help = "start servers without network access; they can still list their tools"},                   \
        {CLI_TEXT(type, ask.server), .name = "server", .argument = "NAME",                                   \
         .help = "the server's name; by default its package or program"},                                    \
    {                                                                                                        \
        CLI_DURATION(type, ask.timeout_ms), .name = "timeout", .argument = "TIME", .fallback = "30s",        \
                                            .help = "how long to wait for a server's answer"                 \
    }

/* One server and the result of its query. */
struct cli_asked {
    struct cli_mcpserver *server;
    struct cli_toollist list; /* list.server is the name in the lock */
    struct slice executable;  /* hash of its program, when there is one to hash */
    struct err err;           /* when there is no list */
    bool listed;
};

struct cli_asking {
    struct cli_mcpconfig config; /* owns the servers */
    struct cli_asked *asked;
    size_t count;
    bool many; /* a configuration was read, with any number of servers */
};

void cli_asking_init(struct cli_asking *asking);
void cli_asking_free(struct cli_asking *asking);
static inline void cli_asking_cleanup(struct cli_asking *asking) { cli_asking_free(asking); }
#define cleanup_asking __attribute__((cleanup(cli_asking_cleanup)))

/* CLI_OK when all were queried, whatever they answered; else the exit status, with the reason in err. For
 * several servers, progress is shown on stderr. */
enum cli_exit cli_ask(struct cli_asking *asking, const struct cli_ask_options *opt,
                      const struct cli_rest *rest, struct err *err);
/* The same for the servers that are in asking->config already. */
enum cli_exit cli_ask_found(struct cli_asking *asking, const struct cli_ask_options *opt, struct err *err);
/* What the lock stores about the server besides its tools. */
void cli_asked_facts(struct cli_asked *asked, struct risk_server_facts *ret_facts);
struct risk_lists cli_asked_lists(const struct cli_asked *asked);
/* A missing file is a lock without servers. */
int cli_lock_read(const char *path, struct risk_lock **ret_lock, struct err *err);
