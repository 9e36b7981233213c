#include "code/code_start.h"

#include "code/code_reply.h"
#include "code/code_task.h"

static void answer_start(struct code_req *r) {
    struct code_job *j = r->job;
    if (code_job_over(j)) {
        if (j->run.reply)
            j->run.reply(r);
        else
            code_reply_answer(r, &j->answer);
        return;
    }
    j->keep = true;
    if (r->modern && r->takes_tasks) {
        j->task = true;
        code_task_reply(r, j);
        return;
    }
    struct code_answer answer;
    code_answer_init(&answer);
    j->run.handle(j, &answer);
    code_reply_answer(r, &answer);
    code_answer_free(&answer);
}

void code_start_run(struct code_req *r, const struct code_run *run) {
    struct err err;
    struct code_job *j = code_job_new(r, run, &err);
    if (!j) {
        code_reply_text(r, slice_str(err.text), true);
        return;
    }
    if (r->wants_task) {
        j->task = j->keep = true;
        code_task_reply(r, j);
        return;
    }
    r->starts_job = true;
    bool may_leave = run->background || (r->modern && r->takes_tasks);
    if (run->detached) {
        r->job = j;
        answer_start(r);
    } else {
        code_job_wait(r, j, may_leave ? r->conn->server->config.wait_ms : 0, answer_start);
    }
}
