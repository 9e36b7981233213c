#include "cli/ask.h"

#include "base/log.h"
#include "base/mem.h"
#include "front/probe.h"
#include "io/file.h"
#include "risk/catalogue.h"
#include "risk/executable.h"

#include <stdlib.h>
#include <string.h>

void cli_asking_init(struct cli_asking *asking) {
    *asking = (struct cli_asking){0};
    cli_mcpconfig_init(&asking->config);
}

void cli_asking_free(struct cli_asking *asking) {
    for (size_t i = 0; i < asking->count; i++)
        cli_toollist_free(&asking->asked[i].list);
    cli_mcpconfig_free(&asking->config);
}

/* ---- the servers ---- */

static size_t word_count(const char *const *argv) {
    size_t count = 0;
    while (argv && argv[count])
        count++;
    return count;
}

static struct slice *words_of(const struct settings_list *argv, struct arena *a) {
    struct slice *words = arena_array(a, struct slice, argv->count + 1);
    for (size_t i = 0; i < argv->count; i++)
        words[i] = slice_str(argv->items[i]);
    return words;
}

/* The command or URL of the command line, as if a configuration contained it. */
static void take_one(struct cli_mcpconfig *c, const struct cli_ask_options *opt,
                     const struct cli_rest *rest) {
    struct settings_server *from = arena_new(&c->arena, struct settings_server);
    struct cli_mcpserver *s = arena_new(&c->arena, struct cli_mcpserver);
    c->servers = s;
    c->count = 1;
    s->from = from;
    s->url = from->url = opt->upstream;
    from->headers = (struct settings_list){opt->headers.items, opt->headers.count};
    from->env = (struct settings_list){opt->env.items, opt->env.count};
    const char *const *command = (const char *const *)rest->command;
    from->argv = (struct settings_list){command, word_count(command)};
    struct slice *words = words_of(&from->argv, &c->arena);
    risk_supply_read(words, from->argv.count, &s->supply);
    if (s->supply.package.len)
        risk_lookalike_find(s->supply.registry, s->supply.package, &c->arena, &s->impostor);
    struct slice name = s->url ? risk_supply_url_name(slice_str(s->url), &c->arena)
                               : risk_supply_name(words, from->argv.count, &c->arena);
    s->name = from->name = from->title = opt->server ? opt->server : arena_dup(&c->arena, name).ptr;
}

static enum cli_exit find_servers(struct cli_asking *asking, const struct cli_ask_options *opt,
                                  const struct cli_rest *rest, struct err *err) {
    struct cli_mcpconfig *c = &asking->config;
    int sources = !!opt->tools_json + !!opt->upstream + !!opt->mcp_config + !!rest->command;
    if (sources != 1) {
        err_set(err, "give one of --tools-json FILE, --upstream URL, --mcp-config FILE or -- COMMAND");
        return CLI_USAGE;
    }
    if (opt->mcp_config && opt->server) {
        err_set(err, "--server names one server only; the configuration has names of its own");
        return CLI_USAGE;
    }
    asking->many = opt->mcp_config != NULL;
    if (opt->mcp_config && cli_mcpconfig_read(c, opt->mcp_config, err))
        return CLI_CONFIG;
    if (!opt->mcp_config)
        take_one(c, opt, rest);
    return CLI_OK;
}

static void make_rows(struct cli_asking *asking) {
    struct cli_mcpconfig *c = &asking->config;
    asking->asked = arena_array(&c->arena, struct cli_asked, c->count + 1);
    asking->count = c->count;
    for (size_t i = 0; i < c->count; i++) {
        asking->asked[i].server = &c->servers[i];
        cli_toollist_init(&asking->asked[i].list);
    }
}

/* ---- requests ---- */

static void print_progress(const struct probe *p) {
    if (p->failed)
        log_warn("%s: %s", p->name, p->err.text);
    else
        log_info("%s: answered in %llu ms", p->name, (unsigned long long)p->took_ms);
}

/* Turns the answer into a list, which then owns the probe's text. */
static void take_answer(struct cli_asked *a, struct probe *probe) {
    buf_free(&a->list.text);
    a->list.text = probe->text;
    if (probe->failed)
        a->err = probe->err;
    else if (cli_toollist_parse(&a->list, a->server->name, &a->err) == 0)
        a->listed = true;
    /* The name comes from the configuration: a server that chooses its name could pose as a new one. */
    a->list.server = slice_str(a->server->from->name);
    a->list.registry = a->server->supply.registry;
    a->list.package = a->server->supply.package;
    a->list.version = a->server->supply.version;
}

static int ask_all(struct cli_asking *asking, const struct cli_ask_options *opt, struct err *err) {
    struct arena *arena = &asking->config.arena;
    struct probe *probes = arena_array(arena, struct probe, asking->count + 1);
    struct cli_asked **whose = arena_array(arena, struct cli_asked *, asking->count + 1);
    size_t n = 0;
    char home[CLI_PATH_MAX];
    struct err ignored;
    const bool housed = cli_home(home, &ignored) == 0;
    for (size_t i = 0; i < asking->count; i++) {
        struct cli_asked *a = &asking->asked[i];
        const struct cli_mcpserver *s = a->server;
        a->list.server = slice_str(s->from->name);
        if (s->impostor.refuse || s->incomplete || opt->no_start) {
            err_set(&a->err, "not started");
            continue;
        }
        whose[n] = a;
        probes[n++] = (struct probe){.name = s->name,
                                     .command = s->url ? NULL : (char *const *)(uintptr_t)s->from->argv.items,
                                     .env = s->from->env.items,
                                     .env_count = s->from->env.count,
                                     .cwd = s->from->cwd,
                                     .url = s->url,
                                     .headers = s->from->headers.items,
                                     .header_count = s->from->headers.count,
                                     .settings = s->from,
                                     .home = housed ? home : NULL,
                                     .no_network = opt->no_network,
                                     .timeout_ms = opt->timeout_ms};
    }
    if (n && probe_run(probes, n, asking->many ? print_progress : NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        take_answer(whose[i], &probes[i]);
    return 0;
}

/* All servers, and their programs. */
static int ask_programs(struct cli_asking *asking, const struct cli_ask_options *opt, struct err *err) {
    if (ask_all(asking, opt, err))
        return -1;
    for (size_t i = 0; i < asking->count; i++) {
        struct cli_asked *a = &asking->asked[i];
        const struct settings_server *from = a->server->from;
        a->executable = risk_executable_hash(words_of(&from->argv, &a->list.arena), from->argv.count,
                                             from->cwd, getenv("PATH"), &a->list.arena);
    }
    return 0;
}

enum cli_exit cli_ask_found(struct cli_asking *asking, const struct cli_ask_options *opt, struct err *err) {
    asking->many = true;
    make_rows(asking);
    return ask_programs(asking, opt, err) ? CLI_FAILED : CLI_OK;
}

enum cli_exit cli_ask(struct cli_asking *asking, const struct cli_ask_options *opt,
                      const struct cli_rest *rest, struct err *err) {
    enum cli_exit status = find_servers(asking, opt, rest, err);
    if (status != CLI_OK)
        return status;
    make_rows(asking);
    struct cli_asked *first = asking->asked;
    if (opt->tools_json) {
        if (cli_toollist_read(&first->list, opt->tools_json, err))
            return CLI_CONFIG;
        first->listed = true;
        if (opt->server)
            first->list.server = slice_str(opt->server);
        return CLI_OK;
    }
    if (ask_programs(asking, opt, err))
        return CLI_FAILED;
    if (asking->many || first->listed)
        return CLI_OK;
    const struct risk_lookalike *impostor = &first->server->impostor;
    *err = first->err;
    if (!impostor->refuse)
        return CLI_FAILED;
    struct slice text = risk_lookalike_text(impostor, &first->list.arena);
    err_set(err, "not started: %.*s; if it is meant: sallyport catalogue trust --registry %s %.*s",
            SLICE_FMT(text), risk_registry_name(first->server->supply.registry),
            SLICE_FMT(first->server->supply.package));
    return CLI_NO;
}

void cli_asked_facts(struct cli_asked *asked, struct risk_server_facts *ret_facts) {
    const struct settings_list *argv = &asked->server->from->argv;
    *ret_facts = (struct risk_server_facts){
        .name = asked->list.server,
        .command = risk_supply_mask(words_of(argv, &asked->list.arena), argv->count, &asked->list.arena),
        .command_count = argv->count,
        .package = asked->list.package,
        .version = asked->list.version,
        .executable = asked->executable};
}

struct risk_lists cli_asked_lists(const struct cli_asked *asked) {
    return (struct risk_lists){
        .t = &asked->list.tape, .tools = asked->list.tools, .skills = asked->list.skills};
}

int cli_lock_read(const char *path, struct risk_lock **ret_lock, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    bool missing;
    if (io_file_read(path, &text, &missing, err) && !missing)
        return -1;
    return risk_lock_load(missing ? (struct slice){0} : buf_slice(&text), ret_lock, err)
               ? err_wrap(err, "read `%s`", path)
               : 0;
}
