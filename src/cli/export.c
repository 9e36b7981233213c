/* sallyport export: prints the text for a client's file. */
#include "base/mem.h"
#include "cli/clients.h"
#include "cli/gates.h"
#include "front/settings.h"
#include "io/file.h"
#include "wire/emit.h"

#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#define EXPORT_OUT_MAX (16u << 20)

struct export_options {
    const char *config;
    const char *client;
    const char *url;
    const char *token;
    const char *output;
    bool plain;
};

static const struct cli_option export_rows[] = {
    {CLI_TEXT(struct export_options, config), .name = "config", .letter = 'c', .argument = "FILE",
     .help = "the settings; by default ./sallyport.yaml, else the one that `init` wrote"},
    {CLI_TEXT(struct export_options, client), .name = "client", .argument = "NAME", .fallback = "claude-code",
     .help = "the client: claude-desktop, claude-code, cursor, vscode, windsurf, cline, zed, codex, gemini"},
    {CLI_TEXT(struct export_options, url), .name = "url", .argument = "URL",
     .help = "of the gate, when clients know it by another address than it listens on"},
    {CLI_TEXT(struct export_options, token), .name = "token", .argument = "TOKEN", .fallback = "GRANT",
     .help = "the grant to write down; see `sallyport grants create`"},
    {CLI_SWITCH(struct export_options, plain), .name = "plain",
     .help = "the servers themselves, without the gate in front"},
    {CLI_TEXT(struct export_options, output), .name = "output", .letter = 'o', .argument = "FILE",
     .help = "write to this file instead of stdout; only its owner can read it"},
    {0},
};

/* Where the client has its servers. */
static const char *members_of(const struct cli_client *client) {
    if (strcmp(client->name, "vscode") == 0)
        return "servers";
    return strcmp(client->name, "zed") == 0 ? "context_servers" : "mcpServers";
}

static void put_pairs(struct emit *e, const char *key, const struct settings_list *list, char between) {
    if (!list->count)
        return;
    emit_key(e, key);
    emit_object(e);
    for (size_t i = 0; i < list->count; i++) {
        struct slice value = slice_str(list->items[i]), name;
        slice_cut(&value, between, &name);
        emit_key_slice(e, name);
        emit_str(e, between == ':' ? slice_trim(value) : value);
    }
    emit_object_end(e);
}

/* As struct cli_client_server has it. */
static void put_plain(const struct settings_server *s, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    if (s->command) {
        emit_key(&e, "command");
        emit_cstr(&e, s->command);
        emit_strings(&e, "args", s->args.items, s->args.count);
    } else {
        emit_key(&e, "url");
        emit_cstr(&e, s->url);
    }
    put_pairs(&e, "env", &s->env, '=');
    if (s->cwd) {
        emit_key(&e, "cwd");
        emit_cstr(&e, s->cwd);
    }
    put_pairs(&e, "headers", &s->headers, ':');
    if (s->type == SETTINGS_SSE) {
        emit_key(&e, "type");
        emit_cstr(&e, "sse");
    }
    if (s->disabled) {
        emit_key(&e, "disabled");
        emit_bool(&e, true);
    }
    emit_object_end(&e);
}

static void export_plain(const struct cli_client *client, const struct settings *settings, struct arena *a,
                         struct buf *out) {
    const bool toml = client->remote == CLI_REMOTE_TOML;
    if (!toml)
        buf_printf(out, "{\n  \"%s\": {", members_of(client));
    for (size_t i = 0; i < settings->server_count; i++) {
        const struct settings_server *s = &settings->servers[i];
        cleanup_buf struct buf json;
        buf_init(&json, EXPORT_OUT_MAX);
        put_plain(s, &json);
        if (toml) {
            buf_put_str(out, i ? "\n[mcp_servers." : "[mcp_servers.");
            toml_quote(out, slice_str(s->title));
            buf_put_str(out, "]\n");
        } else {
            buf_put_str(out, i ? ",\n    " : "\n    ");
            emit_quote(out, slice_str(s->title));
            buf_put_str(out, ": ");
        }
        cli_client_put_server(client, buf_slice(&json), a, out);
    }
    if (!toml)
        buf_put_str(out, "\n  }\n}\n");
}

static void export_gate(const struct cli_client *client, const struct cli_client_plan *plan,
                        struct buf *out) {
    if (client->remote == CLI_REMOTE_TOML) {
        cli_client_put_gate(client, plan, (struct slice){0}, (struct slice){0}, out);
        return;
    }
    buf_printf(out, "{\n  \"%s\": {\n    \"" CLI_GATE_NAME "\": ", members_of(client));
    cli_client_put_gate(client, plan, SLICE("    "), SLICE("  "), out);
    buf_put_str(out, "\n  }\n}\n");
}

static int export_run(const void *options, const struct cli_rest *rest) {
    const struct export_options *opt = options;
    struct err err = {0};
    char path[CLI_PATH_MAX], program[PATH_MAX] = "sallyport";
    cleanup_settings struct settings *settings = NULL;
    cleanup_arena struct arena a;
    cleanup_buf struct buf out;
    arena_init(&a);
    buf_init(&out, EXPORT_OUT_MAX);
    (void)rest;
    const struct cli_client *client = cli_client_find(opt->client, &err);
    if (!client)
        return cli_fail(CLI_USAGE, &err);
    if (!cli_home_settings(opt->config, path)) {
        err_set(&err, "there is no sallyport.yaml here: `sallyport import -o sallyport.yaml` makes one of a "
                      "client's file, `--config FILE` names another");
        return cli_fail(CLI_CONFIG, &err);
    }
    if (settings_load(path, NULL, 0, &settings, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
        snprintf(program, sizeof(program), "sallyport");
    struct cli_client_plan plan = {
        .program = program,
        .url = opt->url ? opt->url : cli_gate_url(settings, &a),
        .token = opt->token,
        .through = "through.yaml",
    };
    cli_client_runner(&plan.program, &plan.lead);
    if (opt->plain)
        export_plain(client, settings, &a, &out);
    else
        export_gate(client, &plan, &out);
    if (!opt->plain && strcmp(opt->token, "GRANT") == 0)
        fprintf(stderr, "sallyport: put the token of `sallyport grants create %s` in place of GRANT\n",
                client->name);
    if (!opt->plain && client->remote == CLI_REMOTE_NONE)
        fprintf(stderr,
                "sallyport: through.yaml is a policy with `default: allow`; the gate behind it decides\n");
    if (!opt->output)
        return cli_print(&out);
    return io_file_replace(opt->output, buf_slice(&out), 0600, &err) < 0 ? cli_fail(CLI_FAILED, &err)
                                                                         : CLI_OK;
}

static const struct cli_example export_examples[] = {
    {"sallyport export --client cursor --token \"$(sallyport grants create cursor)\"",
     "what to put into ~/.cursor/mcp.json to reach the gate"},
    {"sallyport export --client codex --plain", "the servers as Codex would start them itself"},
    {0},
};

const struct cli_command cli_export = {
    .name = "export",
    .summary = "write a client's configuration that points at the gate",
    .detail = "Prints what to paste into the client's own file: one member that reaches the gate of the "
              "settings with a "
              "grant, or with --plain every server as the client itself would start it.",
    .options = export_rows,
    .options_size = sizeof(struct export_options),
    .examples = export_examples,
    .run = export_run,
};
