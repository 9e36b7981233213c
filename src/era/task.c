#include "era/task.h"

#include "base/mem.h"
#include "call/answer.h"
#include "channel/channel.h"
#include "channel/outbox.h"
#include "channel/tools.h"
#include "decision/reverse.h"
#include "era/limits.h"
#include "era/question.h"
#include "era/task_poll.h"
#include "mcp/translate.h"
#include "server/server.h"
#include "wire/emit.h"

/* ---- questions of the server during a task ---- */

bool task_ask(struct channel *ch, const struct msg *m, struct slice method) {
    uint32_t node = m->rpc.params
                        ? tape_path(&m->tape, m->rpc.params, "_meta", TRANSLATE_RELATED_TASK, "taskId", NULL)
                        : 0;
    if (!node || !tape_is(&m->tape, node, TAPE_STRING))
        return false;
    struct arena a;
    arena_init(&a);
    struct era_task *task = task_find(ch->session, ch->server, tape_text(&m->tape, node, &a));
    uint32_t bit = translate_ask_bit(method, &m->tape, m->rpc.params);
    struct slice id = tape_raw(&m->tape, m->rpc.id);
    bool found = task && task->ch == ch;
    if (found && (!bit || !(task->client_bits & bit))) {
        channel_refuse(ch, id, RPC_METHOD_NOT_FOUND, "the client has not declared that it can do this");
    } else if (found && task->last >= INPUT_QUESTIONS_MAX) {
        channel_refuse(ch, id, RPC_INVALID_REQUEST, "too many questions");
    } else if (found) {
        /* Not redacted here: it is part of the answer to tasks/get, which is redacted. */
        struct slice params = translate_ask(&m->tape, m->rpc.params, NULL, &a);
        struct server_question *q = mem_alloc(sizeof(*q));
        question_init(q, ++task->last, id, method, params);
        list_push(&task->questions, &q->node);
    }
    arena_free(&a);
    return found;
}

static void resume_waiting(struct era_task *task, const char *failure) {
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&task->waiting)))
        list_push(&due, n);
    while ((n = list_pop(&due))) {
        struct call *c = container_of(n, struct call, wait);
        if (failure)
            answer_fail(c, failure);
        else
            call_resume(c);
    }
}

static void on_result(struct own_request *own, struct msg *m) {
    struct era_task *task = container_of(own, struct era_task, own);
    task->response = msg_ref(m);
    resume_waiting(task, NULL);
    msg_unref(task->response); /* the server keeps it for its own time to live */
    task->response = NULL;
}

static void on_failed(struct own_request *own, const char *why) {
    resume_waiting(container_of(own, struct era_task, own), why);
}

/* Over HTTP the task's questions come on the stream of tasks/result. */
static void on_message(struct own_request *own, struct msg *m) {
    struct era_task *task = container_of(own, struct era_task, own);
    struct arena a;
    if (m->rpc.kind != RPC_REQUEST)
        return;
    arena_init(&a);
    struct slice method = tape_text(&m->tape, m->rpc.method, &a);
    const char *why = reverse_judge_request(task->ch, method, &m->tape, m->rpc.params, &a);
    if (why || !task_ask(task->ch, m, method))
        channel_refuse(task->ch, tape_raw(&m->tape, m->rpc.id), RPC_INVALID_REQUEST,
                       why ? why : "no client can be asked here");
    arena_free(&a);
}

/* tasks/result is how a legacy server sends the result, and its questions. */
static bool ask_result(struct era_task *task) {
    struct channel *ch = task->ch;
    struct buf id;
    struct arena a;
    if (task->req.id)
        return true;
    task->own = (struct own_request){OWN_REQUEST_MAGIC, on_result, on_failed, on_message};
    if (!ch->link || !link_begin(ch->link, &task->req, &task->own))
        return false;
    arena_init(&a);
    buf_init(&id, CALL_NAME_MAX * 6 + 16);
    buf_put_str(&id, "\"taskId\":");
    emit_quote(&id, slice_str(task->id));
    channel_send(ch, channel_own_text(ch, task->req.id, "tasks/result", buf_slice(&id), &a),
                 SLICE("tasks/result"), &task->req);
    buf_free(&id);
    arena_free(&a);
    return task->req.id != 0;
}

/* ---- a modern client ---- */

static struct slice acknowledged(struct call *c) {
    return c->channel->server_info.len
               ? arena_printf(&c->arena,
                              "{\"resultType\":\"complete\",\"_meta\":{\"" UP_META_SERVER "\":%.*s}}",
                              SLICE_FMT(c->channel->server_info))
               : SLICE("{\"resultType\":\"complete\"}");
}

/* {"resultType":…, the task, further members, serverInfo} */
static struct slice modern_task(struct call *c, const char *type, struct slice task, struct slice more) {
    struct slice info = c->channel->server_info;
    return arena_printf(&c->arena, "{\"resultType\":\"%s\",%.*s%s%.*s%s%.*s%s}", type, SLICE_FMT(task),
                        more.len ? "," : "", SLICE_FMT(more),
                        info.len ? ",\"_meta\":{\"" UP_META_SERVER "\":" : "", SLICE_FMT(info),
                        info.len ? "}" : "");
}

static enum call_next forward_create(struct call *c) {
    if (c->kind != CALL_TOOLS_CALL || !(c->channel->server_bits & TRANSLATE_MAKES_TASKS))
        return CALL_NEXT;
    if (!tools_ready(c->channel, c))
        return CALL_WAIT;
    const struct tool *tool = tool_find(&c->server->tools, c->name);
    bool takes = c->client_bits & TRANSLATE_TAKES_TASKS;
    if (tool && tool->task_required && !takes)
        return answer_lacks(c, translate_ask_capability(TRANSLATE_TAKES_TASKS));
    if (takes && tool && (tool->task_required || tool->task_optional))
        c->task_turn = TASK_CREATE;
    return CALL_NEXT;
}

/* Sends each answer of the client to the question that it belongs to. */
static enum call_next update(struct call *c, struct era_task *task) {
    const struct msg *m = c->request;
    uint32_t responses = rpc_param(&m->tape, &m->rpc, "inputResponses");
    if (!responses || !tape_is(&m->tape, responses, TAPE_OBJECT))
        return answer_refuse(c, RPC_INVALID_PARAMS, 0, "params.inputResponses must be an object");
    if (!task || !task->ch)
        return answer_refuse(c, RPC_INVALID_PARAMS, 0, "Task not found");
    LIST_FOR_SAFE (n, next, &task->questions) {
        struct server_question *q = container_of(n, struct server_question, node);
        char key[QUESTION_KEY_MAX];
        uint32_t node = tape_get(&m->tape, responses, question_key(q, key));
        if (!node || !tape_is(&m->tape, node, TAPE_OBJECT) || !task->ch->link)
            continue;
        question_answer(q, task->ch, tape_raw(&m->tape, node));
        task_drop_question(q);
    }
    return answer_result(c, acknowledged(c));
}

static enum call_next forward_modern(struct call *c) {
    if (!slice_starts(c->method, SLICE("tasks/")))
        return forward_create(c);
    bool is_update = slice_is(c->method, "tasks/update"), is_get = slice_is(c->method, "tasks/get");
    if (!(c->channel->server_bits & TRANSLATE_MAKES_TASKS) ||
        !(is_update || is_get || slice_is(c->method, "tasks/cancel")))
        return answer_unknown_method(c);
    if (!(c->client_bits & TRANSLATE_TAKES_TASKS))
        return answer_lacks(c, translate_ask_capability(TRANSLATE_TAKES_TASKS));
    if (is_update)
        return update(c, task_find(c->session, c->server, c->name));
    c->task_turn = is_get ? TASK_GET : TASK_CANCEL;
    return CALL_NEXT;
}

static struct slice questions_text(struct call *c, const struct era_task *task) {
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    LIST_FOR (n, &task->questions)
        question_emit(container_of(n, struct server_question, node), &e);
    emit_object_end(&e);
    struct slice text = arena_printf(&c->arena, "\"inputRequests\":%.*s", SLICE_FMT(buf_slice(&out)));
    buf_free(&out);
    return text;
}

/* A completed task contains its result; in the legacy era that is a separate request. */
static enum call_next answer_over(struct call *c, struct era_task *task) {
    const struct msg *m = c->response;
    if (!task || !task->ch)
        return answer_refuse(c, RPC_INTERNAL, 0, "there are too many tasks");
    if (!task->response) {
        if (!ask_result(task))
            return answer_refuse(c, RPC_INTERNAL, 502, "the server cannot be asked for the task's result");
        list_push(&task->waiting, &c->wait);
        return CALL_WAIT;
    }
    const struct msg *finished = task->response;
    bool good = finished->rpc.kind == RPC_RESULT;
    struct slice json = good ? translate_outcome_up(&finished->tape, finished->rpc.body, &c->arena)
                             : tape_raw(&finished->tape, finished->rpc.body);
    struct slice more = arena_printf(&c->arena, "\"%s\":%.*s", good ? "result" : "error", SLICE_FMT(json));
    struct slice members = translate_task_up(&m->tape, m->rpc.body,
                                             good ? SLICE("\"completed\"") : SLICE("\"failed\""), &c->arena);
    return task_replace(c, "result", modern_task(c, "complete", members, more));
}

static enum call_next answer_get(struct call *c) {
    const struct msg *m = c->response;
    struct era_task *task = task_begin(c, c->name);
    if (task)
        task_touch(task);
    if (task_is(m, m->rpc.body, "completed") || task_is(m, m->rpc.body, "failed"))
        return answer_over(c, task);
    struct slice more = {0}, status = {0};
    if (task_is(m, m->rpc.body, "input_required")) {
        if (task && task->ch)
            ask_result(task);
        if (task && !list_empty(&task->questions))
            more = questions_text(c, task);
        else /* its questions will follow */
            status = SLICE("\"working\"");
    }
    struct slice members = translate_task_up(&m->tape, m->rpc.body, status, &c->arena);
    return task_replace(c, "result", modern_task(c, "complete", members, more));
}

static enum call_next answer_create(struct call *c) {
    const struct msg *m = c->response;
    uint32_t node =
        tape_is(&m->tape, m->rpc.body, TAPE_OBJECT) ? tape_get_str(&m->tape, m->rpc.body, "task") : 0;
    uint32_t id = node && tape_is(&m->tape, node, TAPE_OBJECT) ? tape_get_str(&m->tape, node, "taskId") : 0;
    if (!id || !tape_is(&m->tape, id, TAPE_STRING))
        return CALL_NEXT; /* it finished immediately */
    if (!task_begin(c, tape_text(&m->tape, id, &c->arena)))
        return answer_refuse(c, RPC_INTERNAL, 0, "there are too many tasks");
    struct slice members = translate_task_up(&m->tape, node, (struct slice){0}, &c->arena);
    return task_replace(c, "result", modern_task(c, "task", members, (struct slice){0}));
}

static enum call_next answer_modern(struct call *c) {
    bool good = c->response->rpc.kind == RPC_RESULT;
    if (c->task_turn == TASK_CREATE && good)
        return answer_create(c);
    if (c->task_turn == TASK_GET && good)
        return answer_get(c);
    /* In the legacy era a completed task cannot be cancelled; in the modern era that is no error. */
    if (c->task_turn == TASK_CANCEL && (good || task_find(c->session, c->server, c->name)))
        return task_replace(c, "result", acknowledged(c));
    return CALL_NEXT;
}

/* ---- both ---- */

enum call_next task_forward(struct call *c) { return c->modern ? forward_modern(c) : task_poll_forward(c); }

enum call_next task_answer(struct call *c) {
    if (!c->cross_era || c->task_turn == TASK_PLAIN || c->translated)
        return CALL_NEXT;
    return c->modern ? answer_modern(c) : task_poll_answer(c);
}
