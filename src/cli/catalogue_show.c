/* catalogue show, site: pages of servers, tools and attack patterns. */
#include "cli/command.h"

#include "base/glyph.h"
#include "base/mem.h"
#include "cli/catalogue.h"
#include "cli/pager.h"
#include "pages/lookup.h"
#include "pages/render.h"
#include "pages/website.h"
#include "risk/catalogue_place.h"
#include "wire/emit.h"

#define SHOW_WORD_MAX 300
#define SHOW_SUGGESTED 3
#define SHOW_NAME_MAX 100 /* three of them fit in a message */

static const char *const show_formats[] = {"text", "md", "html", "json", NULL};

struct show_options {
    const char *file;
    int format;
    bool all, json;
};

static const struct cli_option show_rows[] = {
    {CLI_TEXT(struct show_options, file), .name = "catalogue", .argument = "FILE",
     .help = "read this catalogue"},
    {CLI_CHOICE(struct show_options, format), .name = "format", .choices = show_formats, .fallback = "text",
     .help = "the form of the page"},
    {CLI_SWITCH(struct show_options, all), .name = "all", .letter = 'a',
     .help = "on a terminal, also policies, set-up, versions and questions"},
    {CLI_SWITCH(struct show_options, json), .name = "json", .help = "the same as --format json"},
    {0},
};

/* Names the servers that were probably meant. */
static int show_nothing(struct slice name, struct arena *a) {
    struct risk_published *servers;
    size_t count = cli_catalogue_servers(name, a, &servers);
    struct slice word = glyph_printable(name, SHOW_WORD_MAX, a);
    char text[ERR_TEXT_MAX];
    size_t used = 0;
    for (size_t i = 0; i < count && i < SHOW_SUGGESTED; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", i ? ", " : "",
                                 SLICE_FMT(glyph_printable(servers[i].name, SHOW_NAME_MAX, a)));
    struct err err = {0};
    if (count)
        err_set(&err, "the catalogue has nothing of the name `%.*s`; did you mean %s?", SLICE_FMT(word),
                text);
    else
        err_set(&err,
                "the catalogue has nothing of the name `%.*s`; `sallyport catalogue search` looks for parts "
                "of names",
                SLICE_FMT(word));
    return cli_fail(CLI_NO, &err);
}

static int show_run(const void *options, const struct cli_rest *rest) {
    const struct show_options *opt = options;
    struct err err = {0};
    struct slice name = slice_str(rest->operands[0]),
                 tool = slice_str(rest->operand_count > 1 ? rest->operands[1] : "");
    if (!name.len || name.len > SHOW_WORD_MAX || tool.len > SHOW_WORD_MAX) {
        err_set(&err, "a name of 1 to %d bytes is wanted", SHOW_WORD_MAX);
        return cli_fail(CLI_USAGE, &err);
    }
    if (risk_catalogue_open(opt->file, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct sheet sheet;
    sheet_init(&sheet, &a, "server");
    if (!lookup_page(name, tool, &sheet))
        return show_nothing(tool.len ? tool : name, &a);
    cleanup_buf struct buf out;
    buf_init(&out, PAGES_BYTES_MAX);
    struct render_options form = {.form = opt->json ? RENDER_JSON : (enum render_form)opt->format,
                                  .colour = cli_colour(STDOUT_FILENO),
                                  .all = opt->all};
    render_sheet(&sheet, &form, &out);
    if (form.form == RENDER_JSON)
        buf_put_char(&out, '\n');
    return form.form == RENDER_TEXT ? cli_page(&out) : cli_print(&out);
}

static const struct cli_example show_examples[] = {
    {"sallyport catalogue show @modelcontextprotocol/server-filesystem",
     "its tools, risk and a short summary"},
    {"sallyport catalogue show pypi/mcp-server-git --all", "the whole page, of one registry"},
    {"sallyport catalogue show mcp-server-git git_reset", "one tool of it"},
    {"sallyport catalogue show write_file", "every server with a tool of that name"},
    {"sallyport catalogue show attack:rug-pull", "an attack pattern: case, control, policy"},
    {"sallyport catalogue show stripe --format html > stripe.html", "a page for the browser, alone"},
    {0},
};

const struct cli_command cli_catalogue_show = {
    .name = "catalogue show",
    .summary = "show the page of a server, a tool or an attack pattern",
    .options = show_rows,
    .options_size = sizeof(struct show_options),
    .operands = "NAME [TOOL]",
    .operands_min = 1,
    .operands_max = 2,
    .examples = show_examples,
    .run = show_run,
};

/* ---- site ---- */

struct site_options {
    const char *file;
    bool json;
};

static const struct cli_option site_rows[] = {
    {CLI_TEXT(struct site_options, file), .name = "catalogue", .argument = "FILE",
     .help = "read this catalogue"},
    {CLI_SWITCH(struct site_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static int site_run(const void *options, const struct cli_rest *rest) {
    const struct site_options *opt = options;
    struct err err = {0};
    struct website_count count;
    if (risk_catalogue_open(opt->file, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    if (website_write(rest->operands[0], &count, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    cleanup_buf struct buf out;
    buf_init(&out, CLI_TEXT_MAX);
    buf_printf(&out,
               opt->json ? "{\"servers\":%zu,\"tools\":%zu,\"attacks\":%zu}\n"
                         : "%zu servers, %zu tools, %zu attack patterns: open index.html in a browser\n",
               count.servers, count.tools, count.attacks);
    return cli_print(&out);
}

static const struct cli_example site_examples[] = {
    {"sallyport catalogue site /srv/www/catalogue",
     "all pages, with a search; nothing is fetched from elsewhere"},
    {0},
};

const struct cli_command cli_catalogue_site = {
    .name = "catalogue site",
    .summary = "write the catalogue as a static site",
    .options = site_rows,
    .options_size = sizeof(struct site_options),
    .operands = "DIR",
    .operands_min = 1,
    .operands_max = 1,
    .examples = site_examples,
    .run = site_run,
};
