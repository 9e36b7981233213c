/* Inside the sandbox client: the engine, its children ("boxes") and its runs.
 *
 *   sandbox.c        the face: requests, waiting line, pool, sessions
 *   sandbox_box.c    the helper and the children: start, exit, violations, streams
 *   sandbox_run.c    one run: frames, quotas, clock, outcome */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "io/conn.h"
#include "runner/limits.h"
#include "runner/sandbox.h"
#include "sandbox/frame.h"
#include "wire/tape.h"

#define SANDBOX_MAGIC 0x5b0c5b0c
#define SANDBOX_RUN_MAGIC 0x5b0c0047

#define SANDBOX_KINDS (FRAME_RUNTIMES * FRAME_PROFILES)

/* Interpreters that an operator can name. */
enum { SANDBOX_GIVEN_PYTHON, SANDBOX_GIVEN_NODE, SANDBOX_GIVEN_BUN, SANDBOX_GIVEN };

enum box_state { BOX_STARTING, BOX_WAKING, BOX_IDLE, BOX_BUSY, BOX_PARKED, BOX_DYING };

struct box_stream {
    uv_poll_t poll;
    int fd;
    bool polled; /* the handle is open */
    struct box *box;
    enum sandbox_stream which;
};

struct box {
    struct list node;
    struct sandbox *engine;
    uint64_t token;
    enum frame_runtime runtime;
    enum sandbox_profile profile;
    enum box_state state;
    int bridge_fd;
    int pidfd;
    int workspace;
    struct io_conn *bridge;
    struct box_stream streams[2];
    struct io_timer wake;   /* WAKING: how long we wait for its sign of life */
    struct io_timer listen; /* when the streams are to be watched */
    uint32_t handles;       /* open uv handles; freed when they are closed */
    bool gone;              /* out of the engine's list */
    struct sandbox_run *run;
    char *session; /* name, or NULL */
    uint32_t session_runs;
    uint64_t since_ms; /* parked, or idle */
};

struct sandbox_runtime {
    bool known;
    bool usable;
    char name[FRAME_REASON_MAX]; /* or why not */
    char modules[FRAME_REASON_MAX];
};

struct sandbox_kind {
    uint64_t used_ms;
    uint32_t failures; /* children in a row that did not start */
    uint32_t missed;   /* children in a row that did not come to life */
    char why[FRAME_REASON_MAX];
};

struct sandbox {
    uint32_t magic;
    struct io_loop *loop;
    struct spawn *spawn;
    void (*ready)(void *owner);
    void *owner;
    char helper_dir[FRAME_PATH_MAX];
    char *given[SANDBOX_GIVEN];
    char *packages; /* directory, or NULL */
    int min_tier;
    uint32_t wake_ms, warm, runs_max, memory_mb_max, workspace_mb, languages;
    enum sandbox_profile profile;
    int preludes; /* memfd, or -1 */
    /* the helper */
    uint64_t spawn_token;
    int control;
    uv_poll_t *control_poll;
    bool starting, said_hello, told_ready;
    int tier;
    char tier_why[FRAME_REASON_MAX];
    int group; /* version of the control groups */
    char group_why[FRAME_REASON_MAX];
    char trouble[FRAME_REASON_MAX]; /* last words of the helper */
    struct io_conn *errors;
    struct sandbox_runtime runtimes[FRAME_RUNTIMES];
    struct sandbox_kind kinds[SANDBOX_KINDS];
    struct list boxes;
    struct list waiting; /* runs without a box */
    struct list running;
    struct list finishing; /* over, while their files are fetched */
    uint32_t waiting_count, running_count;
    uint64_t begun_ms; /* the last run that got a child */
    uint64_t last_token;
    struct io_timer tick;
    struct io_timer refill; /* children for later are made when the ones at work have had their time */
    struct tape tape;
    struct sandbox_stats stats;
    bool closing, pumping, pump_again;
};

struct sandbox_run {
    uint32_t magic;
    struct list node;
    struct sandbox *engine;
    const struct sandbox_handlers *handlers;
    void *owner;
    struct arena arena;
    struct sandbox_request request; /* slices in the arena */
    enum frame_runtime runtime;
    struct box *box;
    struct io_timer timer;
    bool cold; /* no warm child was there for it */
    bool sent; /* the code is with the sandbox */
    bool timed_out, cancelled, ended_for_violation, too_much_output, bad_frame, done_seen, fresh_session;
    struct copy_job *copy; /* files are being copied */
    uint64_t start_us, deadline_ms;
    struct buf seen; /* its files when they were copied in; see sandbox_files.h */
    struct buf out, err;
    bool out_cut, err_cut;
    uint32_t calls, open_count, last_id, progresses;
    uint64_t call_bytes;
    uint64_t answered_us; /* the last call */
    bool awake;           /* and the gate looks out for the next */
    uint32_t sleeps;      /* calls after which it does not */
    uint32_t in_vain;     /* how many those were the last time */
    uint32_t open[SANDBOX_CALLS_OPEN_MAX];
    struct sandbox_image images[FRAME_IMAGES_MAX];
    size_t image_count, image_bytes;
    struct sandbox_violation violations[SANDBOX_VIOLATIONS_MAX];
    size_t violation_count;
    struct sandbox_outcome outcome; /* filled in as the end comes nearer */
    char error_text[FRAME_REASON_MAX];
};

static inline size_t sandbox_kind_of(enum frame_runtime runtime, enum sandbox_profile profile) {
    return (size_t)runtime * FRAME_PROFILES + (size_t)profile;
}

/* sandbox.c */
void sandbox_pump(struct sandbox *s); /* gives waiting runs a box, and starts what is missing */
void sandbox_helper_known(struct sandbox *s);
void sandbox_refuse_waiting(struct sandbox *s); /* the helper does not start */

/* sandbox_box.c */
int sandbox_box_helper_start(struct sandbox *s, struct err *err);
void sandbox_box_helper_stop(struct sandbox *s);
/* urgent: a run waits for it, or will in a moment. */
struct box *sandbox_box_start(struct sandbox *s, enum frame_runtime runtime, enum sandbox_profile profile,
                              bool urgent, struct err *err);
void sandbox_box_kill(struct box *b);
/* Lowers what its processes may have together, where the machine can count it. */
void sandbox_box_limit(struct box *b, uint32_t memory_mb);
/* Takes what its streams still hold; for the moment a run ends. */
void sandbox_box_drain(struct box *b); /* what it has written, and what was told of its calls, up to now */
void sandbox_box_listen(struct box *b, bool on); /* to its streams */
void sandbox_box_free(struct box *b);

/* sandbox_run.c */
void sandbox_run_begin(struct sandbox_run *run, struct box *b);
void sandbox_run_output(struct sandbox_run *run, enum sandbox_stream which, struct slice bytes);
void sandbox_run_violation(struct sandbox_run *run, const char *name, bool ended);
/* The box has ended; status as from wait. */
void sandbox_run_box_exited(struct sandbox_run *run, const struct frame_report *report);
void sandbox_run_bridge_ended(struct sandbox_run *run);
size_t sandbox_run_frames(struct sandbox_run *run, struct slice bytes, size_t *ret_want);
/* Without ever having had a box. */
void sandbox_run_refuse(struct sandbox_run *run, const char *why);
void sandbox_run_abandon(struct sandbox_run *run, const char *why);
void sandbox_run_deliver_now(struct sandbox_run *run); /* its outcome is set */
