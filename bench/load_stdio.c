/* Calls in flight over one pair of pipes. Answers may come in any order: the slot is in the id.
 *
 *   slots to send ─▶ queue ─▶ one writev for as many as fit ─▶ CMD
 *   slot is free  ◀─ checked, recorded ◀─ whole lines       ◀──┘ */
#include "load.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STDIO_BATCH_MAX 128 /* calls in one writev */
#define STDIO_BUF_SLACK (1UL << 20)

struct slot {
    bool busy;
    char open[LOAD_OPEN_MAX];
    uint64_t id;
    uint64_t sent_ns;
};

struct pipes {
    const struct options *options;
    struct run *run;
    struct proc_child child;
    struct slot *slots;
    unsigned queue[LOAD_SLOTS_MAX]; /* a ring of slots that wait to be written */
    unsigned queue_at;
    unsigned queue_len;
    size_t head_sent; /* bytes of the first queued call that are out */
    char *buf;
    size_t cap;
    size_t len;
};

static void slot_enqueue(struct pipes *pipes, unsigned index) {
    struct slot *slot = &pipes->slots[index];
    if (pipes->run->phase >= PHASE_DRAIN)
        return;
    slot->id = run_next_id(pipes->run, index);
    slot->busy = true;
    slot->sent_ns = now_ns();
    shape_put_id(&pipes->run->shape, slot->open, slot->id);
    pipes->queue[(pipes->queue_at + pipes->queue_len++) % LOAD_SLOTS_MAX] = index;
    pipes->run->in_flight++;
}

static int gather(struct pipes *pipes, struct iovec *iov) {
    const struct shape *shape = &pipes->run->shape;
    unsigned batch = pipes->queue_len < STDIO_BATCH_MAX ? pipes->queue_len : STDIO_BATCH_MAX;
    int parts = 0;
    for (unsigned i = 0; i < batch; i++) {
        struct slot *slot = &pipes->slots[pipes->queue[(pipes->queue_at + i) % LOAD_SLOTS_MAX]];
        parts += shape_iov(shape, slot->open, shape->open_len, i ? 0 : pipes->head_sent, iov + parts);
    }
    return parts;
}

static void queue_advance(struct pipes *pipes, size_t sent) {
    const struct shape *shape = &pipes->run->shape;
    size_t call_len = shape->open_len + shape->text_len + shape->tail_len;
    pipes->head_sent += sent;
    while (pipes->queue_len && pipes->head_sent >= call_len) {
        pipes->head_sent -= call_len;
        pipes->queue_at = (pipes->queue_at + 1) % LOAD_SLOTS_MAX;
        pipes->queue_len--;
    }
}

static void queue_write(struct pipes *pipes) {
    struct iovec iov[3 * STDIO_BATCH_MAX];
    while (pipes->queue_len) {
        ssize_t n = writev(pipes->child.in, iov, gather(pipes, iov));
        if (n >= 0)
            queue_advance(pipes, (size_t)n);
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            die("the server closed its input: %s", strerror(errno));
    }
}

static void take_line(struct pipes *pipes, const char *line, size_t len) {
    struct run *run = pipes->run;
    uint64_t id = answer_id(line, len);
    if (!id && find_bytes(line, len < LOAD_OPEN_MAX ? len : LOAD_OPEN_MAX, "\"method\":"))
        return; /* a notification of the server */
    unsigned index = id >= LOAD_ID_FIRST ? (unsigned)((id - LOAD_ID_FIRST) % pipes->options->slots) : 0;
    struct slot *slot = &pipes->slots[index];
    if (id < LOAD_ID_FIRST || !slot->busy || slot->id != id) {
        run_error(run, "an answer with an id that is not in flight");
        return;
    }
    const char *wrong = answer_check(&run->shape, line, len);
    if (wrong)
        run_error(run, wrong);
    else
        run_record(run, slot->sent_ns, now_ns());
    slot->busy = false;
    run->in_flight--;
    slot_enqueue(pipes, index);
}

static void read_lines(struct pipes *pipes) {
    ssize_t n = read(pipes->child.out, pipes->buf + pipes->len, pipes->cap - pipes->len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        die("the server closed its output");
    size_t from = pipes->len;
    size_t start = 0;
    const char *newline;
    pipes->len += (size_t)n;
    while ((newline = memchr(pipes->buf + from, '\n', pipes->len - from))) {
        size_t end = (size_t)(newline - pipes->buf);
        take_line(pipes, pipes->buf + start, end - start);
        start = from = end + 1;
    }
    pipes->len -= start;
    memmove(pipes->buf, pipes->buf + start, pipes->len);
    if (pipes->len == pipes->cap)
        die("the server sent a line over %zu bytes", pipes->cap);
}

static void pipes_open(struct pipes *pipes) {
    const struct options *options = pipes->options;
    struct shape *shape = &pipes->run->shape;
    shape->tail_len = put_text(shape->tail, sizeof shape->tail, shape->tail_len, "\n");
    pipes->cap = options->bytes * 2 + STDIO_BUF_SLACK;
    pipes->buf = must_alloc(pipes->cap);
    pipes->slots = must_alloc(options->slots * sizeof *pipes->slots);
    for (unsigned i = 0; i < options->slots; i++)
        put_bytes(pipes->slots[i].open, LOAD_OPEN_MAX, 0, shape->open, shape->open_len);
    pipes->child = proc_spawn(options->command, options->cpu, true);
    if (options->era == ERA_LEGACY && !client_stdio_handshake(&pipes->child, true))
        die("initialize over stdio failed");
    set_nonblocking(pipes->child.in);
    set_nonblocking(pipes->child.out);
    proc_set_add(&pipes->run->set, pipes->child.pid);
}

void load_stdio(const struct options *options, struct run *run) {
    static struct pipes pipes;
    pipes.options = options;
    pipes.run = run;
    pipes_open(&pipes);
    run_begin(run);
    for (unsigned i = 0; i < options->slots; i++)
        slot_enqueue(&pipes, i);
    queue_write(&pipes);
    while (run->phase != PHASE_DONE) {
        struct pollfd ready[2] = {{.fd = pipes.child.out, .events = POLLIN},
                                  {.fd = pipes.queue_len ? pipes.child.in : -1, .events = POLLOUT}};
        if (poll(ready, 2, LOAD_TICK_MS) < 0 && errno != EINTR)
            die("poll: %s", strerror(errno));
        run_tick(run, now_ns());
        if (ready[0].revents)
            read_lines(&pipes);
        queue_write(&pipes);
    }
    proc_stop(&pipes.child);
}
