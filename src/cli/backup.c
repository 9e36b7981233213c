/* Backs up the home and restores it: backup, restore. */
#include "state/home_copy.h"

#include "audit/audit.h"
#include "audit/verify.h"
#include "base/arena.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/gates.h"
#include "wire/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_MS 200

struct backup_options {
    bool json;
    bool check;
};
struct restore_options {
    bool json;
    bool replace;
};

static const struct cli_option backup_rows[] = {
    {CLI_SWITCH(struct backup_options, check), .name = "check",
     .help = "only check that the backup in DIR is complete and unchanged"},
    {CLI_SWITCH(struct backup_options, json), .name = "json", .help = "print JSON"},
    {0},
};
static const struct cli_option restore_rows[] = {
    {CLI_SWITCH(struct restore_options, replace), .name = "replace",
     .help = "set the home that is there aside, as HOME.before-TIME"},
    {CLI_SWITCH(struct restore_options, json), .name = "json", .help = "print JSON"},
    {0},
};

/* ---- progress ---- */

struct progress {
    const char *verb;
    uint64_t printed_ms;
    bool printed;
};

static void show_progress(void *ctx, const struct state_home_copy *b, const char *path) {
    struct progress *p = ctx;
    const uint64_t now = clock_mono_ms();
    if (now - p->printed_ms < PROGRESS_MS)
        return;
    p->printed_ms = now;
    p->printed = true;
    fprintf(stderr, "\r\033[K%s: %" PRIu64 " files, %.1f MB; %.60s", p->verb, b->files,
            (double)b->bytes / 1e6, path);
}

/* Only on a terminal. */
static struct state_home_copy with_progress(struct progress *p) {
    p->printed_ms = clock_mono_ms();
    return (struct state_home_copy){.progress = cli_colour(STDERR_FILENO) ? show_progress : NULL, .ctx = p};
}

static void end_progress(const struct progress *p) {
    if (p->printed)
        fputs("\r\033[K", stderr);
}

/* ---- the result ---- */

static int print_result(const char *what, const char *dir, const char *home, const struct state_home_copy *b,
                        const struct audit_report *log, bool json) {
    char taken[CLOCK_TEXT_MAX];
    cleanup_buf struct buf out;
    struct emit e;
    buf_init(&out, CLI_TEXT_MAX);
    clock_text(b->taken_ms, taken);
    if (!json) {
        buf_printf(&out,
                   "%s: %" PRIu64 " files, %.1f MB, as of %s; the audit log is sound: %" PRIu64 " records\n",
                   what, b->files, (double)b->bytes / 1e6, taken, log->records);
        return cli_print(&out);
    }
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "backup");
    emit_cstr(&e, dir);
    emit_key(&e, "home");
    emit_cstr(&e, home);
    emit_key(&e, "taken_at");
    emit_cstr(&e, taken);
    emit_key(&e, "files");
    emit_int(&e, (int64_t)b->files);
    emit_key(&e, "bytes");
    emit_int(&e, (int64_t)b->bytes);
    emit_key(&e, "audit_records");
    emit_int(&e, (int64_t)log->records);
    emit_key(&e, "audit_sound");
    emit_bool(&e, log->sound);
    emit_object_end(&e);
    buf_put_char(&out, '\n');
    return cli_print(&out);
}

/* Verifies the copy. A home without a log has nothing to verify. */
static int check_log(const char *dir, struct audit_report *ret_report, struct err *err) {
    char path[CLI_PATH_MAX];
    *ret_report = (struct audit_report){.sound = true};
    if (snprintf(path, sizeof(path), "%s/audit", dir) >= (int)sizeof(path) || access(path, F_OK) < 0)
        return 0;
    audit_verify(dir, NULL, ret_report);
    return ret_report->sound ? 0
                             : err_set(err, "the audit log of `%s` is not sound: %s", dir, ret_report->text);
}

/* Relative to the current directory; paths of the home are absolute. */
static int absolute_path(const char *given, char ret_path[CLI_PATH_MAX], struct err *err) {
    char here[CLI_PATH_MAX];
    if (*given != '/' && !getcwd(here, sizeof(here)))
        return err_set(err, "the current directory cannot be read");
    int len = *given == '/' ? snprintf(ret_path, CLI_PATH_MAX, "%s", given)
                            : snprintf(ret_path, CLI_PATH_MAX, "%s/%s", here, given);
    if (len < 0 || len >= CLI_PATH_MAX)
        return err_set(err, "`%s` is too long", given);
    while (len > 1 && ret_path[len - 1] == '/')
        ret_path[--len] = '\0';
    return 0;
}

static int backup_run(const void *options, const struct cli_rest *rest) {
    const struct backup_options *opt = options;
    char home[CLI_PATH_MAX], dir[CLI_PATH_MAX];
    struct err err = {0};
    struct audit_report log;
    struct progress p = {.verb = opt->check ? "checking" : "copying"};
    struct state_home_copy b = with_progress(&p);
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    if (absolute_path(rest->operands[0], dir, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    int rc = opt->check ? 0 : state_home_copy_make(home, dir, &b, &err);
    if (rc == 0) {
        p.verb = "checking";
        rc = state_home_copy_check(dir, &b, &err);
    }
    if (rc == 0)
        rc = check_log(dir, &log, &err);
    end_progress(&p);
    if (rc < 0)
        return cli_fail(opt->check ? CLI_NO : CLI_FAILED, &err);
    return print_result(opt->check ? "complete" : "backed up", dir, home, &b, &log, opt->json);
}

/* ---- restore ---- */

static void count_gate(void *ctx, const struct tape *page) {
    (void)page;
    ++*(size_t *)ctx;
}

/* The next record of the restored log. */
static void record_restore(const char *home, const struct state_home_copy *b) {
    struct err err = {0};
    struct audit *audit = NULL;
    char taken[CLOCK_TEXT_MAX];
    cleanup_arena struct arena a;
    arena_init(&a);
    clock_text(b->taken_ms, taken);
    struct audit_action action = {
        .name = SLICE("restored"),
        .identity = cli_home_user(&a),
        .text = arena_printf(&a, "the home was restored from a backup of %s", taken),
    };
    if (audit_open(&(struct audit_config){.home = home}, &audit, &err) < 0 ||
        audit_put_action(audit, &action) != AUDIT_OK || audit_flush(audit, &err) < 0) {
        err_wrap(&err, "not in the audit log");
        cli_fail(CLI_FAILED, &err);
    }
    audit_close(audit);
}

static int restore_run(const void *options, const struct cli_rest *rest) {
    const struct restore_options *opt = options;
    char home[CLI_PATH_MAX], dir[CLI_PATH_MAX], aside[CLI_PATH_MAX + 32], taken[CLOCK_TEXT_MAX];
    struct err err = {0};
    struct audit_report log;
    size_t running = 0;
    struct progress p = {.verb = "restoring"};
    struct state_home_copy b = with_progress(&p);
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    if (absolute_path(rest->operands[0], dir, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    cli_gates_each(home, count_gate, &running);
    if (running) {
        err_set(&err, "%zu gates use `%s`: stop them first", running, home);
        return cli_fail(CLI_NO, &err);
    }
    snprintf(aside, sizeof(aside), "%s.before-%" PRIu64, home, clock_wall_ms());
    int rc = state_home_copy_restore(dir, home, opt->replace ? aside : NULL, &b, &err);
    if (rc == 0)
        rc = check_log(home, &log, &err);
    end_progress(&p);
    if (rc < 0)
        return cli_fail(CLI_FAILED, &err);
    record_restore(home, &b);
    clock_text(b.taken_ms, taken);
    fprintf(
        stderr,
        "sallyport: grants, limits, approvals and stops are as they were at %s: what was revoked, used up "
        "or stopped since then has to be done again\n",
        taken);
    return print_result("restored", dir, home, &b, &log, opt->json);
}

static const struct cli_example backup_examples[] = {
    {"sallyport backup /mnt/backups/2026-11-17", "copy the home while gates use it, and check the copy"},
    {"sallyport backup --check /mnt/backups/2026-11-16", "is this backup complete and unchanged?"},
    {0},
};
static const struct cli_example restore_examples[] = {
    {"sallyport restore /mnt/backups/2026-11-16", "on a new machine"},
    {"sallyport restore --replace /mnt/backups/2026-11-16", "set the damaged home aside"},
    {0},
};

const struct cli_command cli_backup = {
    .name = "backup",
    .summary = "copy the home, consistently, while gates use it",
    .detail =
        "Copies counters, grants, approvals, the token vault, keys, the audit log and the files of the "
        "code server to DIR, which must not exist or be empty. Gates need not be stopped. Every file is "
        "checked after it was copied, and so are the databases and the audit log.\n\n"
        "The copy holds keys and secrets: keep it as safe as the home.",
    .options = backup_rows,
    .options_size = sizeof(struct backup_options),
    .operands = "DIR",
    .operands_min = 1,
    .operands_max = 1,
    .examples = backup_examples,
    .run = backup_run,
};
const struct cli_command cli_restore = {
    .name = "restore",
    .summary = "put a backup in the place of the home",
    .detail =
        "Checks the backup, copies it beside the home and renames it: the home is the old one or the new "
        "one at every moment. No gate may use the home.\n\n"
        "Counters start at the marks of the backup, which are never below what was used then.",
    .options = restore_rows,
    .options_size = sizeof(struct restore_options),
    .operands = "DIR",
    .operands_min = 1,
    .operands_max = 1,
    .examples = restore_examples,
    .run = restore_run,
};
