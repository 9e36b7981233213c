/* sallyport import: the servers of clients' files as a sallyport.yaml. */
#include "base/mem.h"
#include "cli/clients.h"
#include "cli/yaml.h"
#include "front/settings.h"
#include "io/file.h"
#include "risk/confusable.h"

#include <errno.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#define IMPORT_OUT_MAX (16u << 20)
#define IMPORT_SERVERS_MAX 1024

struct import_options {
    const char *client;
    const char *policy;
    const char *listen;
    const char *output;
    const char *project;
    bool force;
};

static const struct cli_option import_rows[] = {
    {CLI_TEXT(struct import_options, client), .name = "client", .argument = "NAME",
     .help = "the client whose file it is, if the name does not show it; without files, the client to search "
             "for"},
    {CLI_TEXT(struct import_options, policy), .name = "policy", .argument = "FILE",
     .help = "the default policy of the new settings"},
    {CLI_TEXT(struct import_options, listen), .name = "listen", .argument = "ADDRESS:PORT",
     .fallback = "127.0.0.1:8640", .help = "where the gate is to listen"},
    {CLI_TEXT(struct import_options, output), .name = "output", .letter = 'o', .argument = "FILE",
     .help = "write to this file instead of stdout; only its owner can read it"},
    {CLI_TEXT(struct import_options, project), .name = "project", .argument = "DIR", .fallback = ".",
     .help = "where project files are looked for"},
    {CLI_SWITCH(struct import_options, force), .name = "force", .help = "overwrite the file"},
    {0},
};

struct import {
    struct arena arena;
    struct cli_clients clients;
    const char *names[IMPORT_SERVERS_MAX];
    struct slice jsons[IMPORT_SERVERS_MAX];
    size_t count;
};

/* The policy's path is relative to its client's file. */
static const char *policy_path(struct import *im, const struct cli_client_file *f, const char *policy) {
    char real[PATH_MAX];
    if (!policy || policy[0] == '/')
        return policy;
    const char *slash = strrchr(f->path, '/');
    const char *beside =
        slash ? arena_printf(&im->arena, "%.*s/%s", (int)(slash - f->path), f->path, policy).ptr : policy;
    return arena_dup(&im->arena, slice_str(realpath(beside, real) ? real : beside)).ptr;
}

static bool same_before(struct import *im, const char *name, struct slice json, bool *ret_alike) {
    struct slice skeleton = risk_skeleton(slice_str(name), &im->arena);
    *ret_alike = false;
    for (size_t i = 0; i < im->count; i++) {
        if (!slice_eq(skeleton, risk_skeleton(slice_str(im->names[i]), &im->arena)))
            continue;
        *ret_alike = true;
        if (slice_eq(json, im->jsons[i]))
            return true;
    }
    return false;
}

/* Names in the form that the gate accepts. */
static const char *fit_name(struct import *im, const char *title) {
    char *name = arena_alloc(&im->arena, strlen(title) + 1);
    memcpy(name, title, strlen(title) + 1);
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-' ||
              *c == '.' || (*c == '_' && c[1] && c[1] != '_')))
            *c = '-';
    return name;
}

static void import_server(struct import *im, const struct cli_client_file *f,
                          const struct cli_client_server *s, struct buf *out) {
    bool alike;
    if (slice_is(s->json, "{}") || (s->wired && strcmp(s->name, CLI_GATE_NAME) == 0) ||
        im->count == IMPORT_SERVERS_MAX)
        return;
    const char *name = fit_name(im, s->name);
    if (same_before(im, name, s->json, &alike))
        return;
    for (unsigned i = 1; alike; i++) {
        name = i == 1 ? arena_printf(&im->arena, "%s-%s", fit_name(im, s->name), f->client->name).ptr
                      : arena_printf(&im->arena, "%s-%s-%u", fit_name(im, s->name), f->client->name, i).ptr;
        if (same_before(im, name, s->json, &alike))
            return;
    }
    if (s->lost)
        fprintf(stderr, "sallyport: server `%s` of `%s`: %s\n", s->name, f->path, s->lost);
    im->names[im->count] = name;
    im->jsons[im->count++] = s->json;
    cli_yaml_server(out, SLICE("  "), name, s->json, policy_path(im, f, s->policy), &im->arena);
}

static int collect(struct import *im, const struct import_options *opt, const struct cli_rest *rest,
                   struct err *err) {
    const struct cli_client *client = opt->client ? cli_client_find(opt->client, err) : NULL;
    if (opt->client && !client)
        return -1;
    for (size_t i = 0; i < rest->operand_count; i++)
        if (cli_clients_add(&im->clients, client, rest->operands[i], err) < 0)
            return -1;
    if (!rest->operand_count && cli_clients_find(&im->clients, client, opt->project, err) < 0)
        return -1;
    return im->clients.count ? 0 : err_set(err, "no client's configuration was found; name a file");
}

static int deliver(const struct import_options *opt, const struct buf *out, struct err *err) {
    if (!opt->output)
        return cli_print(out);
    if (access(opt->output, F_OK) == 0 && !opt->force) {
        err_set(err, "`%s` is there already; --force overwrites it", opt->output);
        return cli_fail(CLI_NO, err);
    }
    return io_file_replace(opt->output, buf_slice(out), 0600, err) < 0 ? cli_fail(CLI_FAILED, err) : CLI_OK;
}

static int import_run(const void *options, const struct cli_rest *rest) {
    const struct import_options *opt = options;
    struct import *im = mem_zalloc(sizeof(*im));
    struct err err = {0};
    cleanup_buf struct buf out;
    buf_init(&out, IMPORT_OUT_MAX);
    arena_init(&im->arena);
    int status = CLI_CONFIG;
    if (collect(im, opt, rest, &err) < 0) {
        cli_fail(CLI_CONFIG, &err);
    } else {
        cli_yaml_head(&out, opt->listen, opt->policy);
        for (size_t i = 0; i < im->clients.count; i++) {
            const struct cli_client_file *f = im->clients.files[i];
            if (f->bad)
                fprintf(stderr, "sallyport: `%s` is left out: %s\n", f->path, f->err.text);
            for (size_t k = 0; !f->bad && k < f->count; k++)
                import_server(im, f, &f->servers[k], &out);
        }
        if (!im->count)
            buf_put_str(&out, "  {}\n");
        status = deliver(opt, &out, &err);
    }
    cli_clients_free(&im->clients);
    arena_free(&im->arena);
    free(im);
    return status;
}

static const struct cli_example import_examples[] = {
    {"sallyport import ~/.cursor/mcp.json", "show the servers of one client as settings"},
    {"sallyport import --policy policy.yaml -o sallyport.yaml",
     "take the servers of every client that is found"},
    {"sallyport import --client codex config.toml", "a file whose name does not show its client"},
    {0},
};

const struct cli_command cli_import = {
    .name = "import",
    .summary = "turn clients' files into a sallyport.yaml",
    .detail =
        "Reads the files named, or those of every client that is found. A server that Intercept or Sallyport "
        "wraps is taken as it is behind them, and keeps their policy, in whichever dialect it is written. "
        "Secrets in the files are in the output.",
    .options = import_rows,
    .options_size = sizeof(struct import_options),
    .operands = "[FILE...]",
    .operands_max = 64,
    .examples = import_examples,
    .run = import_run,
};
