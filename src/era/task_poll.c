#include "era/task_poll.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "call/answer.h"
#include "channel/channel.h"
#include "era/input.h"
#include "era/limits.h"
#include "mcp/translate.h"

#define KEPT_PREFIX "gate-" /* of tasks that finished immediately */
#define KEPT_LEN 24

static bool is_error_result(const struct msg *m, uint32_t result) {
    uint32_t flag = tape_is(&m->tape, result, TAPE_OBJECT) ? tape_get_str(&m->tape, result, "isError") : 0;
    return flag && tape_is(&m->tape, flag, TAPE_TRUE);
}

/* ---- tasks that the gate keeps ---- */

static struct slice kept_text(struct call *c, struct slice id, const struct msg *m) {
    char now[CLOCK_TEXT_MAX];
    clock_text(clock_wall_ms(), now);
    return arena_printf(&c->arena,
                        "\"taskId\":\"%.*s\",\"status\":\"%s\",\"createdAt\":\"%s\",\"lastUpdatedAt\":\"%s\","
                        "\"ttl\":%d",
                        SLICE_FMT(id), is_error_result(m, m->rpc.body) ? "failed" : "completed", now, now,
                        TASK_MS);
}

/* The server answered without a task, so the client gets one that is already complete. */
static enum call_next keep_outcome(struct call *c) {
    char id[sizeof(KEPT_PREFIX) + KEPT_LEN] = KEPT_PREFIX;
    rand_token(id + strlen(KEPT_PREFIX), KEPT_LEN);
    struct era_task *task = task_new(c, slice_str(id));
    if (!task || !task_keep(task, c->response))
        return answer_refuse(c, RPC_INTERNAL, 0, "the tasks of this session use too much memory");
    struct slice text =
        arena_printf(&c->arena, "{\"task\":{%.*s}}", SLICE_FMT(kept_text(c, slice_str(id), c->response)));
    return task_replace(c, "result", text);
}

static enum call_next answer_kept(struct call *c, struct msg *m) {
    if (!slice_is(c->method, "tasks/result"))
        return slice_is(c->method, "tasks/get")
                   ? answer_result(c, arena_printf(&c->arena, "{%.*s}", SLICE_FMT(kept_text(c, c->name, m))))
                   : answer_refuse(c, RPC_INVALID_PARAMS, 0, "the task has ended and cannot be cancelled");
    struct slice json = translate_outcome_down(&m->tape, m->rpc.body, c->name, &c->arena);
    /* Handled as a new response of the server: no pass of FILTER has seen it yet. */
    enum call_next next = task_replace(c, "result", json);
    return next == CALL_NEXT ? CALL_ANSWERED : next;
}

/* ---- FORWARD ---- */

static bool wants_task(const struct call *c) {
    const struct msg *m = c->request;
    uint32_t task = rpc_param(&m->tape, &m->rpc, "task");
    return c->kind == CALL_TOOLS_CALL && task && tape_is(&m->tape, task, TAPE_OBJECT) &&
           translate_knows_tasks(slice_str(c->session->version)) &&
           c->channel->server_bits & TRANSLATE_MAKES_TASKS;
}

enum call_next task_poll_forward(struct call *c) {
    if (!slice_starts(c->method, SLICE("tasks/"))) {
        if (wants_task(c))
            c->task_turn = TASK_CREATE;
        return CALL_NEXT;
    }
    bool is_result = slice_is(c->method, "tasks/result"), is_cancel = slice_is(c->method, "tasks/cancel");
    if (!(c->channel->server_bits & TRANSLATE_MAKES_TASKS) ||
        !(is_result || is_cancel || slice_is(c->method, "tasks/get")))
        return answer_unknown_method(c);
    const struct era_task *task = task_find(c->session, c->server, c->name);
    if (task && task_kept(task))
        return answer_kept(c, task_kept(task));
    if (c->task_turn == TASK_PLAIN)
        c->task_turn = is_cancel ? TASK_CANCEL : TASK_GET;
    return CALL_NEXT;
}

/* ---- FILTER ---- */

static enum call_next send_again(struct call *c, enum task_turn turn) {
    c->task_turn = turn;
    return CALL_RESEND;
}

static void on_poll(struct io_timer *timer) {
    struct call *c = container_of(timer, struct call, timer);
    c->task_turn = TASK_GET;
    call_resend(c);
}

/* tasks/result has no deadline, so its timer is free. */
static enum call_next wait_and_poll(struct call *c) {
    const struct msg *m = c->response;
    int64_t wait = 0;
    uint32_t node = tape_get_str(&m->tape, m->rpc.body, "pollIntervalMs");
    if (!node || !tape_int(&m->tape, node, &wait))
        wait = TASK_POLL_MS;
    if (wait < TASK_POLL_MIN_MS)
        wait = TASK_POLL_MIN_MS;
    if (wait > TASK_POLL_MAX_MS)
        wait = TASK_POLL_MAX_MS;
    io_timer_arm(c->session->core->up.loop, &c->timer, (uint64_t)wait, on_poll);
    return CALL_WAIT;
}

static enum call_next result_of_task(struct call *c) {
    const struct msg *m = c->response;
    uint32_t task = m->rpc.body;
    if (task_is(m, task, "input_required")) {
        c->task_turn = TASK_UPDATE;
        return input_continue(c) ? input_start(c) : wait_and_poll(c);
    }
    if (task_is(m, task, "cancelled"))
        return answer_refuse(c, RPC_INVALID_PARAMS, 0, "the task was cancelled");
    uint32_t result = tape_get_str(&m->tape, task, "result"), error = tape_get_str(&m->tape, task, "error");
    if (task_is(m, task, "completed") && result)
        return task_replace(c, "result", translate_outcome_down(&m->tape, result, c->name, &c->arena));
    if (task_is(m, task, "failed"))
        return task_replace(c, "error",
                            error ? tape_raw(&m->tape, error)
                                  : SLICE("{\"code\":-32603,\"message\":\"the task failed\"}"));
    return wait_and_poll(c);
}

static enum call_next answer_get(struct call *c) {
    const struct msg *m = c->response;
    uint32_t result = tape_get_str(&m->tape, m->rpc.body, "result");
    bool failed = task_is(m, m->rpc.body, "completed") && result && is_error_result(m, result);
    struct slice text = translate_task_down(&m->tape, m->rpc.body,
                                            failed ? SLICE("\"failed\"") : (struct slice){0}, &c->arena);
    return task_replace(c, "result", arena_printf(&c->arena, "{%.*s}", SLICE_FMT(text)));
}

static enum call_next answer_create(struct call *c) {
    const struct msg *m = c->response;
    uint32_t type = tape_get_str(&m->tape, m->rpc.body, "resultType");
    if (type && tape_eq(&m->tape, type, SLICE("input_required")))
        return CALL_NEXT;
    if (!type || !tape_eq(&m->tape, type, SLICE("task")))
        return keep_outcome(c);
    struct slice text = translate_task_down(&m->tape, m->rpc.body, (struct slice){0}, &c->arena);
    return task_replace(c, "result", arena_printf(&c->arena, "{\"task\":{%.*s}}", SLICE_FMT(text)));
}

enum call_next task_poll_answer(struct call *c) {
    if (c->response->rpc.kind != RPC_RESULT ||
        !tape_is(&c->response->tape, c->response->rpc.body, TAPE_OBJECT))
        return CALL_NEXT;
    switch (c->task_turn) {
    case TASK_CREATE:
        return answer_create(c);
    case TASK_CANCEL: /* this is only an acknowledgement: the task itself must be requested */
        return send_again(c, TASK_GET);
    case TASK_UPDATE:
        return wait_and_poll(c);
    default:
        return slice_is(c->method, "tasks/result") ? result_of_task(c) : answer_get(c);
    }
}
