/* status --tokens: the cost of definitions for an agent, listed up front and with discovery. The estimate
 * is that of `scan`, the same in every build; docs/tokens.md has figures with a vendor's tokenizer. */
#include "base/glyph.h"
#include "base/mem.h"
#include "cli/scan.h"
#include "cli/status.h"
#include "profiles/profile.h"

#define TOKENS_OUT_MAX (64u << 20)
#define TOKENIZER "estimate of sallyport scan"

struct report {
    struct cli_asking asking;
    struct risk_survey *surveys;
    struct cli_toollist lazy_list;
    struct risk_survey lazy;
    uint64_t total;
    size_t tools;
};

/* The tools that a lazy list shows, counted like all others. */
static int count_lazy(struct report *r, struct err *err) {
    struct emit e;
    cli_toollist_init(&r->lazy_list);
    emit_init(&e, &r->lazy_list.text);
    emit_array(&e);
    profile_write_discovery(&e);
    emit_array_end(&e);
    if (cli_toollist_parse(&r->lazy_list, "code", err) < 0)
        return -1;
    const struct risk_survey_input in = {
        .t = &r->lazy_list.tape, .tools = r->lazy_list.tools, .server = SLICE("code")};
    risk_survey_run(&in, &r->lazy_list.arena, &r->lazy);
    return 0;
}

static void put_text(const struct report *r, struct buf *out) {
    buf_put_str(out,
                "Tokens of definitions in every conversation (" TOKENIZER ", not a vendor's tokenizer):\n\n");
    for (size_t i = 0; i < r->asking.count; i++) {
        struct cli_asked *a = &r->asking.asked[i];
        const struct risk_survey *s = &r->surveys[i];
        struct slice name = glyph_printable(slice_str(a->server->name), 48, &a->list.arena);
        if (!a->listed) {
            buf_printf(out, "%-24.*s %s\n", SLICE_FMT(name), a->err.text);
            continue;
        }
        buf_printf(out, "%-24.*s %8llu  %zu tools\n", SLICE_FMT(name), (unsigned long long)s->tokens,
                   s->count);
        for (size_t k = 0; k < s->count; k++) {
            struct slice tool = glyph_printable(s->tools[k].entry.name, 64, &a->list.arena);
            buf_printf(out, "  %-40.*s %6u\n", SLICE_FMT(tool), s->tools[k].entry.tokens);
        }
    }
    buf_printf(out, "\nall listed up front      %8llu  %zu tools\n", (unsigned long long)r->total, r->tools);
    buf_printf(out, "discovery: {mode: lazy}  %8llu  %zu tools, and each definition when it is looked up\n",
               (unsigned long long)r->lazy.tokens, r->lazy.count);
}

static void put_server_json(struct cli_asked *a, const struct risk_survey *s, struct emit *e) {
    emit_object(e);
    emit_key(e, "server");
    emit_cstr(e, a->server->name);
    if (a->listed) {
        emit_key(e, "tokens");
        emit_int(e, (int64_t)s->tokens);
        emit_key(e, "tools");
        emit_array(e);
        for (size_t k = 0; k < s->count; k++) {
            emit_object(e);
            emit_key(e, "tool");
            emit_str(e, s->tools[k].entry.name);
            emit_key(e, "tokens");
            emit_int(e, s->tools[k].entry.tokens);
            emit_object_end(e);
        }
        emit_array_end(e);
    } else {
        emit_key(e, "error");
        emit_cstr(e, a->err.text);
    }
    emit_object_end(e);
}

static void put_json(const struct report *r, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "tokenizer");
    emit_cstr(&e, TOKENIZER);
    emit_key(&e, "servers");
    emit_array(&e);
    for (size_t i = 0; i < r->asking.count; i++)
        put_server_json(&r->asking.asked[i], &r->surveys[i], &e);
    emit_array_end(&e);
    emit_key(&e, "up_front");
    emit_int(&e, (int64_t)r->total);
    emit_key(&e, "lazy");
    emit_int(&e, (int64_t)r->lazy.tokens);
    emit_object_end(&e);
    buf_put_char(out, '\n');
}

static int ask_servers(struct report *r, const struct settings *settings, const struct status_options *opt,
                       struct err *err) {
    struct cli_mcpconfig *c = &r->asking.config;
    const struct cli_ask_options ask = {.timeout_ms = opt->timeout_ms};
    c->servers = arena_array(&c->arena, struct cli_mcpserver, settings->server_count + 1);
    for (size_t i = 0; i < settings->server_count; i++)
        if (!settings->servers[i].disabled)
            cli_mcpconfig_add(c, &settings->servers[i]);
    if (cli_ask_found(&r->asking, &ask, err) != CLI_OK)
        return -1;
    r->surveys = arena_array(&c->arena, struct risk_survey, r->asking.count + 1);
    cli_scan_survey(&r->asking, NULL, r->surveys);
    for (size_t i = 0; i < r->asking.count; i++) {
        r->total += r->surveys[i].tokens;
        r->tools += r->surveys[i].count;
    }
    return 0;
}

int cli_status_tokens(const struct status_options *opt) {
    struct err err = {0};
    char path[CLI_PATH_MAX];
    cleanup_settings struct settings *settings = NULL;
    const bool own = opt->config || !opt->client_files.count;
    cli_home_settings(opt->config, path);
    if (settings_load(own ? path : NULL, opt->client_files.items, opt->client_files.count, &settings, &err) <
        0)
        return cli_fail(CLI_CONFIG, &err);
    struct report r = {0};
    cli_asking_init(&r.asking);
    cleanup_buf struct buf out;
    buf_init(&out, TOKENS_OUT_MAX);
    int status = CLI_FAILED;
    if (count_lazy(&r, &err) < 0 || ask_servers(&r, settings, opt, &err) < 0) {
        cli_fail(CLI_FAILED, &err);
    } else {
        (opt->json ? put_json : put_text)(&r, &out);
        status = cli_print(&out);
    }
    cli_toollist_free(&r.lazy_list);
    cli_asking_free(&r.asking);
    return status;
}
