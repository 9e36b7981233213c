/* A job: one run of code, from the call that requested it until its result is deleted. The call that started
 * it may wait for its end (most do), get the job's id after a while (background), or get a task for it.
 *
 *   code_start_run ──▶ pending ──▶ running ──▶ completed | failed | cancelled | timeout ──(kept)──▶ gone
 */
#pragma once

#include "code/code_answer.h"
#include "code/outgoing.h"
#include "code/toolcall.h"

enum code_job_state {
    CODE_JOB_PENDING,
    CODE_JOB_RUNNING,
    CODE_JOB_COMPLETED,
    CODE_JOB_FAILED,
    CODE_JOB_CANCELLED,
    CODE_JOB_TIMEOUT,
};

#define CODE_JOB_ID_LEN 36 /* a UUID */

/* What to run, and how to report its end. */
struct code_run {
    enum sandbox_language language;
    uint32_t prelude; /* index into code_preludes + 1 */
    struct slice code;
    struct slice written; /* the agent's code, if `code` only starts it */
    struct slice context;
    struct slice packages; /* for the sandbox; see package_choose() */
    uint64_t timeout_ms;
    uint64_t memory_mb;
    struct slice session; /* of the principal; empty for none */
    bool background;      /* the response is the job's id if it takes long */
    bool detached;        /* the response is the job's id, immediately */
    bool exact;           /* only the fields of the profile's model */
    bool last_value;      /* see struct sandbox_request */
    struct slice head;    /* first line of the response; kept */
    bool as_process;      /* counts as a process: failures have an exit status */
    void (*format)(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer);
    void (*handle)(struct code_job *j,
                   struct code_answer *answer); /* writes the response that names the job */
    void (*reply)(struct code_req *r); /* responds in another way than with `format`'s text; or NULL */
};

struct code_job {
    uint32_t magic;
    struct code_owner *owner;
    struct list node;
    struct toolcalls calls;
    struct outgoing outgoing;
    struct list on_conn;
    char id[CODE_JOB_ID_LEN + 1];
    enum code_job_state state;
    struct code_run run; /* its slices are not kept, except for the session's, in the arena */
    struct arena arena;
    bool keep; /* a client knows its id */
    bool task; /* as a task */
    bool asked_to_end;
    uint64_t created_ms; /* wall clock */
    uint64_t updated_ms;
    uint64_t wall_us;
    uint64_t ttl_ms;
    double progress; /* negative: none */
    double notified; /* the last one that was notified */
    uint32_t notified_count;
    uint64_t notified_ms;
    struct slice message;
    char message_text[CODE_JOB_MESSAGE_MAX];
    struct buf out, err;
    size_t streamed[2]; /* bytes of `out` and of `err` already sent to waiting clients */
    uint32_t tool_calls;
    bool resumable; /* run again, it continues where it stopped */
    struct list waiters;
    struct code_answer answer;     /* valid when it has ended */
    struct workspace_file *before; /* the workspace at its start */
    size_t before_count;
    struct io_timer keeping;
};

const char *code_job_state_name(enum code_job_state state);
static inline bool code_job_over(const struct code_job *j) { return j->state >= CODE_JOB_COMPLETED; }
/* pending until the sandbox has accepted it */
enum code_job_state code_job_state(const struct code_job *j);

/* Starts the run over the conn of that request. NULL: see err. */
struct code_job *code_job_new(struct code_req *r, const struct code_run *run, struct err *err);
/* Finds a job by its id, if it belongs to the owner and a client knows the id. NULL otherwise. */
struct code_job *code_job_find(struct code_owner *o, struct slice id);
void code_job_cancel(struct code_job *j);
/* resume() is called at the job's end or after that time (0: no limit); immediately if it has ended. */
void code_job_wait(struct code_req *r, struct code_job *j, uint64_t ms, void (*resume)(struct code_req *r));
/* The request no longer waits for the job. */
void code_job_leave(struct code_req *r, bool cancelled);
void code_jobs_detach(struct code_conn *c);
void code_jobs_free(struct code_owner *o);
/* A `handle` that names the job in a sentence. */
void code_job_answer_text(struct code_job *j, struct code_answer *answer);
/* Writes the job, without its code; with the end of its output if requested. */
void code_job_write(const struct code_job *j, bool output, struct emit *e);
