#include "packages/installer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "packages/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#define WORDS_SHOWN 600
#define LOOK_MS 200 /* interval of checks of the clock and of `stop` */

static _Noreturn void start(const struct pack_installer *p, const int pipes[2][2]) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0); /* Ctrl-C reaches this program, which then ends the whole group */
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(pipes[0][1], STDOUT_FILENO) < 0 ||
        dup2(pipes[1][1], STDERR_FILENO) < 0 || (p->cwd && chdir(p->cwd) < 0))
        _exit(126);
    execvp(p->argv[0], (char *const *)(uintptr_t)p->argv);
    _exit(127);
}

/* The end of its output, on one line. */
static struct slice last_words(struct buf *words) {
    for (size_t i = 0; i < words->len; i++)
        if (words->ptr[i] == '\n' || words->ptr[i] == '\r')
            words->ptr[i] = ' ';
    const struct slice all = slice_trim(buf_slice(words));
    return slice_from(all, all.len > WORDS_SHOWN ? all.len - WORDS_SHOWN : 0);
}

/* False at the end of the stream. Output over the ceiling is read and dropped. */
static bool take(int fd, struct buf *to) {
    char bytes[16384];
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n < 0)
        return errno == EINTR;
    if (n > 0 && !buf_put(to, bytes, (size_t)n) && to->len > sizeof(bytes)) {
        to->full = false; /* the newest half has the reason of a failure */
        memmove(to->ptr, to->ptr + to->len / 2, to->len - to->len / 2);
        to->len -= to->len / 2;
        buf_put(to, bytes, (size_t)n);
    }
    return n > 0;
}

static int follow(const struct pack_installer *p, int fds[2], struct buf *out, struct buf *words,
                  struct err *err) {
    const uint64_t until = clock_mono_ms() + PACK_FETCH_MS;
    struct pollfd polls[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
    while (polls[0].fd >= 0 || polls[1].fd >= 0) {
        if (p->stop && *p->stop)
            return err_set(err, "interrupted");
        if (clock_mono_ms() > until)
            return err_set(err, "%s takes too long", p->argv[0]);
        if (poll(polls, 2, LOOK_MS) <= 0)
            continue;
        if (polls[0].revents && !take(polls[0].fd, out))
            polls[0].fd = -1;
        if (polls[1].revents && !take(polls[1].fd, words))
            polls[1].fd = -1;
    }
    return 0;
}

int pack_installer_run(const struct pack_installer *p, struct buf *out, struct err *err) {
    int pipes[2][2] = {{-1, -1}, {-1, -1}};
    if (pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0)
        return err_set(err, "run %s: %s", p->argv[0], strerror(errno));
    const pid_t pid = fork();
    if (pid == 0)
        start(p, (const int(*)[2])pipes);
    close(pipes[0][1]);
    close(pipes[1][1]);
    cleanup_fd int out_fd = pipes[0][0], words_fd = pipes[1][0];
    cleanup_buf struct buf words;
    buf_init(&words, PACK_WORDS_MAX);
    if (pid < 0)
        return err_set(err, "run %s: %s", p->argv[0], strerror(errno));
    setpgid(pid, pid);
    const int done = follow(p, (int[2]){out_fd, words_fd}, out, &words, err);
    int status = -1;
    if (done < 0)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (done < 0)
        return -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !words.len)
        return err_set(err, "%s is not installed", p->argv[0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(err, "%s failed: %.*s", p->argv[0], SLICE_FMT(last_words(&words)));
    return 0;
}
