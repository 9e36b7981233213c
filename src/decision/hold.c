#include "decision/hold.h"

#include "base/mem.h"
#include "base/text.h"
#include "call/principal.h"
#include "decision/limits.h"
#include "server/server.h"

struct task_hold {
    struct list node;
    struct text key; /* "principal\nserver\nid" */
    struct state_ticket ticket;
    uint64_t give_back; /* what is given back at its end, as for state_settle_each() */
    uint64_t until_ms;
};

void hold_init(struct task_holds *h) {
    list_init(&h->list);
    h->count = 0;
}

static void hold_end(struct task_holds *h, struct task_hold *hold) {
    state_settle_each(&hold->ticket, hold->give_back);
    list_remove(&hold->node);
    h->count--;
    text_free(&hold->key);
    free(hold);
}

void hold_free(struct task_holds *h) {
    LIST_FOR_SAFE (n, next, &h->list) {
        hold_end(h, container_of(n, struct task_hold, node));
    }
}

void hold_expire(struct task_holds *h, uint64_t now_ms) {
    LIST_FOR_SAFE (n, next, &h->list) {
        struct task_hold *hold = container_of(n, struct task_hold, node);
        if (hold->until_ms <= now_ms)
            hold_end(h, hold);
    }
}

static struct slice key_of(struct call *c, struct slice id) {
    return arena_printf(&c->arena, "%s\n%s\n%.*s", c->session->principal->id, c->server->up.name,
                        SLICE_FMT(id));
}

static bool holds_slot(const struct call *c) {
    for (size_t i = 0; c->reserving && i < c->verdict.limit_count; i++)
        if (c->verdict.limits[i].kind == POLICY_CONCURRENT)
            return true;
    return false;
}

/* The task in the answer: a member of its own in the legacy era, the result itself in the modern one. */
static uint32_t task_of(const struct msg *m) {
    const struct tape *t = &m->tape;
    if (m->rpc.kind != RPC_RESULT || !tape_is(t, m->rpc.body, TAPE_OBJECT))
        return 0;
    uint32_t task = tape_get_str(t, m->rpc.body, "task");
    if (!task)
        task = m->rpc.body;
    return tape_is(t, task, TAPE_OBJECT) && tape_get_str(t, task, "taskId") ? task : 0;
}

static bool is_over(const struct tape *t, uint32_t task) {
    const uint32_t status = tape_get_str(t, task, "status");
    return status && (tape_eq(t, status, SLICE("completed")) || tape_eq(t, status, SLICE("failed")) ||
                      tape_eq(t, status, SLICE("cancelled")));
}

/* For how long the server keeps the task, within bounds. */
static uint64_t lifetime_ms(const struct tape *t, uint32_t task) {
    const uint32_t ttl = tape_get_str(t, task, "ttl");
    double ms = 0;
    if (!ttl || !tape_double(t, ttl, &ms) || ms > TASK_HOLD_MS_MAX)
        return TASK_HOLD_MS_MAX;
    return ms < TASK_HOLD_MS_MIN ? TASK_HOLD_MS_MIN : (uint64_t)ms;
}

static void hold_task(struct task_holds *h, struct call *c, uint32_t task, uint64_t give_back) {
    const struct tape *t = &c->response->tape;
    const uint32_t id = tape_get_str(t, task, "taskId");
    if (!tape_is(t, id, TAPE_STRING) || is_over(t, task))
        return;
    if (h->count == TASK_HOLDS_MAX)
        hold_end(h, container_of(h->list.next, struct task_hold, node));
    struct task_hold *hold = mem_zalloc(sizeof(*hold));
    hold->key = text_dup(key_of(c, tape_text(t, id, &c->arena)));
    hold->give_back = give_back;
    hold->until_ms = c->judged_ms + lifetime_ms(t, task);
    call_take_ticket(c, &hold->ticket);
    list_push(&h->list, &hold->node);
    h->count++;
}

/* The result of a task is its end; so is a server that does not know it any more. */
static bool shows_end(const struct call *c) {
    const struct msg *m = c->response;
    const uint32_t task = task_of(m);
    if (slice_is(c->method, "tasks/result"))
        return true;
    if (task)
        return is_over(&m->tape, task);
    const uint32_t code = m->rpc.kind == RPC_ERROR ? tape_get_str(&m->tape, m->rpc.body, "code") : 0;
    int64_t number = 0;
    return code && tape_int(&m->tape, code, &number) && number == RPC_INVALID_PARAMS;
}

void hold_note(struct task_holds *h, struct call *c, uint64_t give_back) {
    if (!c->response)
        return;
    if (c->kind == CALL_TOOLS_CALL) {
        const uint32_t task = holds_slot(c) ? task_of(c->response) : 0;
        if (task)
            hold_task(h, c, task, give_back);
        return;
    }
    if (!h->count || !c->subject || strcmp(c->subject, "taskId") != 0 || !shows_end(c))
        return;
    const struct slice key = key_of(c, c->name);
    LIST_FOR_SAFE (n, next, &h->list) {
        struct task_hold *hold = container_of(n, struct task_hold, node);
        if (slice_eq(text_slice(hold->key), key))
            hold_end(h, hold);
    }
}
