#include "code/code_task.h"

#include "base/clock.h"
#include "base/mem.h"
#include "code/code_reply.h"

#define POLL_MS 500
#define TTL_MS_MAX (24ull * 3600 * 1000)
/* Each stateless request declares its client's capabilities itself. */
#define UNDECLARED                                                                                           \
    "{\"code\":-32021,\"message\":\"The request does not declare the tasks extension\",\"data\":"            \
    "{\"requiredCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}}"

/* The eras differ: a run whose code failed is a failed task for legacy clients, and a completed one with an
 * error result for modern clients. */
static const char *task_status(const struct code_job *j, bool modern) {
    if (code_job_state(j) == CODE_JOB_CANCELLED)
        return "cancelled";
    if (!code_job_over(j))
        return "working";
    return modern || !j->answer.is_error ? "completed" : "failed";
}

static void put_members(const struct code_job *j, bool modern, struct emit *e) {
    emit_key(e, "taskId");
    emit_cstr(e, j->id);
    emit_key(e, "status");
    emit_cstr(e, task_status(j, modern));
    if (j->message.len && !code_job_over(j)) {
        emit_key(e, "statusMessage");
        emit_str(e, j->message);
    }
    emit_time(e, "createdAt", j->created_ms);
    emit_time(e, "lastUpdatedAt", j->updated_ms);
    emit_key(e, modern ? "ttlMs" : "ttl");
    emit_int(e, (int64_t)j->ttl_ms);
    emit_key(e, modern ? "pollIntervalMs" : "pollInterval");
    emit_int(e, POLL_MS);
}

static void read_ttl(const struct code_req *r, struct code_job *j) {
    uint32_t ttl = r->wants_task ? tape_path(&r->tape, r->rpc.params, "task", "ttl", NULL) : 0;
    int64_t ms;
    if (ttl && tape_int(&r->tape, ttl, &ms) && ms > 0)
        j->ttl_ms = (uint64_t)ms < TTL_MS_MAX ? (uint64_t)ms : TTL_MS_MAX;
}

void code_task_reply(struct code_req *r, struct code_job *j) {
    read_ttl(r, j);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    if (!r->modern) {
        emit_key(&e, "task");
        emit_object(&e);
    }
    put_members(j, r->modern, &e);
    if (!r->modern)
        emit_object_end(&e);
    emit_object_end(&e);
    struct slice members = slice_of(out.ptr + 1, out.len - 2);
    if (r->modern)
        code_reply_task(r, members);
    else
        code_reply(r, members);
}

/* NULL: answered. Tasks of another principal are not found. */
static struct code_job *find_task(struct code_req *r) {
    if (r->modern && !r->takes_tasks) {
        code_reply_error_as(r, slice_str(UNDECLARED));
        return NULL;
    }
    struct slice id = rpc_param_text(&r->tape, &r->rpc, "taskId", &r->arena);
    struct code_job *j = code_job_find(r->owner, id);
    if (!j)
        code_reply_error(r, RPC_INVALID_PARAMS, "Unknown task");
    return j;
}

static void reply_state(struct code_req *r, const struct code_job *j, bool with_result) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    put_members(j, r->modern, &e);
    if (with_result) {
        cleanup_buf struct buf result;
        buf_init(&result, CODE_ANSWER_MAX);
        buf_put_str(&result, "{\"resultType\":\"complete\",");
        code_answer_members(&j->answer, r->conn->server->face->structured, &result);
        buf_put_char(&result, '}');
        emit_key(&e, "result");
        emit_raw(&e, buf_slice(&result));
    }
    emit_object_end(&e);
    code_reply(r, out.full ? (struct slice){0} : slice_of(out.ptr + 1, out.len - 2));
}

void code_task_get(struct code_req *r) {
    struct code_job *j = find_task(r);
    if (j)
        reply_state(r, j, r->modern && code_job_over(j) && j->state != CODE_JOB_CANCELLED);
}

void code_task_cancel(struct code_req *r) {
    struct code_job *j = find_task(r);
    if (!j)
        return;
    if (code_job_over(j) && !r->modern) {
        code_reply_error(r, RPC_INVALID_PARAMS, "Cannot cancel task: it has ended");
        return;
    }
    code_job_cancel(j);
    if (r->modern)
        code_reply(r, (struct slice){0});
    else
        reply_state(r, j, false);
}

/* No run requests input from its client, so there is nothing to forward. */
void code_task_update(struct code_req *r) {
    if (find_task(r))
        code_reply(r, (struct slice){0});
}

static void answer_result(struct code_req *r) {
    struct code_job *j = r->job;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    code_answer_members(&j->answer, r->conn->server->face->structured, &out);
    buf_printf(&out, ",\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"%s\"}}", j->id);
    code_reply(r, buf_slice(&out));
}

void code_task_result(struct code_req *r) {
    struct code_job *j = find_task(r);
    if (j)
        code_job_wait(r, j, 0, answer_result);
}

void code_task_list(struct code_req *r) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    buf_put_str(&out, "\"tasks\":");
    emit_init(&e, &out);
    emit_array(&e);
    LIST_FOR (n, &r->owner->jobs) {
        const struct code_job *j = container_of(n, struct code_job, node);
        if (!j->keep)
            continue;
        emit_object(&e);
        put_members(j, r->modern, &e);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    code_reply(r, buf_slice(&out));
}
