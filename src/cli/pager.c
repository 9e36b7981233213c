#include "cli/pager.h"

#include "base/mem.h"
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

static bool fits(const struct buf *text) {
    struct winsize size;
    size_t lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->ptr[i] == '\n';
    return !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ||
           lines < size.ws_row;
}

/* Its end of the pipe is its stdin. False when it cannot be started. */
static bool start(const char *pager, int pipe_read, int pipe_write, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    char *const argv[] = {(char *)(uintptr_t)pager,
                          (char *)(uintptr_t)(strcmp(pager, "less") == 0 ? "-FRX" : NULL), NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_read, STDIN_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_write);
    int rc = posix_spawnp(ret_pid, pager, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0;
}

/* The user may leave the pager early: a broken pipe is not a failure. */
static void pour(int fd, struct slice text) {
    signal(SIGPIPE, SIG_IGN);
    while (text.len) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text = slice_from(text, (size_t)n);
    }
}

int cli_page(const struct buf *text) {
    const char *pager = getenv("PAGER");
    int ends[2];
    pid_t pid;
    pager = pager && *pager ? pager : "less";
    if (fits(text) || getenv("NO_PAGER") || strcmp(pager, "cat") == 0 || pipe(ends) < 0)
        return cli_print(text);
    bool started = start(pager, ends[0], ends[1], &pid);
    close(ends[0]);
    if (started)
        pour(ends[1], buf_slice(text));
    close(ends[1]);
    if (!started)
        return cli_print(text);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return CLI_OK;
}
