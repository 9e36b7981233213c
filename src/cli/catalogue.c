/* catalogue stats: the size of the catalogue. */
#include "cli/command.h"

#include "base/clock.h"
#include "base/glyph.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/catalogue.h"
#include "risk/catalogue.h"
#include "wire/emit.h"

#define CATALOGUE_TEXT_MAX (16u << 20)

const struct cli_option cli_catalogue_rows[] = {
    {CLI_TEXT(struct cli_catalogue_options, file), .name = "catalogue", .argument = "FILE",
     .help = "read this catalogue"},
    {CLI_SWITCH(struct cli_catalogue_options, json), .name = "json", .help = "print JSON"},
    {0},
};

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
    const struct cli_catalogue_options *opt = options;
    size_t by_class[RISK_CLASSES] = {0}, by_had[RISK_HADS] = {0};
    uint64_t tokens;
    struct err err = {0};
    (void)rest;
    if (risk_catalogue_open(opt->file, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    count_all(by_class, by_had, &tokens);
    struct risk_catalogue_about about;
    risk_catalogue_describe(&about);
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
    buf_printf(&out, "source: listed %zu, from source %zu, documented %zu\n", by_had[RISK_LISTED],
               by_had[RISK_SOURCE], by_had[RISK_DOCUMENTED]);
    char made[CLOCK_TEXT_MAX];
    clock_text(about.made * 1000, made);
    buf_printf(&out, "%s, %zu KB, of %.10s, signature %s\n", about.path, about.bytes / 1024, made,
               about.genuine ? "good" : "BAD");
    return cli_print(&out);
}

static const struct cli_example stats_examples[] = {
    {"sallyport catalogue stats --json", "how many packages and tools, by class"},
    {0},
};

const struct cli_command cli_catalogue_stats = {
    .name = "catalogue stats",
    .summary = "count the servers and tools of the catalogue",
    .options = cli_catalogue_rows,
    .options_size = sizeof(struct cli_catalogue_options),
    .examples = stats_examples,
    .run = catalogue_stats_run,
};
