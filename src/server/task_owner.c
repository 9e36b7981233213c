#include "server/task_owner.h"

#include "base/mem.h"
#include "base/text.h"
#include "call/principal.h"
#include "server/limits.h"

struct task_owner {
    struct list node;
    struct text key;                                /* "server\nid" */
    char *principal;                                /* its id */
    char *tool;                                     /* that became it */
    uint64_t result_bytes_max, result_bytes_shadow; /* cap of that call's policy */
};

struct task_owners {
    struct list list; /* the oldest first */
    struct map by_key;
};

static struct task_owners *owners_of(const struct session *s) { return s->core->task_owners; }

void task_owner_init(struct core *core) {
    core->task_owners = mem_zalloc(sizeof(*core->task_owners));
    list_init(&core->task_owners->list);
    map_init(&core->task_owners->by_key);
}

static void owner_free(struct task_owners *owners, struct task_owner *task) {
    map_remove(&owners->by_key, text_slice(task->key));
    list_remove(&task->node);
    text_free(&task->key);
    free(task->principal);
    free(task->tool);
    free(task);
}

static struct slice task_key(struct arena *a, const struct server *server, struct slice id) {
    return arena_printf(a, "%s\n%.*s", server->up.name, SLICE_FMT(id));
}

static void task_cap(struct task_owner *task, const struct policy_verdict *v) {
    policy_tighten(&task->result_bytes_max, v->result_bytes_max);
    policy_tighten(&task->result_bytes_shadow, v->result_bytes_shadow);
}

bool task_owner_add(struct call *c, struct slice id) {
    struct task_owners *owners = owners_of(c->session);
    const char *principal = c->session->principal->id;
    struct slice key = task_key(&c->arena, c->server, id);
    struct task_owner *known = map_get(&owners->by_key, key);
    if (known) {
        task_cap(known, &c->verdict);
        if (!slice_is(c->name, known->tool)) /* one id for tasks of two calls: the rules of neither apply */
            known->tool[0] = '\0';
        return strcmp(known->principal, principal) == 0;
    }
    if (owners->by_key.count >= TASK_OWNERS_MAX)
        owner_free(owners, container_of(owners->list.next, struct task_owner, node));
    struct task_owner *task = mem_zalloc(sizeof(*task));
    task->key = text_dup(key);
    task->principal = mem_dup(principal, strlen(principal));
    task->tool = mem_dup(c->name.ptr, c->name.len);
    task_cap(task, &c->verdict);
    map_put(&owners->by_key, text_slice(task->key), task);
    list_push(&owners->list, &task->node);
    return true;
}

static const struct task_owner *task_find(const struct session *s, const struct server *server,
                                          struct slice id) {
    struct arena scratch;
    arena_init(&scratch);
    const struct task_owner *task = map_get(&owners_of(s)->by_key, task_key(&scratch, server, id));
    arena_free(&scratch);
    return task && strcmp(task->principal, s->principal->id) == 0 ? task : NULL;
}

bool task_owner_is(const struct session *s, const struct server *server, struct slice id) {
    return task_find(s, server, id) != NULL;
}

struct slice task_owner_tool(const struct session *s, const struct server *server, struct slice id) {
    const struct task_owner *task = task_find(s, server, id);
    return task ? slice_str(task->tool) : (struct slice){0};
}

void task_owner_limit(const struct call *c, struct policy_verdict *v) {
    const bool about_task = c->subject && strcmp(c->subject, "taskId") == 0;
    const struct task_owner *task = about_task ? task_find(c->session, c->server, c->name) : NULL;
    if (!task)
        return;
    policy_tighten(&v->result_bytes_max, task->result_bytes_max);
    policy_tighten(&v->result_bytes_shadow, task->result_bytes_shadow);
}

void task_owner_free(struct core *core) {
    struct task_owners *owners = steal(core->task_owners);
    LIST_FOR_SAFE (n, next, &owners->list) {
        owner_free(owners, container_of(n, struct task_owner, node));
    }
    map_free(&owners->by_key);
    free(owners);
}
