/* catalogue show, search, stats: tools of published servers, known by fingerprint. */
#include "cli/command.h"

#include "base/glyph.h"
#include "base/log.h"
#include "base/mem.h"
#include "risk/catalogue.h"
#include "wire/emit.h"

#define CATALOGUE_TEXT_MAX (16u << 20)
#define CATALOGUE_WORD_MAX 200

struct catalogue_options {
    bool json;
};

static const struct cli_option catalogue_rows[] = {
    {CLI_SWITCH(struct catalogue_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static void put_known(struct emit *e, const struct risk_known *k) {
    emit_object(e);
    emit_key(e, "tool");
    emit_str(e, k->tool);
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
    emit_key(e, "tags");
    emit_array(e);
    for (unsigned i = 0; i < RISK_TAGS; i++)
        if (k->tags & 1u << i)
            emit_cstr(e, risk_tag_name(i));
    emit_array_end(e);
    emit_key(e, "tokens");
    emit_int(e, k->tokens);
    emit_key(e, "fingerprint_head");
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)k->full);
    emit_cstr(e, text);
    emit_object_end(e);
}

static void put_line(struct buf *out, const struct risk_known *k) {
    buf_printf(out, "%.*s@%.*s  %.*s  %s  %u tokens", SLICE_FMT(k->package), SLICE_FMT(k->version),
               SLICE_FMT(k->tool), risk_class_name(k->cls), k->tokens);
    for (unsigned i = 0; i < RISK_TAGS; i++)
        if (k->tags & 1u << i)
            buf_printf(out, " %s", risk_tag_name(i));
    buf_put_char(out, '\n');
}

static bool has_word(struct slice text, struct slice word) {
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (slice_eq_nocase(slice_of(text.ptr + i, word.len), word))
            return true;
    return false;
}

static int by_package(const void *x, const void *y) {
    const struct risk_known *a = x, *b = y;
    int order = slice_cmp(a->package, b->package);
    return order ? order : slice_cmp(a->tool, b->tool);
}

/* Prints the rows that `wanted` picks, in the order of package and tool. */
static int print_rows(bool json, bool (*wanted)(const struct risk_known *k, struct slice word),
                      struct slice word) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct risk_known *rows = arena_array(&a, struct risk_known, risk_catalogue_count());
    size_t found = 0;
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        risk_catalogue_get(i, &rows[found]);
        found += wanted(&rows[found], word);
    }
    if (!found)
        log_warn("the catalogue has nothing of the name `%.*s`",
                 SLICE_FMT(glyph_printable(word, CATALOGUE_WORD_MAX, &a)));
    qsort(rows, found, sizeof *rows, by_package);
    cleanup_buf struct buf out;
    buf_init(&out, CATALOGUE_TEXT_MAX);
    struct emit e;
    emit_init(&e, &out);
    if (json)
        emit_array(&e);
    for (size_t i = 0; i < found; i++) {
        if (json)
            put_known(&e, &rows[i]);
        else
            put_line(&out, &rows[i]);
    }
    if (json) {
        emit_array_end(&e);
        buf_put_char(&out, '\n');
    }
    int status = out.len ? cli_print(&out) : CLI_OK;
    return status ? status : found ? CLI_OK : CLI_NO;
}

static bool is_shown(const struct risk_known *k, struct slice word) {
    return slice_eq(k->package, word) || slice_eq(k->tool, word);
}

static bool is_found(const struct risk_known *k, struct slice word) {
    return has_word(k->package, word) || has_word(k->tool, word) ||
           slice_eq_nocase(slice_str(risk_class_name(k->cls)), word);
}

static int check_word(const struct cli_rest *rest, struct slice *ret_word) {
    *ret_word = slice_str(rest->operands[0]);
    if (ret_word->len && ret_word->len <= CATALOGUE_WORD_MAX)
        return CLI_OK;
    struct err err = {0};
    err_set(&err, "a name of 1 to %d bytes is wanted", CATALOGUE_WORD_MAX);
    return cli_fail(CLI_USAGE, &err);
}

static int catalogue_show_run(const void *options, const struct cli_rest *rest) {
    struct slice word;
    int status = check_word(rest, &word);
    return status ? status : print_rows(((const struct catalogue_options *)options)->json, is_shown, word);
}

static int catalogue_search_run(const void *options, const struct cli_rest *rest) {
    struct slice word;
    int status = check_word(rest, &word);
    return status ? status : print_rows(((const struct catalogue_options *)options)->json, is_found, word);
}

static int catalogue_stats_run(const void *options, const struct cli_rest *rest) {
    const struct catalogue_options *opt = options;
    (void)rest;
    size_t by_class[RISK_CLASSES] = {0};
    unsigned long long tokens = 0;
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        struct risk_known k;
        risk_catalogue_get(i, &k);
        by_class[k.cls]++;
        tokens += k.tokens;
    }
    cleanup_buf struct buf out;
    buf_init(&out, CATALOGUE_TEXT_MAX);
    if (opt->json)
        buf_printf(&out, "{\"packages\":%zu,\"tools\":%zu,\"tokens\":%llu", risk_catalogue_packages(),
                   risk_catalogue_count(), tokens);
    else
        buf_printf(&out, "%zu packages, %zu tools, about %llu tokens of definitions\n",
                   risk_catalogue_packages(), risk_catalogue_count(), tokens);
    for (int cls = RISK_READ; cls < RISK_CLASSES; cls++)
        buf_printf(&out, opt->json ? ",\"%s\":%zu" : "%s %zu\n", risk_class_name((enum risk_class)cls),
                   by_class[cls]);
    if (opt->json)
        buf_put_str(&out, "}\n");
    return cli_print(&out);
}

static const struct cli_example show_examples[] = {
    {"sallyport catalogue show @modelcontextprotocol/server-filesystem", "its tools and what each can do"},
    {"sallyport catalogue show write_file", "every package with a tool of that name"},
    {0},
};

const struct cli_command cli_catalogue_show = {
    .name = "catalogue show",
    .summary = "what is known about a package or a tool of that name",
    .options = catalogue_rows,
    .options_size = sizeof(struct catalogue_options),
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .examples = show_examples,
    .run = catalogue_show_run,
};

static const struct cli_example search_examples[] = {
    {"sallyport catalogue search stripe", "packages and tools with that word"},
    {"sallyport catalogue search financial", "every tool that moves money"},
    {0},
};

const struct cli_command cli_catalogue_search = {
    .name = "catalogue search",
    .summary = "packages and tools whose names hold a word, or tools of a class",
    .options = catalogue_rows,
    .options_size = sizeof(struct catalogue_options),
    .operands = "WORD",
    .operands_min = 1,
    .operands_max = 1,
    .examples = search_examples,
    .run = catalogue_search_run,
};

static const struct cli_example stats_examples[] = {
    {"sallyport catalogue stats --json", "how many packages and tools, by class"},
    {0},
};

const struct cli_command cli_catalogue_stats = {
    .name = "catalogue stats",
    .summary = "how much the catalogue knows",
    .options = catalogue_rows,
    .options_size = sizeof(struct catalogue_options),
    .examples = stats_examples,
    .run = catalogue_stats_run,
};
