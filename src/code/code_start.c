#include "code/code_start.h"

#include "code/code_arg.h"
#include "code/code_reply.h"
#include "code/code_task.h"
#include "code/package.h"

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

static size_t read_packages(struct code_req *r, struct slice specs[PACK_SPECS_MAX]) {
    const uint32_t list = r->tool && r->tool->packages ? code_arg_node(r, "packages") : 0;
    size_t count = 0;
    if (!list || !tape_is(&r->tape, list, TAPE_ARRAY))
        return 0;
    TAPE_FOR_ELEM(&r->tape, list, i) {
        if (count < PACK_SPECS_MAX && tape_is(&r->tape, i, TAPE_STRING))
            specs[count++] = tape_text(&r->tape, i, &r->arena);
    }
    return count;
}

void code_start_run(struct code_req *r, const struct code_run *run) {
    struct err err;
    struct code_run with = *run;
    struct code_job *j = NULL;
    struct slice asked[PACK_SPECS_MAX];
    if (package_choose(r->owner, run->language, asked, read_packages(r, asked), &r->arena, &with.packages,
                       &err) == 0)
        j = code_job_new(r, &with, &err);
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
