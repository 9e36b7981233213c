/* sallyport code packages: packages that agents' code may import besides the standard library. */
#include "base/mem.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "packages/install.h"
#include "runner/sandbox.h"
#include "wire/emit.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PROBE_OUTPUT_MAX 16384

struct code_packages_options {
    bool json;
    bool on_request;
};

static const struct cli_option code_packages_rows[] = {
    {CLI_SWITCH(struct code_packages_options, json), .name = "json", .help = "print JSON"},
    {CLI_SWITCH(struct code_packages_options, on_request), .name = "on-request",
     .help = "add: usable only as long as code.packages.allow names it; the gate reports that to an agent "
             "that uses it"},
    {0},
};

struct work {
    const struct code_packages_options *options;
    char dir[CLI_PATH_MAX + 32];
    struct arena arena;
    struct pack_spec specs[PACK_SPECS_MAX];
    size_t count;
};

static volatile sig_atomic_t stopped;

static void on_signal(int number) { stopped = number; }

/* ---- names ---- */

static int add_name(struct work *w, struct slice name, struct err *err) {
    if (w->count == PACK_SPECS_MAX)
        return err_set(err, "%d packages at a time", PACK_SPECS_MAX);
    return pack_spec_parse(name, PACK_PIP, &w->specs[w->count++], err);
}

static int read_names(struct work *w, const struct cli_rest *rest, struct err *err) {
    for (size_t i = 1; i < rest->operand_count; i++) {
        struct slice one, names = slice_str(pack_spec_preset(slice_str(rest->operands[i])));
        if (!names.len && add_name(w, slice_str(rest->operands[i]), err) < 0)
            return -1;
        while (names.len) {
            slice_cut(&names, ' ', &one);
            if (add_name(w, one, err) < 0)
                return -1;
        }
    }
    return w->count ? 0 : err_set(err, "name a package: pandas==2.2.0, npm:lodash, or data-science");
}

/* ---- add ---- */

static void print_message(const char *text) { fprintf(stderr, "sallyport: %s\n", text); }

/* The interpreter that the sandbox uses, as its helper finds it. */
static const char *find_python(struct work *w) {
    const char *given = getenv("SALLYPORT_PYTHON");
    char dir[PATH_MAX];
    struct err ignored;
    cleanup_buf struct buf out;
    buf_init(&out, PROBE_OUTPUT_MAX);
    if ((given && *given) || sandbox_helper_dir(dir, &ignored) < 0)
        return given;
    const char *const argv[] = {arena_printf(&w->arena, "%s/sallyport-sandbox", dir).ptr, "probe", NULL};
    const struct pack_installer probe = {.argv = argv, .stop = &stopped};
    struct slice rest = SLICE(""), line;
    if (pack_installer_run(&probe, &out, &ignored) == 0)
        rest = buf_slice(&out);
    while (rest.len) {
        slice_cut(&rest, '\n', &line);
        if (slice_starts(line, SLICE("python=/")))
            return arena_dup(&w->arena, slice_from(line, strlen("python="))).ptr;
    }
    return NULL;
}

static void write_added(const struct work *w, const struct pack_installed *all, size_t count,
                        struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    if (w->options->json)
        emit_array(&e);
    for (size_t i = 0; i < count; i++) {
        if (!w->options->json) {
            buf_printf(out, "%s %.*s %.*s %s\n", pack_spec_kind_name(all[i].kind), SLICE_FMT(all[i].name),
                       SLICE_FMT(all[i].version), all[i].was_there ? "was installed already" : "installed");
            continue;
        }
        emit_object(&e);
        emit_key(&e, "kind");
        emit_cstr(&e, pack_spec_kind_name(all[i].kind));
        emit_key(&e, "name");
        emit_str(&e, all[i].name);
        emit_key(&e, "version");
        emit_str(&e, all[i].version);
        emit_key(&e, "was_installed");
        emit_bool(&e, all[i].was_there);
        emit_object_end(&e);
    }
    if (!w->options->json)
        return;
    emit_array_end(&e);
    buf_put_char(out, '\n');
}

static int add(struct work *w, const struct cli_rest *rest, struct buf *out, struct err *err) {
    if (read_names(w, rest, err) < 0)
        return CLI_USAGE;
    const struct sigaction stop = {.sa_handler = on_signal};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    const struct pack_install install = {.dir = w->dir,
                                         .python = find_python(w),
                                         .on_request = w->options->on_request,
                                         .say = print_message,
                                         .stop = &stopped};
    struct pack_installed all[PACK_SPECS_MAX];
    size_t count = 0;
    if (pack_install(&install, w->specs, w->count, &w->arena, all, &count, err) < 0) {
        if (stopped)
            err_set(err, "interrupted: nothing was installed");
        return stopped ? 128 + stopped : CLI_FAILED;
    }
    write_added(w, all, count, out);
    return CLI_OK;
}

/* ---- list and remove ---- */

static int list(struct work *w, const struct cli_rest *rest, struct buf *out, struct err *err) {
    cleanup_manifest struct pack_manifest m = {0};
    struct emit e;
    if (rest->operand_count > 1) {
        err_set(err, "`list` takes no names");
        return CLI_USAGE;
    }
    if (pack_manifest_load(w->dir, &m, err) < 0)
        return CLI_FAILED;
    if (w->options->json) {
        emit_init(&e, out);
        emit_array(&e);
        pack_manifest_write(&m, &e);
        emit_array_end(&e);
        buf_put_char(out, '\n');
        return CLI_OK;
    }
    if (!m.package_count)
        buf_put_str(
            out, "No packages are installed. `sallyport code packages add data-science` installs a set.\n");
    for (size_t i = 0; i < m.package_count; i++) {
        const struct pack_package *p = m.packages[i];
        buf_printf(out, "%s  %-24.*s %-12.*s %8.1f MB  %s%.*s%s\n", pack_spec_kind_name(p->kind),
                   SLICE_FMT(p->name), SLICE_FMT(p->version), (double)pack_manifest_bytes(&m, p) / 1e6,
                   p->python.len ? "Python " : "", SLICE_FMT(p->python),
                   p->on_request ? "  asked for by an agent" : "");
    }
    return CLI_OK;
}

/* A name without a kind refers to what is installed. */
static void guess_kinds(struct work *w, const struct pack_manifest *m) {
    for (size_t i = 0; i < w->count; i++) {
        struct pack_spec other = w->specs[i];
        other.kind = PACK_NPM;
        if (!pack_manifest_find(m, &w->specs[i]) && pack_manifest_find(m, &other))
            w->specs[i] = other;
    }
}

static int drop(struct work *w, const struct cli_rest *rest, struct buf *out, struct err *err) {
    cleanup_manifest struct pack_manifest m = {0};
    size_t removed = 0;
    if (read_names(w, rest, err) < 0)
        return CLI_USAGE;
    if (pack_manifest_load(w->dir, &m, err) < 0)
        return CLI_FAILED;
    guess_kinds(w, &m);
    if (pack_install_remove(w->dir, w->specs, w->count, &removed, err) < 0)
        return CLI_NO;
    buf_printf(out, w->options->json ? "{\"removed\":%zu}\n" : "%zu removed\n", removed);
    return CLI_OK;
}

/* ---- the command ---- */

static const struct {
    const char *name;
    int (*run)(struct work *w, const struct cli_rest *rest, struct buf *out, struct err *err);
} actions[] = {{"add", add}, {"list", list}, {"remove", drop}};

static int run_action(struct work *w, const struct cli_rest *rest, struct buf *out, struct err *err) {
    const char *word = rest->operands[0], *names[ARRAY_LEN(actions) + 1] = {0};
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (strcmp(word, actions[i].name) == 0)
            return actions[i].run(w, rest, out, err);
        names[i] = actions[i].name;
    }
    const char *near = nearest_word(slice_str(word), names);
    err_set(err,
            near ? "unknown action `%s`, did you mean `%s`?" : "unknown action `%s`: add, list or remove",
            word, near);
    return CLI_USAGE;
}

static int code_packages_run(const void *options, const struct cli_rest *rest) {
    cleanup_free struct work *w = mem_zalloc(sizeof(*w));
    char home[CLI_PATH_MAX];
    struct err err = {""};
    cleanup_buf struct buf out;
    w->options = options;
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    snprintf(w->dir, sizeof(w->dir), "%s/code/packages", home);
    arena_init(&w->arena);
    buf_init(&out, PACK_MANIFEST_MAX);
    int status = run_action(w, rest, &out, &err);
    if (status != CLI_OK)
        status = cli_fail((enum cli_exit)status, &err);
    else
        status = cli_print(&out);
    arena_free(&w->arena);
    return status;
}

static const char *const code_packages_synopses[] = {"code packages add NAME... [--json]",
                                                     "code packages list [--json]",
                                                     "code packages remove NAME... [--json]", NULL};

static const struct cli_example code_packages_examples[] = {
    {"sallyport code packages add data-science",
     "numpy, pandas, matplotlib, duckdb, httpx, openpyxl for Python; lodash, zod for JavaScript"},
    {"sallyport code packages add pandas==2.2.0 npm:zod@3", "two packages with versions"},
    {"sallyport code packages list --json", "what is installed, with what it needs"},
    {"sallyport code packages remove pandas", "every version of one"},
    {0},
};

const struct cli_command cli_code_packages = {
    .name = "code packages",
    .summary = "install packages that agents' code may import",
    .detail =
        "pip and npm choose and fetch wheels and tarballs with the settings of this machine: index, "
        "registry, "
        "proxies, credentials. Each is checked against the hash that the index tells and unpacked here into "
        "a "
        "read-only directory below HOME/code/packages. No code of a package runs meanwhile: source "
        "distributions and install scripts are not used.\n\n"
        "A name without a prefix is a package of pip: NAME or NAME==VERSION. npm:NAME, NAME@VERSION and "
        "@SCOPE/NAME are packages of npm. data-science is a ready list.\n\n"
        "Code asks for what is installed with the argument `packages` of the tools that run it. A gate that "
        "runs already needs no restart.\n\n"
        "Exit status: 0 when all is done, 1 when what is to be removed is not there, 4 when a package could "
        "not be fetched; then nothing is changed.",
    .synopses = code_packages_synopses,
    .options = code_packages_rows,
    .options_size = sizeof(struct code_packages_options),
    .operands = "add|list|remove [NAME...]",
    .operands_min = 1,
    .operands_max = PACK_SPECS_MAX + 1,
    .examples = code_packages_examples,
    .run = code_packages_run,
};
