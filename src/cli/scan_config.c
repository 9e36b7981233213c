/* scan --mcp-config: every server of a client's configuration is started or reached at once and asked for its
 * tools. A package that imitates a known one is not started. */
#include "base/log.h"
#include "base/mem.h"
#include "cli/mcpconfig.h"
#include "cli/scan.h"
#include "cli/toollist.h"
#include "front/probe.h"

#include <unistd.h>

/* One server and what came of asking it. */
struct asked {
    const struct cli_mcpserver *server;
    struct probe *probe; /* NULL: not started */
    struct cli_toollist list;
    struct risk_survey survey;
    struct err err;
    bool listed;
};

static void tell_done(const struct probe *p) {
    if (p->failed)
        log_warn("%s: %s", p->name, p->err.text);
    else
        log_info("%s: answered in %llu ms", p->name, (unsigned long long)p->took_ms);
}

static int ask_all(const struct scan_options *opt, struct asked *asked, size_t count, struct probe *probes,
                   struct err *err) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cli_mcpserver *s = asked[i].server;
        if (s->impostor.len || opt->no_start) {
            err_set(&asked[i].err, "not started");
            continue;
        }
        asked[i].probe = &probes[n];
        probes[n++] = (struct probe){.name = s->name,
                                     .command = s->url ? NULL : (char *const *)(uintptr_t)s->from->argv.items,
                                     .env = s->from->env.items,
                                     .env_count = s->from->env.count,
                                     .cwd = s->from->cwd,
                                     .url = s->url,
                                     .headers = s->from->headers.items,
                                     .header_count = s->from->headers.count,
                                     .timeout_ms = opt->timeout_ms};
    }
    return n && probe_run(probes, n, tell_done, err) < 0 ? -1 : 0;
}

/* The answer becomes a list; the probe's text belongs to it then. */
static void take_answer(struct asked *a) {
    cli_toollist_init(&a->list);
    if (!a->probe)
        return;
    buf_free(&a->list.text);
    a->list.text = a->probe->text;
    if (a->probe->failed)
        a->err = a->probe->err;
    else if (cli_toollist_parse(&a->list, a->server->name, &a->err) == 0)
        a->listed = true;
    a->list.server = slice_str(a->server->name);
    a->list.package = a->server->supply.package;
    a->list.version = a->server->supply.version;
}

static void add_names(struct map *names, struct cli_toollist *list) {
    TAPE_FOR_ELEM(&list->tape, list->tools, tool) {
        uint32_t name = tape_is(&list->tape, tool, TAPE_OBJECT) ? tape_get_str(&list->tape, tool, "name") : 0;
        if (name && tape_is(&list->tape, name, TAPE_STRING))
            map_put(names, tape_text(&list->tape, name, &list->arena), list);
    }
}

/* Each against the names of all others. */
static void survey_all(struct asked *asked, size_t count, const struct risk_lock *lock) {
    for (size_t i = 0; i < count; i++) {
        struct asked *a = &asked[i];
        if (!a->listed)
            continue;
        struct map others;
        map_init(&others);
        for (size_t k = 0; k < count; k++)
            if (k != i && asked[k].listed)
                add_names(&others, &asked[k].list);
        struct risk_survey_input in = {.t = &a->list.tape,
                                       .tools = a->list.tools,
                                       .server = a->list.server,
                                       .package = a->list.package,
                                       .version = a->list.version,
                                       .instructions = a->list.instructions,
                                       .lock = lock,
                                       .others = &others};
        risk_survey_run(&in, &a->list.arena, &a->survey);
        a->survey.in.others = NULL;
        map_free(&others);
    }
}

static void write_text(const struct scan_options *opt, struct asked *a, struct buf *out) {
    cli_mcpserver_text(a->server, &a->list.arena, out);
    if (a->listed) {
        buf_put_char(out, '\n');
        cli_scan_table(&a->survey, !opt->output && cli_colour(STDOUT_FILENO), &a->list.arena, out);
        buf_put_char(out, '\n');
    } else if (!opt->no_start) {
        buf_printf(out, "  %s\n", a->err.text);
    }
}

static void write_json(struct asked *a, struct emit *e) {
    emit_object(e);
    cli_mcpserver_json(a->server, e);
    if (a->listed) {
        cleanup_buf struct buf tools;
        buf_init(&tools, RISK_POLICY_BYTES_MAX);
        risk_survey_json(&a->survey, &a->list.arena, &tools);
        emit_key(e, "tools");
        emit_raw(e, slice_trim(buf_slice(&tools)));
    } else {
        emit_key(e, "error");
        emit_cstr(e, a->err.text);
    }
    emit_object_end(e);
}

static int write_all(const struct scan_options *opt, struct asked *asked, size_t count) {
    bool json = opt->format == FORMAT_JSON;
    cleanup_buf struct buf out;
    buf_init(&out, RISK_POLICY_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    if (json)
        emit_array(&e);
    for (size_t i = 0; i < count; i++) {
        if (json)
            write_json(&asked[i], &e);
        else
            write_text(opt, &asked[i], &out);
    }
    if (json) {
        emit_array_end(&e);
        buf_put_char(&out, '\n');
    }
    return cli_scan_deliver(opt, &out);
}

/* The worst of all: no, then failed, then fine. */
static int status_of(const struct scan_options *opt, const struct asked *asked, size_t count) {
    int status = CLI_OK;
    for (size_t i = 0; i < count; i++) {
        if (asked[i].server->impostor.len ||
            (asked[i].listed && cli_scan_alarms(opt, &asked[i].survey) == CLI_NO))
            return CLI_NO;
        if (!asked[i].listed && !opt->no_start)
            status = CLI_FAILED;
    }
    return status;
}

int cli_scan_config(const struct scan_options *opt) {
    struct err err = {0};
    if (opt->format != FORMAT_AUTO && opt->format != FORMAT_TABLE && opt->format != FORMAT_JSON) {
        err_set(&err,
                "--mcp-config is written as a table or JSON; a policy is made for one server at a time");
        return cli_fail(CLI_USAGE, &err);
    }
    cleanup_mcpconfig struct cli_mcpconfig config;
    cli_mcpconfig_init(&config);
    cleanup_lock struct risk_lock *lock = NULL;
    if (cli_mcpconfig_read(&config, opt->mcp_config, &err) || cli_scan_lock(opt->lock, &lock, &err))
        return cli_fail(CLI_CONFIG, &err);
    struct asked *asked = arena_array(&config.arena, struct asked, config.count + 1);
    struct probe *probes = arena_array(&config.arena, struct probe, config.count + 1);
    for (size_t i = 0; i < config.count; i++)
        asked[i].server = &config.servers[i];
    if (ask_all(opt, asked, config.count, probes, &err))
        return cli_fail(CLI_FAILED, &err);
    for (size_t i = 0; i < config.count; i++)
        take_answer(&asked[i]);
    survey_all(asked, config.count, lock);
    int status = write_all(opt, asked, config.count);
    if (!status)
        status = status_of(opt, asked, config.count);
    for (size_t i = 0; i < config.count; i++)
        cli_toollist_free(&asked[i].list);
    return status;
}
