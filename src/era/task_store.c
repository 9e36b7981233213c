#include "era/task_store.h"

#include "base/mem.h"
#include "call/answer.h"
#include "era/limits.h"

/* ---- life ---- */

static struct io_loop *task_loop(const struct era_task *task) { return task->session->core->up.loop; }

void task_drop_question(struct server_question *q) {
    question_clear(q);
    free(q);
}

static void task_free(struct era_task *task) {
    struct list *n;
    io_timer_stop(task_loop(task), &task->timer);
    list_remove(&task->node);
    task->session->task_count--;
    if (task->kept)
        task->session->task_bytes -= task->response->bytes.len;
    link_end(&task->req);
    while (!list_empty(&task->questions))
        task_drop_question(container_of(task->questions.next, struct server_question, node));
    while ((n = list_pop(&task->waiting)))
        answer_fail(container_of(n, struct call, wait), "the server of this task has exited");
    msg_unref(task->response);
    if (task->ch)
        channel_leave(task->ch);
    free(task->id);
    free(task);
}

static void on_over(struct io_timer *timer) { task_free(container_of(timer, struct era_task, timer)); }

void task_touch(struct era_task *task) { io_timer_arm(task_loop(task), &task->timer, TASK_MS, on_over); }

struct era_task *task_find(const struct session *s, const struct server *server, struct slice id) {
    LIST_FOR (n, &s->tasks) {
        struct era_task *task = container_of(n, struct era_task, node);
        if (task->server == server && slice_is(id, task->id))
            return task;
    }
    return NULL;
}

struct era_task *task_new(struct call *c, struct slice id) {
    struct session *s = c->session;
    if (s->task_count >= TASK_MAX)
        return NULL;
    struct era_task *task = mem_zalloc(sizeof(*task));
    task->session = s;
    task->server = c->server;
    task->id = mem_dup(id.ptr, id.len);
    task->client_bits = c->client_bits;
    list_init(&task->questions);
    list_init(&task->waiting);
    list_push(&s->tasks, &task->node);
    s->task_count++;
    task_touch(task);
    return task;
}

/* A task stays on the link that it began on, so that link is kept open. */
struct era_task *task_begin(struct call *c, struct slice id) {
    struct era_task *task = task_find(c->session, c->server, id);
    if (!task && (task = task_new(c, id))) {
        task->ch = c->channel;
        task->ch->users++;
    }
    return task;
}

struct msg *task_kept(const struct era_task *task) {
    return task->kept ? task->response : NULL;
}

bool task_keep(struct era_task *task, struct msg *m) {
    if (task->session->task_bytes + m->bytes.len > TASK_BYTES_MAX) {
        task_free(task);
        return false;
    }
    task->response = msg_ref(m);
    task->kept = true;
    task->session->task_bytes += m->bytes.len;
    return true;
}

void task_drop(const struct channel *ch) {
    LIST_FOR_SAFE (n, next, &ch->session->tasks) {
        struct era_task *task = container_of(n, struct era_task, node);
        if (task->ch == ch)
            task_free(task);
    }
}

void task_close_all(struct session *s) {
    while (!list_empty(&s->tasks))
        task_free(container_of(s->tasks.next, struct era_task, node));
}

struct channel *task_channel(const struct channel *first, const struct call *c) {
    if (!c->subject || strcmp(c->subject, "taskId") != 0)
        return NULL;
    const struct era_task *task = task_find(first->session, c->server, c->name);
    return task ? task->ch : NULL;
}

bool task_is(const struct msg *m, uint32_t task, const char *status) {
    uint32_t node = tape_is(&m->tape, task, TAPE_OBJECT) ? tape_get_str(&m->tape, task, "status") : 0;
    return node && tape_eq(&m->tape, node, slice_str(status));
}

enum call_next task_replace(struct call *c, const char *kind, struct slice json) {
    struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":0,\"%s\":", kind);
    buf_put_slice(&text, json);
    buf_put_char(&text, '}');
    struct msg *m = json.len && !text.full ? call_read_text(c->session->core, buf_slice(&text)) : NULL;
    buf_free(&text);
    if (!m)
        return answer_refuse(c, RPC_INTERNAL, 502, "the server's task could not be translated");
    call_replace_response(c, m);
    c->translated = true;
    return CALL_NEXT;
}

struct slice task_method(const struct call *c) {
    return c->task_turn == TASK_GET      ? SLICE("tasks/get")
           : c->task_turn == TASK_UPDATE ? SLICE("tasks/update")
           : c->task_turn == TASK_CANCEL ? SLICE("tasks/cancel")
                                         : c->method;
}

struct slice task_members(const struct call *c) {
    return c->modern && c->task_turn == TASK_CREATE ? SLICE("\"task\":{}") : (struct slice){0};
}
