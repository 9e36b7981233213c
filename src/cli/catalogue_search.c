/* catalogue search: servers and tools by a part of their names. */
#include "cli/command.h"

#include "base/glyph.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/catalogue.h"
#include "cli/pager.h"
#include "risk/catalogue.h"

#define SEARCH_TEXT_MAX (16u << 20)
#define SEARCH_WORD_MAX 200
#define SEARCH_TOOLS_SHOWN 30
#define SEARCH_NAME_MAX 64

static bool has_word(struct slice text, struct slice word) {
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (slice_eq_nocase(slice_of(text.ptr + i, word.len), word))
            return true;
    return false;
}

/* A Go module begins with the host that it is fetched from. */
static struct slice name_without_host(const struct risk_published *s) {
    ptrdiff_t slash = s->registry == RISK_GO ? slice_find(s->name, '/') : -1;
    return slash < 0 ? s->name : slice_from(s->name, (size_t)slash + 1);
}

/* Servers of hosts and Go modules have no rank; the catalogue has only well-known ones of them. */
static uint32_t obscurity(const struct risk_published *s) {
    return s->registry == RISK_REMOTE || s->registry == RISK_GO ? 0 : s->rank ? s->rank : UINT32_MAX;
}

static int by_rank(const void *x, const void *y) {
    const struct risk_published *a = x, *b = y;
    uint32_t p = obscurity(a), q = obscurity(b);
    return p != q ? (p > q) - (p < q) : slice_cmp(a->name, b->name);
}

size_t cli_catalogue_servers(struct slice word, struct arena *a, struct risk_published **ret_servers) {
    struct risk_published *found = arena_array(a, struct risk_published, risk_catalogue_servers());
    size_t count = 0;
    for (size_t i = 0; i < risk_catalogue_servers(); i++) {
        struct risk_published *s = &found[count];
        risk_catalogue_server(i, s);
        count += s->newest && (has_word(name_without_host(s), word) || has_word(s->title, word));
    }
    qsort(found, count, sizeof *found, by_rank);
    *ret_servers = found;
    return count;
}

static bool is_found(const struct risk_known *k, struct slice word) {
    return has_word(k->package, word) || has_word(k->tool, word) ||
           slice_eq_nocase(slice_str(risk_class_name(k->cls)), word);
}

static bool is_tool_found(const struct risk_known *k, struct slice word) {
    struct risk_published s;
    risk_catalogue_server(k->server, &s);
    return s.newest && (has_word(k->tool, word) || slice_eq_nocase(slice_str(risk_class_name(k->cls)), word));
}

static int by_package(const void *x, const void *y) {
    const struct risk_known *a = x, *b = y;
    int order = slice_cmp(a->package, b->package);
    return order ? order : slice_cmp(a->tool, b->tool);
}

static size_t find_tools(bool (*wanted)(const struct risk_known *k, struct slice word), struct slice word,
                         struct arena *a, struct risk_known **ret_tools) {
    struct risk_known *tools = arena_array(a, struct risk_known, risk_catalogue_count());
    size_t count = 0;
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        risk_catalogue_get(i, &tools[count]);
        count += wanted(&tools[count], word);
    }
    qsort(tools, count, sizeof *tools, by_package);
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

static size_t put_json(struct slice word, struct arena *a, struct buf *out) {
    struct risk_known *tools;
    size_t count = find_tools(is_found, word, a, &tools);
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    for (size_t i = 0; i < count; i++)
        put_tool_json(&e, &tools[i]);
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

static size_t put_servers(struct slice word, struct arena *a, struct buf *out) {
    struct risk_published *servers;
    size_t count = cli_catalogue_servers(word, a, &servers);
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

static size_t put_tools(struct slice word, struct arena *a, struct buf *out) {
    struct risk_known *tools;
    size_t count = find_tools(is_tool_found, word, a, &tools);
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

static size_t put_text(struct slice word, struct arena *a, struct buf *out) {
    size_t servers = put_servers(word, a, out);
    return servers + put_tools(word, a, out);
}

static int search_run(const void *options, const struct cli_rest *rest) {
    const struct cli_catalogue_options *opt = options;
    struct err err = {0};
    struct slice word = slice_str(rest->operands[0]);
    if (!word.len || word.len > SEARCH_WORD_MAX) {
        err_set(&err, "a word of 1 to %d bytes is wanted", SEARCH_WORD_MAX);
        return cli_fail(CLI_USAGE, &err);
    }
    if (risk_catalogue_open(opt->file, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_buf struct buf out;
    buf_init(&out, SEARCH_TEXT_MAX);
    size_t found = opt->json ? put_json(word, &a, &out) : put_text(word, &a, &out);
    if (!found)
        log_warn("the catalogue has nothing of the name `%.*s`",
                 SLICE_FMT(glyph_printable(word, SEARCH_WORD_MAX, &a)));
    int status = !out.len ? CLI_OK : opt->json ? cli_print(&out) : cli_page(&out);
    return status ? status : found ? CLI_OK : CLI_NO;
}

static const struct cli_example search_examples[] = {
    {"sallyport catalogue search stripe", "servers and tools with that word"},
    {"sallyport catalogue search financial", "every tool that moves money"},
    {0},
};

const struct cli_command cli_catalogue_search = {
    .name = "catalogue search",
    .summary = "servers and tools whose names contain a word, or tools of a class",
    .options = cli_catalogue_rows,
    .options_size = sizeof(struct cli_catalogue_options),
    .operands = "WORD",
    .operands_min = 1,
    .operands_max = 1,
    .examples = search_examples,
    .run = search_run,
};
