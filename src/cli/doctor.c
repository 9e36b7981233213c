/* sallyport doctor: checks whether a gate can start here and whether everything that it needs is in order,
 * and prints how to fix problems. Each check does what the gate itself does at start. */
#include "cli/doctor.h"

#include "base/glyph.h"
#include "base/mem.h"
#include "runner/sandbox.h"
#include "wire/emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DOCTOR_TEXT_MAX (4u << 20)
#define DOCTOR_LINE_MAX 600
#define DOCTOR_WAIT_MS 20000

static const struct cli_option doctor_rows[] = {
    {CLI_TEXT(struct doctor_options, config), .name = "config", .letter = 'c', .argument = "FILE",
     .help = "the settings; by default ./sallyport.yaml, else the one that `init` wrote"},
    {CLI_LIST(struct doctor_options, client_files), .name = "mcp-config", .argument = "FILE",
     .help = "servers from a client's own file, as for serve"},
    {CLI_SWITCH(struct doctor_options, no_start), .name = "no-start",
     .help = "start no servers: only see that their programs are there"},
    {CLI_DURATION(struct doctor_options, timeout_ms), .name = "timeout", .argument = "TIME",
     .fallback = "30s", .help = "how long to wait for a server's answer"},
    {CLI_SWITCH(struct doctor_options, json), .name = "json", .help = "print JSON"},
    {0},
};

struct doctor {
    struct io_loop loop;
    struct sandbox *sandbox;
    struct io_timer timer;
};

static const struct {
    enum sandbox_language language;
    const char *name;
    const char *advice;
} languages[] = {
    {SANDBOX_PYTHON, "python", "apt install python3, or name one with SALLYPORT_PYTHON"},
    {SANDBOX_JAVASCRIPT, "javascript",
     "npm install -g node@22 (Debian 12's own Node is 18), or npm install -g bun; or name one with "
     "SALLYPORT_NODE or "
     "SALLYPORT_BUN"},
    {SANDBOX_TYPESCRIPT, "typescript",
     "npm install -g node@22 (Debian 12's own Node is 18), or npm install -g bun; or name one with "
     "SALLYPORT_NODE or "
     "SALLYPORT_BUN"},
};

static const char *const tiers[] = {
    "not known",
    "full: own user, mount, process, network and IPC namespaces, Landlock, seccomp",
    "reduced: no namespaces; Landlock and seccomp; names, sizes and times of the user's files can be seen",
    "weak: seccomp alone, no Landlock; code can compute and call tools, but open no file",
    "none: nothing may run here",
};

#define CLOSED_ADVICE                                                                                        \
    "below tier 1 a gate of root runs code under a uid that owns nothing, which cannot enter a directory "   \
    "like /root: install it beneath /usr or /usr/local, let others enter (chmod o+x), or make tier 1 "       \
    "possible"

#define MUSL_ADVICE                                                                                          \
    "the gate works here, code does not: run it on a distribution with glibc (Debian, Ubuntu, Fedora), or "  \
    "name an interpreter for glibc with SALLYPORT_PYTHON, SALLYPORT_NODE"

#define NO_CHROOT "; in a chroot the kernel allows none: use systemd-nspawn, or pivot_root"

/* Common causes, recognised by the text of the failed step. */
static const char *advice_for(const char *why) {
    static const struct {
        const char *word;
        const char *advice;
    } table[] = {
        {"user namespace",
         "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, on Ubuntu "
         "24.04 the AppArmor profile of packaging/apparmor (docs/sandbox.md, Ubuntu); in a container run "
         "with --security-opt "
         "seccomp=unconfined "
         "--security-opt apparmor=unconfined, or beside it" NO_CHROOT},
        {"namespaces", "in a container: --security-opt seccomp=unconfined --security-opt "
                       "apparmor=unconfined, or --cap-add SYS_ADMIN" NO_CHROOT},
        {"memory disk", "in a container: --security-opt apparmor=unconfined, or --cap-add SYS_ADMIN"},
        {"landlock",
         "a kernel of 5.13 or newer with Landlock among its modules (lsm= on the kernel command line)"},
        {"seccomp", "a kernel with CONFIG_SECCOMP_FILTER; in a container, --security-opt seccomp=unconfined"},
        {"open /proc",
         "mount /proc, which the id maps of a sandbox are written to: mount -t proc proc /proc"},
        {"a directory for workspaces", "give it a place to write: mount a tmpfs on /tmp (docker run --tmpfs "
                                       "/tmp), or make tier 1 possible"},
        {"is closed to the sandbox's user", CLOSED_ADVICE},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strstr(why, table[i].word))
            return table[i].advice;
    return "";
}

struct doctor_finding *cli_doctor_note(struct doctor_findings *all, enum doctor_level level,
                                       const char *check, const char *subject, const char *fmt, ...) {
    struct doctor_finding *f = arena_new(&all->arena, struct doctor_finding);
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    f->level = level;
    f->check = check;
    f->subject = arena_dup(&all->arena, slice_str(subject));
    f->text = arena_dup(&all->arena, slice_str(text));
    *all->last = f;
    all->last = &f->next;
    all->counts[level]++;
    return f;
}

/* ---- the sandbox and its runtimes ---- */

static void check_uids(struct doctor_findings *all, const struct sandbox *s) {
    const char *text;
    if (sandbox_own_uids(s, &text)) {
        cli_doctor_note(all, DOCTOR_GOOD, "uids", "", "each sandbox has a user id of its own, from %s", text);
    } else if (*text) {
        cli_doctor_note(all, DOCTOR_ODD, "uids", "",
                        "all sandboxes share one user id and the kernel's limits per user: %s", text)
            ->fix = SLICE(
            "nothing to do for one user. For tenants that do not trust each other: one gate for each, or "
            "a gate that runs as root, with a free range in `code.uids: FIRST-LAST`");
    }
}

static void check_sandbox(struct doctor_findings *all, const struct sandbox *s, int64_t min_tier, bool code) {
    const int tier = sandbox_tier(s);
    const char *why = sandbox_tier_why(s), *lacks;
    const enum doctor_level bad = code ? DOCTOR_BAD : DOCTOR_ODD; /* if no code runs here, nothing is wrong */
    const bool enough = tier >= 1 && tier <= min_tier;
    const enum doctor_level level = !enough ? bad : tier > 1 ? DOCTOR_ODD : DOCTOR_GOOD;
    struct doctor_finding *f =
        cli_doctor_note(all, level, "sandbox", "", "tier %d, %s%s%s", tier, tiers[tier],
                        tier > 3   ? "; it lacks: "
                        : tier > 1 ? "; tier 1 is not available: "
                                   : "",
                        tier > 1 ? why : "");
    if (tier != 1)
        f->fix = slice_str(advice_for(why));
    const int group = sandbox_group(s, &lacks);
    if (group) {
        cli_doctor_note(all, DOCTOR_GOOD, "cgroups", "",
                        "version %d: limits hold for all sandboxes together, and for the processes of each "
                        "with profile proc",
                        group);
    } else {
        f = cli_doctor_note(all, DOCTOR_ODD, "cgroups", "",
                            "not available; limits hold for each process separately: %s", lacks);
        f->fix = SLICE("run the gate as a service with Delegate=yes");
    }
    check_uids(all, s);
    for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
        const char *missing = sandbox_why_not(s, languages[i].language);
        const bool needed = languages[i].language == SANDBOX_PYTHON;
        f = cli_doctor_note(all,
                            !missing ? DOCTOR_GOOD
                            : needed ? bad
                                     : DOCTOR_ODD,
                            languages[i].name, "", "%s",
                            missing ? missing : sandbox_runtime_name(s, languages[i].language));
        if (missing)
            f->fix = slice_str(strstr(missing, "is closed to the sandbox's user") ? CLOSED_ADVICE
                               : strstr(missing, "is linked with musl")           ? MUSL_ADVICE
                                                                                  : languages[i].advice);
    }
}

/* ---- output ---- */

static void print_plain(struct doctor_findings *all, struct buf *out) {
    static const char *const words[] = {"ok", "!", "BAD"};
    for (const struct doctor_finding *f = all->first; f; f = f->next) {
        struct slice subject = glyph_printable(f->subject, DOCTOR_LINE_MAX, &all->arena);
        struct slice text = glyph_printable(f->text, DOCTOR_LINE_MAX, &all->arena);
        struct slice fix = glyph_printable(f->fix, DOCTOR_LINE_MAX, &all->arena);
        buf_printf(out, "%-11s %-4s %.*s%s%.*s\n", f->check, words[f->level], SLICE_FMT(subject),
                   subject.len ? ": " : "", SLICE_FMT(text));
        if (fix.len)
            buf_printf(out, "                 fix: %.*s\n", SLICE_FMT(fix));
    }
    const size_t bad = all->counts[DOCTOR_BAD], odd = all->counts[DOCTOR_ODD];
    buf_printf(out, "\n%zu problem%s, %zu remark%s\n", bad, bad == 1 ? "" : "s", odd, odd == 1 ? "" : "s");
}

static void emit_findings(const struct doctor_findings *all, struct emit *e) {
    static const char *const words[] = {"ok", "remark", "problem"};
    emit_key(e, "problems");
    emit_int(e, (int64_t)all->counts[DOCTOR_BAD]);
    emit_key(e, "remarks");
    emit_int(e, (int64_t)all->counts[DOCTOR_ODD]);
    emit_key(e, "checks");
    emit_array(e);
    for (const struct doctor_finding *f = all->first; f; f = f->next) {
        emit_object(e);
        emit_key(e, "check");
        emit_cstr(e, f->check);
        emit_key(e, "status");
        emit_cstr(e, words[f->level]);
        if (f->subject.len) {
            emit_key(e, "subject");
            emit_str(e, f->subject);
        }
        emit_key(e, "text");
        emit_str(e, f->text);
        if (f->fix.len) {
            emit_key(e, "fix");
            emit_str(e, f->fix);
        }
        emit_object_end(e);
    }
    emit_array_end(e);
}

static void print_json(const struct doctor_findings *all, const struct sandbox *s, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_findings(all, &e);
    emit_key(&e, "tier");
    emit_int(&e, sandbox_tier(s));
    emit_key(&e, "why");
    emit_cstr(&e, sandbox_tier_why(s));
    const char *lacks;
    emit_key(&e, "cgroup");
    emit_int(&e, sandbox_group(s, &lacks));
    emit_key(&e, "cgroup_why");
    emit_cstr(&e, lacks);
    emit_key(&e, "own_uids");
    emit_bool(&e, sandbox_own_uids(s, &lacks));
    emit_key(&e, "uids");
    emit_cstr(&e, lacks);
    emit_key(&e, "languages");
    emit_object(&e);
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        const char *missing = sandbox_why_not(s, languages[i].language);
        emit_key(&e, languages[i].name);
        emit_object(&e);
        emit_key(&e, "runs");
        emit_bool(&e, !missing);
        emit_key(&e, missing ? "why" : "runtime");
        emit_cstr(&e, missing ? missing : sandbox_runtime_name(s, languages[i].language));
        emit_object_end(&e);
    }
    emit_object_end(&e);
    emit_object_end(&e);
    buf_put_char(out, '\n');
}

static void on_ready(void *owner) {
    struct doctor *d = owner;
    io_loop_stop(&d->loop);
}

static void on_late(struct io_timer *timer) {
    io_loop_stop(&container_of(timer, struct doctor, timer)->loop);
}

/* Tests the sandbox, and prints all findings. */
static int check_and_print(struct doctor *d, struct spawn *spawn, struct doctor_findings *all,
                           const struct doctor_options *opt, const struct settings *settings) {
    struct err err = {""};
    const struct sandbox_config config = {
        .min_tier = 3, .warm = SANDBOX_NONE_WARM, .uids = settings ? settings->code.uids : NULL};
    if (spawn_attach(spawn, &d->loop, &err) < 0 ||
        sandbox_open(&d->loop, spawn, &config, on_ready, d, &d->sandbox, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    io_timer_arm(&d->loop, &d->timer, DOCTOR_WAIT_MS, on_late);
    io_loop_run(&d->loop);
    io_timer_stop(&d->loop, &d->timer);
    const int64_t min_tier = settings && settings->code.min_tier ? settings->code.min_tier : SANDBOX_MIN_TIER;
    check_sandbox(all, d->sandbox, min_tier, !settings || settings->code.enabled);
    cleanup_buf struct buf text;
    buf_init(&text, DOCTOR_TEXT_MAX);
    if (opt->json)
        print_json(all, d->sandbox, &text);
    else
        print_plain(all, &text);
    const int printed = cli_print(&text);
    return printed != CLI_OK ? printed : all->counts[DOCTOR_BAD] ? CLI_NO : CLI_OK;
}

static int doctor_run(const void *options, const struct cli_rest *rest) {
    (void)rest;
    const struct doctor_options *opt = options;
    struct doctor d = {0};
    struct err err = {""};
    /* Before servers are queried, which needs a spawner of its own: each gives up exec for this process. */
    struct spawn *spawn = spawn_start(&err);
    if (!spawn)
        return cli_fail(CLI_FAILED, &err);
    struct doctor_findings all = {.last = &all.first};
    cleanup_settings struct settings *settings = NULL;
    arena_init(&all.arena);
    cli_doctor_setup(&all, opt, &settings);
    if (settings)
        cli_doctor_servers(&all, opt, settings);
    io_loop_init(&d.loop);
    const int status = check_and_print(&d, spawn, &all, opt, settings);
    sandbox_close(d.sandbox);
    spawn_stop(spawn);
    io_loop_free(&d.loop);
    arena_free(&all.arena);
    return status;
}

static const struct cli_example doctor_examples[] = {
    {"sallyport doctor", "check everything that `sallyport serve` would use here"},
    {"sallyport doctor --no-start --json", "the same for a program, without starting servers"},
    {"sallyport doctor --config /etc/sallyport/sallyport.yaml", "the settings of another place"},
    {0},
};

const struct cli_command cli_doctor = {
    .name = "doctor",
    .summary = "check settings, policies, permissions, port, servers and sandbox, and print fixes",
    .detail =
        "Checks the state directory and its keys, the settings, every policy that they name, and who may "
        "read "
        "or change these files. Checks whether the port is free. Starts each server and asks for its tools. "
        "Tests each step of the sandbox in a temporary process, and the interpreters. `BAD` is a problem, "
        "`!` a "
        "remark; `fix` says what to do.\n\n"
        "Exit status: 0 without problems, 1 with one or more.",
    .options = doctor_rows,
    .options_size = sizeof(struct doctor_options),
    .examples = doctor_examples,
    .run = doctor_run,
};
