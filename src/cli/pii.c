/* sallyport pii scan|tokenize|restore: the detector and the tokens at the command line, stdin to stdout.
 * tokenize and restore share a vault in the home directory: HOME/pii/NAME.vault, sealed with HOME/pii/key. */
#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "crypto/keyfile.h"
#include "filter/box.h"
#include "filter/filter.h"
#include "io/file.h"
#include "wire/emit.h"

#define PII_INPUT_MAX (256u << 20)
#define PII_OUTPUT_MAX (1u << 30)
#define PII_PATH_MAX 4096
#define PII_KEY_BYTES 64 /* for tokens, then for the box */

struct pii_cli_options {
    bool json;
    bool jsonl;
    const char *kinds;
    const char *scope;
    const char *mode;
    bool preserve;
};

/* --- input --- */

static int read_stdin(struct buf *in, struct err *err) {
    for (;;) {
        char *room = buf_reserve(in, 65536);
        if (!room)
            return err_set(err, "more than %u MB on stdin", PII_INPUT_MAX >> 20);
        const ssize_t n = read(STDIN_FILENO, room, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, "stdin: %s", strerror(errno));
        if (n == 0)
            return 0;
        in->len += (size_t)n;
    }
}

static int unknown_kind(struct slice word, struct err *err) {
    const char *names[PII_BUILTIN + 1] = {0};
    char list[256] = "";
    for (size_t i = 0, count = 0; i < PII_BUILTIN; i++) {
        if (i == PII_LITERAL)
            continue;
        names[count++] = pii_kind_name((enum pii_kind)i);
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", pii_kind_name((enum pii_kind)i));
    }
    const char *near = nearest_word(word, names);
    if (near)
        return err_set(err, "--kinds: unknown kind `%.*s`, did you mean `%s`?", SLICE_FMT(word), near);
    return err_set(err, "--kinds: unknown kind `%.*s`; there are %s and `all`", SLICE_FMT(word), list);
}

/* "EMAIL,PHONE", "all", or "+URL" for the defaults and one more. */
static int parse_kinds(const char *text, uint64_t *ret_kinds, struct err *err) {
    struct slice rest = slice_str(text), word;
    uint64_t kinds = rest.len && rest.ptr[0] == '+' ? PII_DEFAULT : 0;
    if (!text)
        return *ret_kinds = PII_DEFAULT, 0;
    for (bool more = true; more;) {
        more = slice_cut(&rest, ',', &word);
        if (word.len && word.ptr[0] == '+')
            word = slice_from(word, 1);
        const int kind = pii_kind_from(word);
        if (slice_is(word, "all"))
            kinds |= PII_ALL;
        else if (kind < 0 || kind == PII_LITERAL)
            return unknown_kind(word, err);
        else
            kinds |= PII_BIT(kind);
    }
    *ret_kinds = kinds;
    return 0;
}

/* --- scan --- */

struct scan_job {
    struct pii_engine *engine;
    struct pii_options opt;
    struct pii_spans spans;
};

static bool continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

static void emit_spans(struct emit *e, struct scan_job *job, struct slice text) {
    size_t at = 0;
    int64_t point = 0;
    job->spans.count = 0;
    pii_engine_scan(job->engine, &job->opt, text, NULL, &job->spans);
    emit_array(e);
    for (uint32_t i = 0; i < job->spans.count; i++) {
        const struct pii_span *s = &job->spans.at[i];
        for (; at < s->start; at++)
            point += !continues(text.ptr[at]);
        emit_object(e);
        emit_key(e, "start");
        emit_int(e, point);
        for (; at < s->end; at++)
            point += !continues(text.ptr[at]);
        emit_key(e, "end");
        emit_int(e, point);
        emit_key(e, "kind");
        emit_cstr(e, pii_engine_kind_name(job->engine, s->kind));
        emit_key(e, "sub");
        emit_cstr(e, s->sub);
        emit_key(e, "score");
        emit_double(e, s->score / 100.0);
        emit_object_end(e);
    }
    emit_array_end(e);
}

/* One line of JSON with id and text; the caller adds the rest. */
typedef int line_fn(void *ctx, struct slice text, struct emit *e, struct err *err);

static int each_line(struct slice in, line_fn *work, void *ctx, struct buf *out, struct err *err) {
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    tape_init(&t);
    arena_init(&a);
    for (size_t number = 1; in.len; number++) {
        struct slice line;
        slice_cut(&in, '\n', &line);
        if (slice_trim(line).len == 0)
            continue;
        arena_reset(&a);
        uint32_t id, text;
        if (tape_parse(&t, line, NULL) != TAPE_OK || !(id = tape_get_str(&t, 0, "id")) ||
            !(text = tape_get_str(&t, 0, "text")) || !tape_is(&t, text, TAPE_STRING))
            return err_set(err, "line %zu: not an object with `id` and `text`", number);
        struct emit e;
        emit_init(&e, out);
        emit_object(&e);
        emit_key(&e, "id");
        emit_raw(&e, tape_raw(&t, id));
        if (work(ctx, tape_text(&t, text, &a), &e, err) < 0)
            return err_wrap(err, "line %zu", number);
        emit_object_end(&e);
        buf_put_char(out, '\n');
    }
    return 0;
}

static int scan_line(void *ctx, struct slice text, struct emit *e, struct err *err) {
    struct scan_job *job = ctx;
    emit_key(e, "spans");
    emit_spans(e, job, text);
    return job->spans.full ? err_set(err, "over %u finds in one text", PII_SPANS_MAX) : 0;
}

static void print_spans(struct scan_job *job, struct slice text, struct buf *out) {
    pii_engine_scan(job->engine, &job->opt, text, NULL, &job->spans);
    for (uint32_t i = 0; i < job->spans.count; i++) {
        const struct pii_span *s = &job->spans.at[i];
        buf_printf(out, "%u-%u\t%s\t%s\t%u%%\n", s->start, s->end, pii_engine_kind_name(job->engine, s->kind),
                   s->sub, s->score);
    }
}

static int scan_run(const void *options, const struct cli_rest *rest) {
    const struct pii_cli_options *opt = options;
    struct scan_job job = {.opt = {.depth = PII_DEPTH_MAX}};
    struct err err;
    (void)rest;
    cleanup_buf struct buf in;
    cleanup_buf struct buf out;
    buf_init(&in, PII_INPUT_MAX);
    buf_init(&out, PII_OUTPUT_MAX);
    if (parse_kinds(opt->kinds, &job.opt.kinds, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    if (read_stdin(&in, &err) < 0 || pii_engine_new(NULL, 0, &job.engine, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    int status = CLI_OK;
    pii_spans_init(&job.spans);
    if (opt->jsonl) {
        if (each_line(buf_slice(&in), scan_line, &job, &out, &err) < 0)
            status = cli_fail(CLI_NO, &err);
    } else if (opt->json) {
        struct emit e;
        emit_init(&e, &out);
        emit_spans(&e, &job, buf_slice(&in));
        buf_put_char(&out, '\n');
    } else {
        print_spans(&job, buf_slice(&in), &out);
    }
    pii_spans_free(&job.spans);
    pii_engine_free(job.engine);
    return status == CLI_OK ? cli_print(&out) : status;
}

/* --- the vault in the home directory --- */

struct vault_file {
    char path[PII_PATH_MAX];
    uint8_t key[PII_KEY_BYTES];
    int lock; /* lock of the directory; separates two runs */
    struct filter_memory *memory;
};

static int home_path(char *path, const char *tail, struct err *err) {
    char home[CLI_PATH_MAX];
    if (cli_home(home, err) < 0)
        return -1;
    return snprintf(path, PII_PATH_MAX, "%s%s", home, tail) < PII_PATH_MAX
               ? 0
               : err_set(err, "the home directory's path is too long");
}

/* The directory stays locked as long as the vault is open. */
static int open_key(struct vault_file *v, struct err *err) {
    char path[PII_PATH_MAX];
    if (home_path(path, "/pii/key", err) < 0 || crypto_keyfile_load(path, v->key, sizeof(v->key), err) < 0)
        return -1;
    v->lock = io_file_guard(path);
    return v->lock < 0 ? err_set(err, "cannot lock the directory of `%s`: %s", path, strerror(errno)) : 0;
}

static bool scope_name_ok(const char *name) {
    size_t i = 0;
    for (; name[i]; i++)
        if (!((name[i] | 32) >= 'a' && (name[i] | 32) <= 'z') && !(name[i] >= '0' && name[i] <= '9') &&
            name[i] != '-')
            return false;
    return i > 0 && i <= 64;
}

static int vault_open(struct vault_file *v, const char *scope, struct err *err) {
    char tail[96];
    *v = (struct vault_file){.lock = -1};
    snprintf(tail, sizeof(tail), "/pii/%s.vault", scope);
    if (home_path(v->path, tail, err) < 0 || open_key(v, err) < 0)
        return -1;
    v->memory = filter_memory_new();
    bool missing;
    cleanup_buf struct buf box;
    buf_init(&box, FILTER_VAULT_BYTES_MAX * 3u);
    if (io_file_read(v->path, &box, &missing, err) < 0)
        return missing ? 0 : -1;
    if (filter_box_open(v->memory, v->key + 32, buf_slice(&box), err) < 0)
        return err_wrap(err, "%s", v->path);
    return 0;
}

static int vault_save(const struct vault_file *v, struct err *err) {
    cleanup_buf struct buf box;
    buf_init(&box, FILTER_VAULT_BYTES_MAX * 3u);
    if (filter_box_seal(v->memory, v->key + 32, &box, err) < 0)
        return -1;
    return io_file_replace(v->path, buf_slice(&box), 0600, err);
}

static void vault_close(struct vault_file *v) {
    filter_memory_free(v->memory);
    explicit_bzero(v->key, sizeof(v->key));
    if (v->lock >= 0)
        close(v->lock);
}

/* --- tokenize and restore --- */

struct token_job {
    struct pii_engine *engine;
    struct vault_file vault;
    struct filter_scope *scope;
    struct filter_options opt;
    struct filter_rules rules;
    struct filter_report report;
    bool restore;
    bool json; /* the text must be JSON; otherwise it is treated as JSON if it parses */
};

static enum filter_result convert_json(struct token_job *job, const struct tape *t, struct buf *out) {
    return job->restore ? filter_restore_json(job->scope, &job->rules, t, 0, out, &job->report)
                        : filter_json(job->scope, &job->opt, t, 0, out, &job->report);
}

static int convert(struct token_job *job, struct slice text, struct buf *out, struct err *err) {
    cleanup_tape struct tape t;
    tape_init(&t);
    const struct slice trimmed = slice_trim(text);
    const bool shaped = trimmed.len && (trimmed.ptr[0] == '{' || trimmed.ptr[0] == '[');
    enum filter_result result;
    if ((job->json || shaped) && tape_parse(&t, text, NULL) == TAPE_OK)
        result = convert_json(job, &t, out);
    else if (job->json)
        return err_set(err, "the input is no JSON");
    else if (job->restore)
        result = filter_restore_text(job->scope, &job->rules, text, out, &job->report);
    else
        result = filter_text(job->scope, &job->opt, text, (struct slice){0}, out, &job->report);
    if (result == FILTER_SAME)
        buf_put_slice(out, text);
    if (result == FILTER_BLOCKED)
        return err_set(err, "blocked: the text holds what must not pass");
    return result == FILTER_FAILED || out->full ? err_set(err, "the text or the vault exceeds its limit") : 0;
}

static int convert_line(void *ctx, struct slice text, struct emit *e, struct err *err) {
    cleanup_buf struct buf out;
    buf_init(&out, PII_OUTPUT_MAX);
    if (convert(ctx, text, &out, err) < 0)
        return -1;
    emit_key(e, "text");
    emit_str(e, buf_slice(&out));
    return 0;
}

static int check_usage(const struct pii_cli_options *opt, struct err *err) {
    uint64_t kinds;
    if (opt->mode && filter_mode_from(slice_str(opt->mode)) < 0)
        return err_set(err, "--mode `%s`: write tokenize, redact, block or report", opt->mode);
    if (opt->scope && !scope_name_ok(opt->scope))
        return err_set(err, "--scope `%s`: use up to 64 letters, digits and hyphens", opt->scope);
    return parse_kinds(opt->kinds, &kinds, err);
}

static int token_open(struct token_job *job, const struct pii_cli_options *opt, struct err *err) {
    uint64_t kinds;
    const int mode = opt->mode ? filter_mode_from(slice_str(opt->mode)) : FILTER_TOKENIZE;
    if (parse_kinds(opt->kinds, &kinds, err) < 0 ||
        vault_open(&job->vault, opt->scope ? opt->scope : "default", err) < 0 ||
        pii_engine_new(NULL, 0, &job->engine, err) < 0)
        return -1;
    job->scope = filter_scope_new(job->engine, job->vault.key, filter_memory_vault(job->vault.memory));
    filter_scope_set_now(job->scope, clock_wall_ms());
    job->opt =
        (struct filter_options){.depth = PII_DEPTH_MAX, .preserve = opt->preserve, .origin = SLICE("cli")};
    for (unsigned i = 0; i < PII_BUILTIN; i++)
        job->opt.modes[i] = kinds & PII_BIT(i) ? (enum filter_mode)mode : FILTER_OFF;
    job->rules = (struct filter_rules){
        .server = SLICE("cli"), .kinds = kinds | PII_ALL, .secrets_from_anywhere = true};
    job->json = opt->json;
    return 0;
}

static int token_run(const struct pii_cli_options *opt, bool restore) {
    struct token_job job = {.restore = restore, .vault = {.lock = -1}};
    struct err err;
    int status = CLI_OK;
    if (check_usage(opt, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    cleanup_buf struct buf in;
    cleanup_buf struct buf out;
    buf_init(&in, PII_INPUT_MAX);
    buf_init(&out, PII_OUTPUT_MAX);
    if (read_stdin(&in, &err) < 0 || token_open(&job, opt, &err) < 0)
        status = cli_fail(CLI_FAILED, &err);
    else if ((opt->jsonl ? each_line(buf_slice(&in), convert_line, &job, &out, &err)
                         : convert(&job, buf_slice(&in), &out, &err)) < 0)
        status = cli_fail(CLI_NO, &err);
    else if (!restore && vault_save(&job.vault, &err) < 0)
        status = cli_fail(CLI_FAILED, &err);
    filter_scope_free(job.scope);
    pii_engine_free(job.engine);
    vault_close(&job.vault);
    if (status == CLI_OK)
        status = cli_print(&out);
    if (status == CLI_OK && restore && job.report.unknown)
        fprintf(stderr, "sallyport: %u unknown token%s left as they are\n", job.report.unknown,
                job.report.unknown == 1 ? "" : "s");
    return status;
}

static int tokenize_run(const void *options, const struct cli_rest *rest) {
    (void)rest;
    return token_run(options, false);
}

static int restore_run(const void *options, const struct cli_rest *rest) {
    (void)rest;
    return token_run(options, true);
}

static const struct cli_option scan_rows[] = {
    {CLI_SWITCH(struct pii_cli_options, json), .name = "json",
     .help = "print a JSON array of finds, offsets in code points"},
    {CLI_SWITCH(struct pii_cli_options, jsonl), .name = "jsonl",
     .help = "read {\"id\",\"text\"} a line, print {\"id\",\"spans\"}"},
    {CLI_TEXT(struct pii_cli_options, kinds), .name = "kinds", .argument = "LIST",
     .help = "only these kinds (EMAIL,PHONE), `all`, or +URL for one more"},
    {0},
};

static const struct cli_option tokenize_rows[] = {
    {CLI_SWITCH(struct pii_cli_options, json), .name = "json", .help = "the input must be JSON"},
    {CLI_SWITCH(struct pii_cli_options, jsonl), .name = "jsonl",
     .help = "read and print {\"id\",\"text\"} a line"},
    {CLI_TEXT(struct pii_cli_options, kinds), .name = "kinds", .argument = "LIST",
     .help = "only these kinds (EMAIL,PHONE), `all`, or +URL for one more"},
    {CLI_TEXT(struct pii_cli_options, scope), .name = "scope", .argument = "NAME",
     .help = "the vault to use (default: default)"},
    {CLI_TEXT(struct pii_cli_options, mode), .name = "mode", .argument = "MODE",
     .help = "tokenize (default), redact, block or report"},
    {CLI_SWITCH(struct pii_cli_options, preserve), .name = "preserve",
     .help = "tokens that keep the format of addresses"},
    {0},
};

static const struct cli_option restore_rows[] = {
    {CLI_SWITCH(struct pii_cli_options, json), .name = "json", .help = "the input must be JSON"},
    {CLI_SWITCH(struct pii_cli_options, jsonl), .name = "jsonl",
     .help = "read and print {\"id\",\"text\"} a line"},
    {CLI_TEXT(struct pii_cli_options, scope), .name = "scope", .argument = "NAME",
     .help = "the vault to use (default: default)"},
    {0},
};

static const struct cli_example scan_examples[] = {
    {"sallyport pii scan --json < mail.txt", "where there is something, and of what kind"},
    {"sallyport pii scan --kinds EMAIL,PHONE < mail.txt", "only addresses and numbers"},
    {0},
};

const struct cli_command cli_pii_scan = {
    .name = "pii scan",
    .summary = "find personal data and secrets in stdin",
    .options = scan_rows,
    .options_size = sizeof(struct pii_cli_options),
    .examples = scan_examples,
    .run = scan_run,
};

static const struct cli_example tokenize_examples[] = {
    {"sallyport pii tokenize < mail.txt > safe.txt", "the text with tokens in place of values"},
    {"sallyport pii tokenize --mode redact < mail.txt", "no value is kept, so this cannot be undone"},
    {0},
};

const struct cli_command cli_pii_tokenize = {
    .name = "pii tokenize",
    .summary = "replace personal data and secrets in stdin by tokens",
    .options = tokenize_rows,
    .options_size = sizeof(struct pii_cli_options),
    .examples = tokenize_examples,
    .run = tokenize_run,
};

static const struct cli_example restore_examples[] = {
    {"sallyport pii restore < safe.txt", "the original text"},
    {0},
};

const struct cli_command cli_pii_restore = {
    .name = "pii restore",
    .summary = "put values in the places of their tokens",
    .options = restore_rows,
    .options_size = sizeof(struct pii_cli_options),
    .examples = restore_examples,
    .run = restore_run,
};
