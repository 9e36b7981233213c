/* The least that can stand between a client and a stdio server: two copies, poll, no parsing.
 *
 *   relay [--cpu N] -- CMD ARG...
 *
 *   stdin ──▶ buffer ──▶ CMD's stdin
 *   stdout ◀── buffer ◀── CMD's stdout
 *
 * What a gate adds over this is what reading the messages costs. */
#include "proc.h"
#include "util.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RELAY_BUF_SIZE 65536

/* One direction. It reads only when its buffer is empty, so memory is bounded and order is kept. */
struct lane {
    int from;
    int to;
    size_t at;
    size_t len;
    bool ended;
    char buf[RELAY_BUF_SIZE];
};

static void lane_write(struct lane *lane) {
    ssize_t n = write(lane->to, lane->buf + lane->at, lane->len - lane->at);
    if (n > 0)
        lane->at += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        lane->ended = true;
    if (lane->at == lane->len)
        lane->at = lane->len = 0;
}

static void lane_read(struct lane *lane) {
    ssize_t n = read(lane->from, lane->buf, sizeof lane->buf);
    if (n > 0) {
        lane->len = (size_t)n;
        lane_write(lane);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        lane->ended = true;
    }
}

static struct pollfd lane_wants(const struct lane *lane) {
    if (lane->len)
        return (struct pollfd){.fd = lane->to, .events = POLLOUT};
    return (struct pollfd){.fd = lane->ended ? -1 : lane->from, .events = POLLIN};
}

static void lane_step(struct lane *lane, const struct pollfd *ready) {
    if (!ready->revents)
        return;
    if (lane->len)
        lane_write(lane);
    else
        lane_read(lane);
}

/* Runs until the server's output ends. The end of our input closes the server's. */
static void relay_run(struct lane *up, struct lane *down) {
    bool up_closed = false;
    while (!down->ended || down->len) {
        if (up->ended && !up->len && !up_closed) {
            close(up->to);
            up_closed = true;
        }
        struct pollfd ready[2] = {lane_wants(up), lane_wants(down)};
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            die("poll: %s", strerror(errno));
        lane_step(up, &ready[0]);
        lane_step(down, &ready[1]);
    }
}

int main(int argc, char **argv) {
    static struct lane up;
    static struct lane down;
    int at = 1;
    if (argc > at + 1 && strcmp(argv[at], "--cpu") == 0) {
        pin_cpu((int)parse_number("--cpu", argv[at + 1], 0, 1023));
        at += 2;
    }
    if (argc < at + 2 || strcmp(argv[at], "--") != 0)
        die("usage: relay [--cpu N] -- CMD ARG...");
    signal(SIGPIPE, SIG_IGN);
    struct proc_child child = proc_spawn(argv + at + 1, -1, true);
    set_nonblocking(child.in);
    set_nonblocking(child.out);
    up.from = STDIN_FILENO;
    up.to = child.in;
    down.from = child.out;
    down.to = STDOUT_FILENO;
    relay_run(&up, &down);
    int status = 0;
    waitpid(child.pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
