/* Runs in the zygote, which stays the helper's own program and has given up the same privileges as the
 * launcher; then in each fresh child, up to its exec. */
#include "sandbox/exec.h"

#include "base/mem.h"
#include "sandbox/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT_MAX (120u << 10) /* the kernel's limit for one argument is 128 KiB */
#define PRELOAD_MAX (FRAME_PATH_MAX + 16)
#define TRIAL_S 20

struct exec {
    char *script;
    char preload[PRELOAD_MAX];
    const char *argv[EXEC_ARGS];
    const char *envp[EXEC_ARGS + 2];
    size_t env_count;
};

/* Wraps the script in a function, because its top-level declarations would be globals of the guest. */
static int read_script(const char *path, char **ret_text) {
    static const char head[] = "(() => {", tail[] = "\n})()";
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = mem_zalloc(SCRIPT_MAX + sizeof(tail));
    ssize_t n = 0;
    size_t len = sizeof(head) - 1;
    memcpy(text, head, len);
    while (fd >= 0 && len < SCRIPT_MAX && (n = read(fd, text + len, SCRIPT_MAX - len)) > 0)
        len += (size_t)n;
    memcpy(text + len, tail, sizeof(tail));
    *ret_text = text;
    return fd >= 0 && n == 0 ? 0 : -1;
}

static int prepare(const struct exec_plan *plan, struct exec *ret_exec) {
    struct exec *e = ret_exec;
    if (read_script(plan->script, &e->script) != 0)
        return -1;
    size_t n = 0;
    e->argv[n++] = plan->binary;
    for (const char *const *a = plan->argv; *a && n < EXEC_ARGS - 4; a++)
        e->argv[n++] = *a;
    e->argv[n++] = "-e";
    e->argv[n++] = e->script;
    e->argv[n++] = plan->module;
    for (const char *const *v = plan->envp; *v && e->env_count < EXEC_ARGS - 1; v++)
        e->envp[e->env_count++] = *v;
    snprintf(e->preload, sizeof(e->preload), "LD_PRELOAD=%s", plan->module);
    e->envp[e->env_count++] = e->preload;
    return 0;
}

static noreturn void execute(const struct exec *e) {
    execve(e->argv[0], (char *const *)(uintptr_t)e->argv, (char *const *)(uintptr_t)e->envp);
    _exit(CONFINE_FAILED);
}

/* The trial reports its result to the helper itself; only a failure to do so is reported here. */
static bool trial(struct exec *e) {
    pid_t pid = fork();
    if (pid == 0) {
        alarm(TRIAL_S);
        e->envp[e->env_count] = EXEC_TRIAL "=1";
        execute(e);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

noreturn void exec_serve(const struct confine_setup *setup, const struct exec_plan *plan) {
    static struct exec e;
    struct frame_order order;
    int stdio[3];
    if (prepare(plan, &e) != 0 || !trial(&e)) {
        zygote_notify(CONFINE_NOTE_DOWN, "Bun cannot be started here");
        _exit(CONFINE_FAILED);
    }
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the change of uid cleared it, and the id maps must be written */
    while (zygote_next(&order, stdio)) {
        if (zygote_clone(setup, &order, stdio) != 0)
            continue;
        confine_before_exec(setup, &order, stdio);
        execute(&e);
    }
    _exit(0);
}
