/* sallyport doctor: what this machine can do for the sandbox, what is missing and how to get it. Everything
 * is found out by doing it, as the gate itself does when it starts. */
#include "base/mem.h"
#include "cli/command.h"
#include "code/sandbox.h"
#include "wire/emit.h"

#include <stdio.h>
#include <string.h>

#define DOCTOR_TEXT_MAX (64u << 10)
#define DOCTOR_WAIT_MS 20000

struct doctor_options {
    bool json;
};

static const struct cli_option doctor_rows[] = {
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
    {SANDBOX_JAVASCRIPT, "javascript", "install Node 20 or newer, or name one with SALLYPORT_NODE"},
    {SANDBOX_TYPESCRIPT, "typescript", "install Node 22.13 or newer, or name one with SALLYPORT_NODE"},
};

static const char *const tiers[] = {
    "not known",
    "full: own user, mount, process, network and IPC namespaces, Landlock, seccomp",
    "reduced: no namespaces; Landlock and seccomp, no processes, workspaces on disk",
    "weak: seccomp alone, computing only; refused unless min_tier is 3",
    "none: nothing may run here",
};

/* The usual reasons, told by the words of the step that failed. */
static const char *advice_for(const char *why) {
    static const struct {
        const char *word;
        const char *advice;
    } table[] = {
        {"user namespace",
         "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu "
         "kernel.apparmor_restrict_unprivileged_userns=0; in a container run with --security-opt "
         "seccomp=unconfined "
         "--security-opt apparmor=unconfined, or beside it"},
        {"namespaces", "in a container: --security-opt seccomp=unconfined --security-opt "
                       "apparmor=unconfined, or --cap-add SYS_ADMIN"},
        {"memory disk", "in a container: --security-opt apparmor=unconfined, or --cap-add SYS_ADMIN"},
        {"landlock",
         "a kernel of 5.13 or newer with Landlock among its modules (lsm= on the kernel command line)"},
        {"seccomp", "a kernel with CONFIG_SECCOMP_FILTER"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strstr(why, table[i].word))
            return table[i].advice;
    return "";
}

static void print_plain(const struct sandbox *s, struct buf *out) {
    const int tier = sandbox_tier(s);
    const char *why = sandbox_tier_why(s);
    buf_printf(out, "sandbox     tier %d, %s\n", tier, tiers[tier]);
    if (tier != 1) {
        buf_printf(out, "            kept from tier 1 by: %s\n", why);
        if (*advice_for(why))
            buf_printf(out, "            to get it: %s\n", advice_for(why));
    }
    const char *lacks;
    const int group = sandbox_group(s, &lacks);
    if (group)
        buf_printf(out,
                   "cgroups     version %d: bound all sandboxes together, and the processes of each with "
                   "profile proc\n",
                   group);
    else
        buf_printf(out,
                   "cgroups     none; limits are those of each process: %s\n"
                   "            to get them: run the gate as a service with Delegate=yes\n",
                   lacks);
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        const char *missing = sandbox_why_not(s, languages[i].language);
        buf_printf(out, "%-11s %s\n", languages[i].name,
                   missing ? missing : sandbox_runtime_name(s, languages[i].language));
        if (missing)
            buf_printf(out, "            to get it: %s\n", languages[i].advice);
    }
}

static void print_json(const struct sandbox *s, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "tier");
    emit_int(&e, sandbox_tier(s));
    emit_key(&e, "why");
    emit_cstr(&e, sandbox_tier_why(s));
    const char *lacks;
    emit_key(&e, "cgroup");
    emit_int(&e, sandbox_group(s, &lacks));
    emit_key(&e, "cgroup_why");
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

static int doctor_run(const void *options, const struct cli_rest *rest) {
    (void)rest;
    const struct doctor_options *o = options;
    struct doctor d = {0};
    struct err err = {""};
    const struct sandbox_config config = {.min_tier = 3, .warm = SANDBOX_NONE_WARM};
    struct spawn *spawn = spawn_start(&err);
    if (!spawn)
        return cli_fail(CLI_FAILED, &err);
    io_loop_init(&d.loop);
    int status = CLI_FAILED;
    if (spawn_attach(spawn, &d.loop, &err) == 0 &&
        sandbox_open(&d.loop, spawn, &config, on_ready, &d, &d.sandbox, &err) == 0) {
        cleanup_buf struct buf text;
        buf_init(&text, DOCTOR_TEXT_MAX);
        io_timer_arm(&d.loop, &d.timer, DOCTOR_WAIT_MS, on_late);
        io_loop_run(&d.loop);
        io_timer_stop(&d.loop, &d.timer);
        (o->json ? print_json : print_plain)(d.sandbox, &text);
        const bool fine = sandbox_tier(d.sandbox) >= 1 && sandbox_tier(d.sandbox) <= SANDBOX_MIN_TIER &&
                          !sandbox_why_not(d.sandbox, SANDBOX_PYTHON);
        status = cli_print(&text) == CLI_OK ? (fine ? CLI_OK : CLI_NO) : CLI_FAILED;
    } else {
        cli_fail(CLI_FAILED, &err);
    }
    sandbox_close(d.sandbox);
    spawn_stop(spawn);
    io_loop_free(&d.loop);
    return status;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .summary = "say what this machine can do for the sandbox, and how to get what is missing",
    .detail = "Every step of the sandbox is done once in a throw-away process, as the gate does when it "
              "starts; the "
              "interpreters are started and tried.\n\n"
              "Exit status: 0 when Python code can be run with the default settings, 1 when not.",
    .options = doctor_rows,
    .options_size = sizeof(struct doctor_options),
    .run = doctor_run,
};
