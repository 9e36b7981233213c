/* catalogue update, sign, trust: updates the catalogue, and decisions about names. */
#include "cli/command.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/glyph.h"
#include "base/hex.h"
#include "base/mem.h"
#include "cli/catalogue.h"
#include "risk/catalogue_place.h"
#include "risk/lookalike.h"
#include "risk/trust.h"
#include "wire/emit.h"

#define TRUST_TEXT_MAX (4u << 20)
#define TRUST_REASON_MAX 500

/* ---- update ---- */

struct update_options {
    const char *key;
    bool json;
};

static const struct cli_option update_rows[] = {
    {CLI_TEXT(struct update_options, key), .name = "key", .argument = "DIGITS",
     .help = "accept this public key in place of the one that the program came with"},
    {CLI_SWITCH(struct update_options, json), .name = "json", .help = "print JSON"},
    {0},
};

void cli_catalogue_put_about(const struct risk_catalogue_about *about, struct emit *e) {
    char key[2 * CRYPTO_SIGNATURE_KEY];
    hex_put(about->key, sizeof(about->key), key);
    emit_key(e, "path");
    emit_cstr(e, about->path);
    emit_time(e, "made", about->made * 1000);
    emit_key(e, "bytes");
    emit_int(e, (int64_t)about->bytes);
    emit_key(e, "key");
    emit_str(e, slice_of(key, sizeof(key)));
    emit_key(e, "signature");
    emit_cstr(e, about->genuine ? "good" : "bad");
}

static int update_run(const void *options, const struct cli_rest *rest) {
    const struct update_options *opt = options;
    struct risk_catalogue_about about;
    struct err err = {0};
    if (risk_catalogue_update(rest->operands[0], opt->key, &about, &err) < 0)
        return cli_fail(CLI_NO, &err);
    if (risk_catalogue_open(about.path, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    cleanup_buf struct buf out;
    buf_init(&out, TRUST_TEXT_MAX);
    if (!opt->json) {
        buf_printf(&out,
                   "%zu servers, %zu tools, installed as %s. A gate of this home uses it from its next "
                   "question on.\n",
                   risk_catalogue_names(), risk_catalogue_count(), about.path);
        return cli_print(&out);
    }
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "servers");
    emit_int(&e, (int64_t)risk_catalogue_names());
    emit_key(&e, "tools");
    emit_int(&e, (int64_t)risk_catalogue_count());
    cli_catalogue_put_about(&about, &e);
    emit_object_end(&e);
    buf_put_char(&out, '\n');
    return cli_print(&out);
}

static const struct cli_example update_examples[] = {
    {"sallyport catalogue update catalogue.bin", "install a newer one, when its signature holds"},
    {0},
};

const struct cli_command cli_catalogue_update = {
    .name = "catalogue update",
    .summary = "install a newer catalogue from a file",
    .detail = "The file must be signed by the key that signed the catalogue in use, and not be older. It is "
              "kept in "
              "the home; the one that the program came with stays as it is.",
    .options = update_rows,
    .options_size = sizeof(struct update_options),
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .examples = update_examples,
    .run = update_run,
};

/* ---- sign ---- */

struct sign_options {
    const char *key, *output;
};

static const struct cli_option sign_rows[] = {
    {CLI_TEXT(struct sign_options, key), .name = "key", .argument = "FILE", .required = true,
     .help = "the secret key; it is created when there is none, its public half beside it"},
    {CLI_TEXT(struct sign_options, output), .name = "output", .letter = 'o', .argument = "FILE",
     .help = "write there instead of into the file itself"},
    {0},
};

static int sign_run(const void *options, const struct cli_rest *rest) {
    const struct sign_options *opt = options;
    struct err err = {0};
    if (risk_catalogue_sign(rest->operands[0], opt->output, opt->key, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    return CLI_OK;
}

static const struct cli_example sign_examples[] = {
    {"sallyport catalogue sign --key ours.key catalogue.bin", "a catalogue of your own"},
    {0},
};

const struct cli_command cli_catalogue_sign = {
    .name = "catalogue sign",
    .summary = "sign a catalogue that scripts/build-catalogue made",
    .options = sign_rows,
    .options_size = sizeof(struct sign_options),
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .examples = sign_examples,
    .run = sign_run,
};

/* ---- trust ---- */

struct trust_options {
    int registry;
    const char *reason;
    bool undo, json;
};

static const char *const trust_registries[] = {"npm",    "pypi",   "go",     "oci",
                                               "crates", "github", "remote", NULL};

static const struct cli_option trust_rows[] = {
    {CLI_CHOICE(struct trust_options, registry), .name = "registry", .choices = trust_registries,
     .fallback = "npm", .help = "where the package is published"},
    {CLI_TEXT(struct trust_options, reason), .name = "reason", .argument = "TEXT",
     .help = "why; it is kept with the decision"},
    {CLI_SWITCH(struct trust_options, undo), .name = "undo", .help = "trust it no longer"},
    {CLI_SWITCH(struct trust_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static void put_decision(const struct risk_trust *d, bool json, struct arena *a, struct emit *e) {
    struct slice name = glyph_printable(d->name, 200, a), reason = glyph_printable(d->reason, 200, a);
    if (!json) {
        buf_printf(e->out, "%.*s  %s %.*s  %s by %.*s%s%.*s\n", SLICE_FMT(d->at),
                   risk_registry_name(d->registry), SLICE_FMT(name),
                   d->undone ? "no longer trusted" : "trusted", SLICE_FMT(d->by), reason.len ? ": " : "",
                   SLICE_FMT(reason));
        return;
    }
    emit_object(e);
    emit_key(e, "registry");
    emit_cstr(e, risk_registry_name(d->registry));
    emit_key(e, "name");
    emit_str(e, d->name);
    emit_key(e, "trusted");
    emit_bool(e, !d->undone);
    emit_key(e, "at");
    emit_str(e, d->at);
    emit_key(e, "by");
    emit_str(e, d->by);
    emit_key(e, "reason");
    emit_str(e, d->reason);
    emit_object_end(e);
}

static int trust_list(bool json) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct risk_trust *list;
    size_t count;
    struct err err = {0};
    if (risk_trust_read(&a, &list, &count, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    cleanup_buf struct buf out;
    buf_init(&out, TRUST_TEXT_MAX);
    struct emit e;
    emit_init(&e, &out);
    if (json)
        emit_array(&e);
    for (size_t i = 0; i < count; i++)
        put_decision(&list[i], json, &a, &e);
    if (json)
        emit_array_end(&e);
    if (json || !count)
        buf_put_str(&out, json ? "\n" : "no name is trusted specially\n");
    return cli_print(&out);
}

static int trust_run(const void *options, const struct cli_rest *rest) {
    const struct trust_options *opt = options;
    struct err err = {0};
    if (!rest->operand_count)
        return trust_list(opt->json);
    cleanup_arena struct arena a;
    arena_init(&a);
    char now[CLOCK_TEXT_MAX];
    clock_text(clock_wall_ms(), now);
    struct risk_trust decision = {.registry = (enum risk_registry)opt->registry,
                                  .name = slice_str(rest->operands[0]),
                                  .by = cli_home_user(&a),
                                  .reason = slice_str(opt->reason),
                                  .at = slice_str(now),
                                  .undone = opt->undo};
    if (!decision.name.len || decision.name.len > RISK_NAME_BYTES_MAX ||
        decision.reason.len > TRUST_REASON_MAX) {
        err_set(&err, "a name has 1 to %d bytes, a reason at most %d", RISK_NAME_BYTES_MAX, TRUST_REASON_MAX);
        return cli_fail(CLI_USAGE, &err);
    }
    struct risk_lookalike like;
    risk_lookalike_find(decision.registry, decision.name, &a, &like);
    struct audit_action action = {
        .name = opt->undo ? SLICE("name_untrusted") : SLICE("name_trusted"),
        .identity = decision.by,
        .text =
            arena_printf(&a, "%s %.*s%s%.*s", risk_registry_name(decision.registry), SLICE_FMT(decision.name),
                         decision.reason.len ? ": " : "", SLICE_FMT(decision.reason)),
    };
    /* An override must be recorded to be valid. */
    if (cli_home_record(&action, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    if (risk_trust_add(&decision, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    cleanup_buf struct buf out;
    buf_init(&out, TRUST_TEXT_MAX);
    struct emit e;
    emit_init(&e, &out);
    put_decision(&decision, opt->json, &a, &e);
    if (opt->json)
        buf_put_char(&out, '\n');
    else if (!like.of.len)
        buf_put_str(&out,
                    "It is close to no name that the catalogue knows: nothing would have refused it.\n");
    return cli_print(&out);
}

static const struct cli_example trust_examples[] = {
    {"sallyport catalogue trust --registry pypi --reason \"our own fork\" mcp-server-gitt",
     "start it although its name is close to another"},
    {"sallyport catalogue trust", "all decisions, with who, when and why"},
    {0},
};

const struct cli_command cli_catalogue_trust = {
    .name = "catalogue trust",
    .summary = "trust a package whose name resembles another; recorded in the audit log",
    .options = trust_rows,
    .options_size = sizeof(struct trust_options),
    .operands = "[NAME]",
    .operands_max = 1,
    .examples = trust_examples,
    .run = trust_run,
};
