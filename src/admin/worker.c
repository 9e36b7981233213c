#include "admin/api.h"
#include "base/mem.h"

struct api_job *api_job_new(struct admin *a) {
    struct api_job *j = mem_zalloc(sizeof(*j));
    j->admin = a;
    j->work.data = j;
    arena_init(&j->arena);
    j->home = arena_dup(&j->arena, slice_str(a->home)).ptr;
    buf_init(&j->out, ADMIN_OUT_MAX);
    emit_init(&j->e, &j->out);
    list_push(&a->jobs, &j->node);
    a->job_count++;
    return j;
}

static void job_free(struct api_job *j) {
    if (j->admin) {
        list_remove(&j->node);
        j->admin->job_count--;
    }
    if (j->drop)
        j->drop(j->what);
    arena_free(&j->arena);
    buf_free(&j->out);
    free(j);
}

static void job_gone(void *owner) {
    struct api_job *j = owner;
    j->reply = NULL;
}

struct api_job *api_job_for(struct api_call *c) {
    if (c->admin->job_count >= ADMIN_JOBS_MAX) {
        api_error(c, 503, "too many concurrent queries");
        return NULL;
    }
    struct api_job *j = api_job_new(c->admin);
    j->reply = c->request->reply;
    j->reply->ops->later(j->reply, j, job_gone);
    return j;
}

static void job_work(uv_work_t *work) {
    struct api_job *j = work->data;
    j->run(j);
}

static void job_answer(struct api_job *j) {
    struct web_reply *reply = j->reply;
    if (!j->failed && !j->out.full) {
        struct slice headers = arena_printf(&j->arena, "Cache-Control: no-store\r\n%.*s", SLICE_FMT(j->more));
        reply->ops->answer(reply, j->status ? j->status : 200, j->type ? j->type : "application/json",
                           headers, buf_slice(&j->out));
        return;
    }
    buf_reset(&j->out);
    emit_init(&j->e, &j->out);
    emit_object(&j->e);
    emit_key(&j->e, "error");
    emit_cstr(&j->e, j->err.text[0] ? j->err.text : "too large");
    emit_object_end(&j->e);
    reply->ops->answer(reply, j->status ? j->status : 503, "application/json",
                       SLICE("Cache-Control: no-store\r\n"), buf_slice(&j->out));
}

static void job_done(uv_work_t *work, int status) {
    struct api_job *j = work->data;
    j->failed |= status != 0;
    if (j->admin && j->done)
        j->done(j);
    else if (j->reply)
        job_answer(j);
    job_free(j);
}

void api_job_start(struct api_job *j, void (*run)(struct api_job *j)) {
    j->run = run;
    uv_queue_work(&j->admin->core->up.loop->uv, &j->work, job_work, job_done);
}

void api_jobs_leave(struct admin *a) {
    LIST_FOR_SAFE (n, next, &a->jobs) {
        struct api_job *j = container_of(n, struct api_job, node);
        list_remove(n);
        j->admin = NULL;
        j->reply = NULL;
    }
}
