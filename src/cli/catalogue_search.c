/* catalogue search: servers and tools by a part of their names. */
#include "cli/command.h"

#include "base/glyph.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/catalogue.h"
#include "cli/pager.h"
#include "risk/search.h"

#define SEARCH_TEXT_MAX (16u << 20)
#define SEARCH_WORD_MAX 200 /* bytes of all words */
#define SEARCH_WORDS_MAX 16
#define SEARCH_TOOLS_SHOWN 30
#define SEARCH_NAME_MAX 64

size_t cli_catalogue_servers(struct slice words, struct arena *a, struct risk_published **ret_servers) {
    size_t *order, all = risk_search_order(a, &order), count = 0;
    struct risk_published *found = arena_array(a, struct risk_published, all);
    for (size_t i = 0; i < all; i++) {
        risk_catalogue_server(order[i], &found[count]);
        count += risk_search_names(&found[count], words);
    }
    *ret_servers = found;
    return count;
}

/* The tools of all servers, the best known first; those that have just this name come before all others. */
static size_t find_tools(struct slice words, struct arena *a, struct risk_known **ret_tools) {
    size_t *order, all = risk_search_order(a, &order), count = 0;
    struct risk_known *tools = arena_array(a, struct risk_known, risk_catalogue_count());
    for (int exact = 1; exact >= 0; exact--) {
        for (size_t i = 0; i < all; i++) {
            struct risk_published server;
            risk_catalogue_server(order[i], &server);
            for (size_t k = server.first; k < server.first + server.tools; k++) {
                struct risk_known *known = &tools[count];
                risk_catalogue_get(k, known);
                count +=
                    slice_eq_nocase(known->tool, words) == exact && risk_search_tool(known, &server, words);
            }
        }
    }
    *ret_tools = tools;
    return count;
}

/* ---- for scripts ---- */

static void put_tool_json(struct emit *e, const struct risk_known *k) {
    emit_object(e);
    emit_key(e, "tool");
    emit_str(e, k->tool);
    emit_key(e, "registry");
    emit_cstr(e, risk_registry_name(k->registry));
    emit_key(e, "package");
    emit_str(e, k->package);
    emit_key(e, "version");
    emit_str(e, k->version);
    emit_key(e, "category");
    emit_cstr(e, risk_class_name(k->cls));
    emit_key(e, "severity");
    emit_cstr(e, risk_severity_name(risk_class_severity(k->cls)));
    emit_key(e, "confidence");
    emit_double(e, k->confidence / 100.0);
    risk_tags_put(e, k->tags);
    emit_key(e, "tokens");
    emit_int(e, k->tokens);
    emit_key(e, "fingerprint_head");
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)k->full);
    emit_cstr(e, text);
    emit_object_end(e);
}

/* Every version, and all tools of a server that is found by its name: a script chooses for itself. */
static size_t put_json(struct slice words, struct buf *out) {
    size_t count = 0;
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        struct risk_known known;
        struct risk_published server;
        risk_catalogue_get(i, &known);
        risk_catalogue_server(known.server, &server);
        if (!risk_search_names(&server, words) && !risk_search_tool(&known, &server, words))
            continue;
        put_tool_json(&e, &known);
        count++;
    }
    emit_array_end(&e);
    buf_put_char(out, '\n');
    return count;
}

/* ---- for people ---- */

static void put_server(const struct risk_published *s, int width, struct arena *a, struct buf *out) {
    size_t risky = 0;
    for (size_t i = s->first; i < s->first + s->tools; i++) {
        struct risk_known k;
        risk_catalogue_get(i, &k);
        risky += k.cls != RISK_READ;
    }
    struct slice name = glyph_printable(s->name, SEARCH_NAME_MAX, a);
    buf_printf(out, "  %-*.*s  %-6s  %3zu tools, %3zu of them change something\n", width, SLICE_FMT(name),
               risk_registry_name(s->registry), s->tools, risky);
}

static size_t put_servers(struct slice words, struct arena *a, struct buf *out) {
    struct risk_published *servers;
    size_t count = cli_catalogue_servers(words, a, &servers);
    int width = 0;
    for (size_t i = 0; i < count; i++)
        if ((int)servers[i].name.len > width)
            width = (int)servers[i].name.len;
    if (count)
        buf_printf(out, "%zu server%s, the best known first\n", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        put_server(&servers[i], width > SEARCH_NAME_MAX ? SEARCH_NAME_MAX : width, a, out);
    return count;
}

static size_t put_tools(struct slice words, struct arena *a, struct buf *out) {
    struct risk_known *tools;
    size_t count = find_tools(words, a, &tools);
    if (count)
        buf_printf(out, "%s%zu tool%s\n", out->len ? "\n" : "", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < SEARCH_TOOLS_SHOWN; i++)
        buf_printf(out, "  %-11s  %-36.*s  %.*s\n", risk_class_name(tools[i].cls),
                   SLICE_FMT(glyph_printable(tools[i].tool, SEARCH_NAME_MAX, a)),
                   SLICE_FMT(glyph_printable(tools[i].package, SEARCH_NAME_MAX, a)));
    if (count > SEARCH_TOOLS_SHOWN)
        buf_printf(out, "  and %zu more; --json lists all\n", count - SEARCH_TOOLS_SHOWN);
    return count;
}

static size_t put_text(struct slice words, struct arena *a, struct buf *out) {
    size_t servers = put_servers(words, a, out);
    return servers + put_tools(words, a, out);
}

static int search_run(const void *options, const struct cli_rest *rest) {
    const struct cli_catalogue_options *opt = options;
    struct err err = {0};
    cleanup_buf struct buf joined;
    buf_init(&joined, SEARCH_TEXT_MAX);
    for (size_t i = 0; i < rest->operand_count; i++)
        buf_printf(&joined, "%s%s", i ? " " : "", rest->operands[i]);
    struct slice words = slice_trim(buf_slice(&joined));
    if (!words.len || words.len > SEARCH_WORD_MAX) {
        err_set(&err, "words of 1 to %d bytes are wanted", SEARCH_WORD_MAX);
        return cli_fail(CLI_USAGE, &err);
    }
    if (risk_catalogue_open(opt->file, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_buf struct buf out;
    buf_init(&out, SEARCH_TEXT_MAX);
    size_t found = opt->json ? put_json(words, &out) : put_text(words, &a, &out);
    if (!found)
        log_warn("the catalogue has nothing of the name `%.*s`",
                 SLICE_FMT(glyph_printable(words, SEARCH_WORD_MAX, &a)));
    int status = !out.len ? CLI_OK : opt->json ? cli_print(&out) : cli_page(&out);
    return status ? status : found ? CLI_OK : CLI_NO;
}

static const struct cli_example search_examples[] = {
    {"sallyport catalogue search stripe", "servers and tools with that word"},
    {"sallyport catalogue search github delete", "tools that delete, of servers for GitHub"},
    {"sallyport catalogue search financial", "every tool that moves money"},
    {0},
};

const struct cli_command cli_catalogue_search = {
    .name = "catalogue search",
    .summary = "find servers and tools whose names contain all words, or tools of a class",
    .options = cli_catalogue_rows,
    .options_size = sizeof(struct cli_catalogue_options),
    .operands = "WORD...",
    .operands_min = 1,
    .operands_max = SEARCH_WORDS_MAX,
    .examples = search_examples,
    .run = search_run,
};
