/* Where MCP clients keep their servers, and in which format. The reader stores the position of every entry,
 * so that an edit leaves all other bytes unchanged.
 *
 *   place of the table ──▶ text ──▶ servers, each as `mcpServers` would have it
 *                           └──▶ the same text with the gate in front of some of them */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "wire/jsonc.h"
#include "wire/toml.h"

enum cli_remote {                        /* how a client writes an HTTP server */
                  CLI_REMOTE_TYPED,      /* {"type": "http", "url", "headers"} */
                  CLI_REMOTE_URL,        /* {"url", "headers"} */
                  CLI_REMOTE_SERVER_URL, /* {"serverUrl", "headers"} */
                  CLI_REMOTE_STREAMABLE, /* {"type": "streamableHttp", "url", "headers"} */
                  CLI_REMOTE_HTTP_URL,   /* {"httpUrl", "headers"} */
                  CLI_REMOTE_TOML,       /* url = "...", http_headers = {...} */
                  CLI_REMOTE_NONE,       /* not supported: a gate on stdio connects the client */
};

struct cli_client {
    const char *name;  /* as --client has it */
    const char *title; /* as people know it */
    enum cli_remote remote;
};

struct cli_client_server {
    const char *name;  /* as its file spells it */
    const char *scope; /* the project it belongs to inside the file, or NULL */
    struct slice
        json; /* {"command","args","env","cwd","url","headers","type","disabled"}: as far as present */
    const char *policy; /* policy of a gate that is already in front of it, or NULL */
    const char *skip;   /* why it cannot be put behind the gate; NULL: it can */
    const char *lost; /* what only its client can give it, so that it would miss it behind a gate; or NULL */
    const char *filter; /* the member with which its client limits its tools, or NULL */
    bool wired;         /* a Sallyport is already in front of it */
    bool remote;
    /* position: in JSON nodes of the tape, 0 when absent; in TOML the index of its first item */
    uint32_t obj, key;
    uint32_t command, args;
    size_t item;
};

struct cli_client_file {
    const struct cli_client *client;
    const char *path;
    const char *members; /* where servers stand, with slashes: "mcp/servers" */
    bool projects;       /* and below "projects" the same for each */
    bool in_project;     /* lies in a project folder: usually committed and shared */
    struct arena arena;
    struct buf text;
    struct jsonc json;
    struct toml toml;
    struct cli_client_server *servers;
    size_t count;
    bool bad; /* and err says why; it is left alone */
    struct err err;
};

const struct cli_client *cli_client_find(const char *name, struct err *err);

struct cli_clients {
    struct cli_client_file **files;
    size_t count;
};

/* Every existing file, of all clients or of one. Project files are searched in `project`. An unreadable
 * file is in the list with its error. */
int cli_clients_find(struct cli_clients *c, const struct cli_client *only, const char *project,
                     struct err *err);
void cli_clients_free(struct cli_clients *c);
static inline void cli_clients_cleanup(struct cli_clients *c) { cli_clients_free(c); }
#define cleanup_clients __attribute__((cleanup(cli_clients_cleanup)))

/* One file that the user named. `client` NULL: determined by its name and content. */
int cli_clients_add(struct cli_clients *c, const struct cli_client *client, const char *path,
                    struct err *err);

struct cli_client_file *cli_client_file_new(const struct cli_client *client, const char *path,
                                            const char *members, bool projects);
void cli_client_file_free(struct cli_client_file *f); /* NULL is fine */
/* Reads the servers of f->text. */
int cli_client_file_read(struct cli_client_file *f, struct err *err);
/* The text with asterisks in place of environment values, headers and arguments that look like secrets. */
void cli_client_file_mask(const struct cli_client_file *f, struct buf *out);

struct settings;
/* The gate's URL for programs on this machine: http://ADDRESS:PORT/mcp. In the arena. */

/* client_edit.c: puts the gate in front. */

#define CLI_GATE_NAME "sallyport" /* the clients' name for a gate that replaces many servers */

enum cli_client_mode { CLI_MODE_WRAP, CLI_MODE_SERVE };

struct cli_client_plan {
    enum cli_client_mode mode;
    const char *program;         /* path of this one, or a package runner */
    const char *const *lead;     /* what the runner needs before the arguments; ends with NULL; NULL: none */
    const char *const *policies; /* wrap: by server of the file; NULL: left alone */
    const bool *chosen;          /* serve: by server of the file */
    const char *url;             /* serve: of the gate */
    const char *token;           /* serve: its grant */
    const char *through; /* serve: a policy that lets everything pass, for clients that know no HTTP */
};

/* When *program is in the cache of npx or uvx: the runner in its place, and what it needs in *ret_lead. */
void cli_client_runner(const char **program, const char *const **ret_lead);
/* Puts the edits into `s`, a splice of f->text. */
int cli_client_file_edit(const struct cli_client_file *f, const struct cli_client_plan *plan,
                         struct splice *s, struct err *err);
/* The member or table with which a client reaches the gate at `url`, indented by `indent` and `unit` a level
 * (on one line when there is no unit); without its name in JSON. */
void cli_client_put_gate(const struct cli_client *client, const struct cli_client_plan *plan,
                         struct slice indent, struct slice unit, struct buf *out);
/* One server as the client writes it: `json` is as in struct cli_client_server. */
void cli_client_put_server(const struct cli_client *client, struct slice json, struct arena *a,
                           struct buf *out);
