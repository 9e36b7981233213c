/* catalogue search, stats: tools of published servers, known by fingerprint. */
#include "cli/command.h"

#include "base/clock.h"
#include "base/glyph.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/catalogue.h"
#include "risk/catalogue.h"
#include "wire/emit.h"

#define CATALOGUE_TEXT_MAX (16u << 20)
#define CATALOGUE_WORD_MAX 200

struct catalogue_options {
    const char *file;
    bool json;
};

static const struct cli_option catalogue_rows[] = {
    {CLI_TEXT(struct catalogue_options, file), .name = "catalogue", .argument = "FILE",
     .help = "read this catalogue"},
    {CLI_SWITCH(struct catalogue_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static void put_known(struct emit *e, const struct risk_known *k) {
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

static bool is_found(const struct risk_known *k, struct slice word) {
    return has_word(k->package, word) || has_word(k->tool, word) ||
           slice_eq_nocase(slice_str(risk_class_name(k->cls)), word);
}

static int open_for(const struct catalogue_options *opt, const struct cli_rest *rest,
                    struct slice *ret_word) {
    struct err err = {0};
    if (risk_catalogue_open(opt->file, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    *ret_word = slice_str(rest->operand_count ? rest->operands[0] : "all");
    if (ret_word->len && ret_word->len <= CATALOGUE_WORD_MAX)
        return CLI_OK;
    err_set(&err, "a name of 1 to %d bytes is wanted", CATALOGUE_WORD_MAX);
    return cli_fail(CLI_USAGE, &err);
}

static int catalogue_search_run(const void *options, const struct cli_rest *rest) {
    struct slice word;
    int status = open_for(options, rest, &word);
    return status ? status : print_rows(((const struct catalogue_options *)options)->json, is_found, word);
}

static void count_all(size_t by_class[RISK_CLASSES], size_t by_had[RISK_HADS], uint64_t *ret_tokens) {
    *ret_tokens = 0;
    for (size_t i = 0; i < risk_catalogue_servers(); i++) {
        struct risk_published s;
        risk_catalogue_server(i, &s);
        by_had[s.had] += s.newest;
    }
    for (size_t i = 0; i < risk_catalogue_count(); i++) {
        struct risk_known k;
        risk_catalogue_get(i, &k);
        by_class[k.cls]++;
        *ret_tokens += k.tokens;
    }
}

static void put_stats_json(const size_t by_class[RISK_CLASSES], const size_t by_had[RISK_HADS],
                           uint64_t tokens, const struct risk_catalogue_about *about, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "servers");
    emit_int(&e, (int64_t)risk_catalogue_names());
    emit_key(&e, "tools");
    emit_int(&e, (int64_t)risk_catalogue_count());
    emit_key(&e, "tokens");
    emit_int(&e, (int64_t)tokens);
    for (int cls = RISK_READ; cls < RISK_CLASSES; cls++) {
        emit_key(&e, risk_class_name((enum risk_class)cls));
        emit_int(&e, (int64_t)by_class[cls]);
    }
    for (int had = 0; had < RISK_HADS; had++) {
        emit_key(&e, risk_had_name((enum risk_had)had));
        emit_int(&e, (int64_t)by_had[had]);
    }
    cli_catalogue_put_about(about, &e);
    emit_object_end(&e);
    buf_put_char(out, '\n');
}

static int catalogue_stats_run(const void *options, const struct cli_rest *rest) {
    const struct catalogue_options *opt = options;
    size_t by_class[RISK_CLASSES] = {0}, by_had[RISK_HADS] = {0};
    uint64_t tokens;
    struct slice word;
    int status = open_for(opt, rest, &word);
    if (status)
        return status;
    count_all(by_class, by_had, &tokens);
    struct risk_catalogue_about about;
    risk_catalogue_tell(&about);
    cleanup_buf struct buf out;
    buf_init(&out, CATALOGUE_TEXT_MAX);
    if (opt->json) {
        put_stats_json(by_class, by_had, tokens, &about, &out);
        return cli_print(&out);
    }
    buf_printf(&out, "%zu servers, %zu tools, about %llu tokens of definitions\n", risk_catalogue_names(),
               risk_catalogue_count(), (unsigned long long)tokens);
    for (int cls = RISK_READ; cls < RISK_CLASSES; cls++)
        buf_printf(&out, "%s %zu\n", risk_class_name((enum risk_class)cls), by_class[cls]);
    buf_printf(&out, "how they were had: listed %zu, from source %zu, documented %zu\n", by_had[RISK_LISTED],
               by_had[RISK_SOURCE], by_had[RISK_DOCUMENTED]);
    char made[CLOCK_TEXT_MAX];
    clock_text(about.made * 1000, made);
    buf_printf(&out, "%s, %zu KB, of %.10s, signature %s\n", about.path, about.bytes / 1024, made,
               about.genuine ? "good" : "BAD");
    return cli_print(&out);
}

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
