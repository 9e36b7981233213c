/* scan: the output formats, for one server and for a configuration with several.
 *
 *   table, json   one server: its tools; a configuration: a section for each server
 *   sarif         one run for all of them
 *   a policy      one server: the policy; a configuration: a file for each in the directory --output, or on
 *                 stdout a YAML stream or an object with a member for each */
#include "cli/scan.h"

#include "base/mem.h"
#include "io/file.h"
#include "pages/render.h"
#include "pages/server_page.h"
#include "wire/mask.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int deliver(const struct scan_options *opt, const struct buf *out) {
    struct err err = {0};
    if (out->full) {
        err_set(&err, "the result is larger than %zu bytes", out->max);
        return cli_fail(CLI_FAILED, &err);
    }
    if (!opt->output)
        return out->len ? cli_print(out) : CLI_OK;
    return io_file_write(opt->output, buf_slice(out), &err) ? cli_fail(CLI_FAILED, &err) : CLI_OK;
}

/* ---- parts ---- */

static void put_table(const struct scan_options *opt, struct cli_asked *a, const struct risk_survey *s,
                      bool many, struct buf *out) {
    if (many)
        cli_mcpserver_text(a->server, &a->list.arena, out);
    if (!a->listed) {
        if (!opt->ask.no_start)
            buf_printf(out, "  %s\n", a->err.text);
        return;
    }
    if (many)
        buf_put_char(out, '\n');
    cli_scan_table(s, !opt->output && cli_colour(STDOUT_FILENO), &a->list.arena, out);
    if (many)
        buf_put_char(out, '\n');
}

/* The totals. */
static void put_total(const struct cli_asking *asking, const struct risk_survey *surveys, struct buf *out) {
    size_t servers = 0, tools = 0, changing = 0;
    unsigned long long tokens = 0;
    for (size_t i = 0; i < asking->count; i++) {
        if (!asking->asked[i].listed)
            continue;
        servers++;
        tools += surveys[i].count;
        changing += surveys[i].count - surveys[i].by_class[RISK_READ];
        tokens += surveys[i].tokens;
    }
    if (servers > 1)
        buf_printf(out, "All %zu servers: %zu tools. %zu can modify or destroy data. About %llu tokens.\n",
                   servers, tools, changing, tokens);
}

static void put_json(struct cli_asked *a, const struct risk_survey *s, struct emit *e) {
    emit_object(e);
    cli_mcpserver_json(a->server, e);
    if (a->listed) {
        cleanup_buf struct buf tools;
        buf_init(&tools, RISK_POLICY_BYTES_MAX);
        risk_survey_json(s, &a->list.arena, &tools);
        emit_key(e, "tools");
        emit_raw(e, slice_trim(buf_slice(&tools)));
    } else {
        emit_key(e, "error");
        emit_cstr(e, a->err.text);
    }
    emit_object_end(e);
}

static void put_all_json(struct cli_asking *asking, const struct risk_survey *surveys, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    for (size_t i = 0; i < asking->count; i++)
        put_json(&asking->asked[i], &surveys[i], &e);
    emit_array_end(&e);
    buf_put_char(out, '\n');
}

static void put_sarif(const struct scan_options *opt, struct cli_asking *asking,
                      const struct risk_survey *surveys, struct buf *out) {
    struct arena *a = &asking->config.arena;
    const struct risk_survey **list = arena_alloc(a, sizeof *list * (asking->count + 1));
    size_t count = 0;
    for (size_t i = 0; i < asking->count; i++)
        if (asking->asked[i].listed)
            list[count++] = &surveys[i];
    const char *uri = opt->ask.tools_json   ? opt->ask.tools_json
                      : opt->ask.mcp_config ? opt->ask.mcp_config
                                            : "tools/list";
    risk_sarif_write(list, count, SALLYPORT_VERSION, slice_str(uri), a, out);
}

/* ---- policies ---- */

static enum risk_dialect dialect_of(enum scan_format format) {
    return format == FORMAT_POLICYLAYER ? RISK_DIALECT_POLICYLAYER : RISK_DIALECT_INTERCEPT;
}

static bool is_page(enum scan_format format) { return format == FORMAT_HTML || format == FORMAT_MARKDOWN; }

static void put_all_policies(struct cli_asking *asking, const struct risk_survey *surveys,
                             enum scan_format format, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    bool json = format == FORMAT_POLICYLAYER;
    if (json)
        emit_object(&e);
    for (size_t i = 0; i < asking->count; i++) {
        struct cli_asked *a = &asking->asked[i];
        if (!a->listed)
            continue;
        cleanup_buf struct buf policy;
        buf_init(&policy, RISK_POLICY_BYTES_MAX);
        risk_survey_policy(&surveys[i], dialect_of(format), &a->list.arena, &policy);
        if (json) {
            emit_key(&e, a->server->name);
            emit_raw(&e, slice_trim(buf_slice(&policy)));
        } else {
            buf_put_str(out, "---\n");
            buf_put_slice(out, buf_slice(&policy));
        }
    }
    if (json) {
        emit_object_end(&e);
        buf_put_char(out, '\n');
    }
}

/* A server's name as a file name: what is not plain becomes an underscore. */
static void put_file_name(struct buf *path, const char *name) {
    for (const char *c = name; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                     *c == '-' || *c == '_' || (*c == '.' && c != name);
        buf_put_char(path, plain ? *c : '_');
    }
}

/* ---- pages ---- */

static void put_page(const struct cli_asked *a, const struct risk_survey *survey, enum scan_format format,
                     struct arena *arena, struct buf *out) {
    const struct settings_list *argv = &a->server->from->argv;
    struct slice *words = arena_array(arena, struct slice, argv->count + 1);
    struct subject subject;
    struct sheet sheet;
    for (size_t i = 0; i < argv->count; i++)
        words[i] = slice_str(argv->items[i]);
    subject_from_survey(survey, arena, &subject);
    subject.command = risk_supply_mask(words, argv->count, arena);
    subject.command_count = argv->count;
    subject.url = mask_url(slice_str(a->server->url), arena);
    sheet_init(&sheet, arena, "server");
    server_page(&subject, &sheet);
    struct render_options form = {.form = format == FORMAT_HTML ? RENDER_HTML : RENDER_MARKDOWN};
    render_sheet(&sheet, &form, out);
}

static void put_pages(struct cli_asking *asking, const struct risk_survey *surveys, enum scan_format format,
                      struct buf *out) {
    for (size_t i = 0; i < asking->count; i++)
        if (asking->asked[i].listed)
            put_page(&asking->asked[i], &surveys[i], format, &asking->config.arena, out);
}

static const char *file_end(enum scan_format format) {
    return format == FORMAT_POLICYLAYER ? ".json"
           : format == FORMAT_HTML      ? ".html"
           : format == FORMAT_MARKDOWN  ? ".md"
                                        : ".yaml";
}

static int write_files(const struct scan_options *opt, struct cli_asking *asking,
                       const struct risk_survey *surveys, enum scan_format format) {
    struct err err = {0};
    if (mkdir(opt->output, 0755) != 0 && errno != EEXIST) {
        err_set(&err, "cannot make the directory `%s`: %s", opt->output, strerror(errno));
        return cli_fail(CLI_CONFIG, &err);
    }
    for (size_t i = 0; i < asking->count; i++) {
        struct cli_asked *a = &asking->asked[i];
        if (!a->listed)
            continue;
        cleanup_buf struct buf policy, path;
        buf_init(&policy, RISK_POLICY_BYTES_MAX);
        buf_init(&path, CLI_PATH_MAX);
        buf_printf(&path, "%s/", opt->output);
        put_file_name(&path, a->server->name);
        buf_put_str(&path, file_end(format));
        buf_put_char(&path, 0);
        if (is_page(format))
            put_page(a, &surveys[i], format, &a->list.arena, &policy);
        else
            risk_survey_policy(&surveys[i], dialect_of(format), &a->list.arena, &policy);
        if (policy.full || path.full)
            err_set(&err, "the policy of `%s` or its path is too long", a->server->name);
        else if (io_file_write(path.ptr, buf_slice(&policy), &err) == 0)
            continue;
        return cli_fail(CLI_FAILED, &err);
    }
    return CLI_OK;
}

/* ---- all of it ---- */

int cli_scan_write(const struct scan_options *opt, struct cli_asking *asking,
                   const struct risk_survey *surveys) {
    enum scan_format format = (enum scan_format)opt->format;
    if (format == FORMAT_AUTO)
        format = opt->output && !asking->many ? FORMAT_INTERCEPT : FORMAT_TABLE;
    bool policies = format == FORMAT_INTERCEPT || format == FORMAT_POLICYLAYER;
    if ((policies || is_page(format)) && asking->many && opt->output)
        return write_files(opt, asking, surveys, format);
    cleanup_buf struct buf out;
    buf_init(&out, RISK_POLICY_BYTES_MAX);
    struct cli_asked *first = asking->asked;
    if (format == FORMAT_TABLE) {
        for (size_t i = 0; i < asking->count; i++)
            put_table(opt, &asking->asked[i], &surveys[i], asking->many, &out);
        put_total(asking, surveys, &out);
    } else if (format == FORMAT_SARIF)
        put_sarif(opt, asking, surveys, &out);
    else if (format == FORMAT_JSON && asking->many)
        put_all_json(asking, surveys, &out);
    else if (format == FORMAT_JSON)
        risk_survey_json(surveys, &first->list.arena, &out);
    else if (is_page(format))
        put_pages(asking, surveys, format, &out);
    else if (asking->many)
        put_all_policies(asking, surveys, format, &out);
    else
        risk_survey_policy(surveys, dialect_of(format), &first->list.arena, &out);
    return deliver(opt, &out);
}
