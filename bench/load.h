/* What the parts of the load generator share.
 *
 *   load.c        options, the report line
 *   load_run.c    the phases of a run
 *   load_shape.c  what a call looks like, and whether an answer is right
 *   load_http.c   calls over keep-alive connections (epoll)
 *   load_stdio.c  calls in flight over one pair of pipes
 *   load_other.c  idle sessions; time to the first answer
 *   client.c      one blocking exchange, for handshakes
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "hist.h"
#include "proc.h"
#include "util.h"

#include <sys/uio.h>

#define LOAD_SLOTS_MAX 4096 /* connections or calls in flight */
#define LOAD_SESSIONS_MAX 16000
#define LOAD_BYTES_MAX (32UL << 20)
#define LOAD_HEADERS_MAX 1024
#define LOAD_OPEN_MAX 512
#define LOAD_TAIL_MAX 512
#define LOAD_SESSION_ID_MAX 256
#define LOAD_ERRORS_MAX 10000    /* a run with more is stopped early */
#define LOAD_SLACK (256UL << 10) /* room for headers, framing and the events of a stream beside the text */
#define LOAD_TICK_MS 50
#define LOAD_DRAIN_NS (10 * NS_PER_S)
#define LOAD_ID_FIRST 1000000000ULL /* ids keep ten digits, so they are patched in place */
#define LOAD_ID_DIGITS 10
#define LOAD_ID_SPAN 9000000000ULL

#define LEGACY_VERSION "2025-11-25"
#define MODERN_VERSION "2026-07-28"

enum era { ERA_LEGACY, ERA_MODERN, ERA_NONE };

struct options {
    const char *mode;
    const char *host; /* the URL's parts */
    const char *path;
    uint16_t port;
    unsigned slots;
    size_t bytes;
    uint64_t run_ns;
    uint64_t warm_ns;
    enum era era;
    unsigned sessions;
    unsigned runs;
    int cpu; /* of the spawned command; -1: any */
    const char *tool;
    bool expect_denied;
    const char *except; /* name of processes that are not under test */
    char headers[LOAD_HEADERS_MAX];
    size_t headers_len;
    struct proc_set set;
    char **command;
};

/* A call is open + text + tail; only the id inside `open` differs from call to call. */
struct shape {
    char open[LOAD_OPEN_MAX];
    size_t open_len;
    size_t id_at;
    char *text;
    size_t text_len;
    char tail[LOAD_TAIL_MAX];
    size_t tail_len;
    bool expect_denied;
};

enum phase { PHASE_WARM, PHASE_MEASURE, PHASE_DRAIN, PHASE_DONE };

struct stats {
    struct hist hist;
    uint64_t calls;
    uint64_t errors;
    uint64_t reconnects;
    uint64_t from_ns;
    uint64_t to_ns;
    struct proc_usage before;
    struct proc_usage after;
    const char *first_error;
};

/* One measured run: warm up, measure, stop sending and let the rest come home. */
struct run {
    const struct options *options;
    struct shape shape;
    struct stats stats;
    struct proc_set set;
    enum phase phase;
    uint64_t next_phase_ns;
    uint64_t sequence;
    unsigned in_flight;
};

void shape_init(struct shape *shape, const struct options *options);
void shape_put_id(const struct shape *shape, char *open, uint64_t id);
/* What is left of a call after `sent` bytes of `open`, text and tail. Returns the number of parts. */
int shape_iov(const struct shape *shape, char *open, size_t open_len, size_t sent, struct iovec *iov);
/* The id of an answer, or 0. */
uint64_t answer_id(const char *body, size_t len);
/* NULL when the answer is what was asked for, else what is wrong with it. */
const char *answer_check(const struct shape *shape, const char *body, size_t len);

void run_init(struct run *run, const struct options *options);
void run_begin(struct run *run);              /* the handshake is done: grow the set, start to warm up */
void run_tick(struct run *run, uint64_t now); /* moves to the next phase when it is time */
uint64_t run_next_id(struct run *run, unsigned slot);
void run_record(struct run *run, uint64_t sent_ns, uint64_t now);
void run_error(struct run *run, const char *what);

void load_http(const struct options *options, struct run *run);
void load_stdio(const struct options *options, struct run *run);
void load_sessions(const struct options *options);
void load_first(const struct options *options);

extern const char *const INITIALIZE_BODY;
extern const char *const INITIALIZED_BODY;

/* Blocking client for handshakes. */
int client_connect(const struct options *options); /* -1 when refused */
/* One initialize with its notification. Writes the session id ("" when none). False on any failure. */
bool client_handshake(int fd, const struct options *options, char *ret_session);
bool client_stdio_handshake(const struct proc_child *child, bool notify);

#endif
