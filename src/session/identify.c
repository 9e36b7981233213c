#include "session/identify.h"

#include "base/mem.h"
#include "call/answer.h"
#include "call/limits.h"
#include "call/principal.h"

static const struct {
    struct slice method;
    enum call_method kind;
    const char *subject;
    bool subject_required;
} methods[] = {
    {SLICE("tools/call"), CALL_TOOLS_CALL, "name", true},
    {SLICE("tools/list"), CALL_TOOLS_LIST, NULL, false},
    {SLICE("prompts/get"), CALL_OTHER, "name", true},
    {SLICE("resources/read"), CALL_OTHER, "uri", true},
    {SLICE("resources/directory/read"), CALL_OTHER, "uri", true},
    {SLICE("skills/get"), CALL_OTHER, "uri", true},
    {SLICE("resources/subscribe"), CALL_OTHER, "uri", false},
    {SLICE("resources/unsubscribe"), CALL_OTHER, "uri", false},
    {SLICE("tasks/get"), CALL_OTHER, "taskId", false},
    {SLICE("tasks/update"), CALL_OTHER, "taskId", false},
    {SLICE("tasks/cancel"), CALL_OTHER, "taskId", false},
    {SLICE("tasks/result"), CALL_OTHER, "taskId", false},
    {SLICE("subscriptions/listen"), CALL_LISTEN, NULL, false},
    {SLICE("resources/list"), CALL_LIST, NULL, false},
    {SLICE("resources/templates/list"), CALL_LIST, NULL, false},
    {SLICE("prompts/list"), CALL_LIST, NULL, false},
    {SLICE("skills/list"), CALL_LIST, NULL, false},
    {SLICE("tasks/list"), CALL_LIST, NULL, false},
    {SLICE("server/discover"), CALL_DISCOVER, NULL, false},
    {SLICE("completion/complete"), CALL_COMPLETE, NULL, false},
    {SLICE("logging/setLevel"), CALL_SET_LEVEL, NULL, false},
    {SLICE("initialize"), CALL_INITIALIZE, NULL, false},
    {SLICE("ping"), CALL_PING, NULL, false},
    {SLICE("notifications/initialized"), CALL_INITIALIZED, NULL, false},
    {SLICE("notifications/cancelled"), CALL_CANCELLED, NULL, false},
};

static void read_method(struct call *c) {
    c->method = tape_text(&c->request->tape, c->request->rpc.method, &c->arena);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!slice_eq(c->method, methods[i].method))
            continue;
        c->kind = methods[i].kind;
        c->subject = methods[i].subject;
        c->subject_required = methods[i].subject_required;
        return;
    }
}

enum call_next identify_step(struct call *c) {
    struct session *s = c->session;
    const struct msg *m = c->request;
    read_method(c);
    const char *fault = principal_session_fault(s);
    if (fault) {
        c->id_raw = m->rpc.id ? arena_dup(&c->arena, tape_raw(&m->tape, m->rpc.id)) : (struct slice){0};
        return answer_refuse(c, RPC_INVALID_REQUEST, 401, fault);
    }
    if (!m->rpc.id)
        return CALL_NEXT;
    c->id_raw = arena_dup(&c->arena, tape_raw(&m->tape, m->rpc.id));
    if (s->call_count > SESSION_CALLS_MAX)
        return answer_refuse(c, RPC_INTERNAL, 503, "too many requests under way in this session");
    if (s->stateless || c->inner)
        return CALL_NEXT;
    struct slice key = call_id_key(&m->tape, m->rpc.id, &c->arena);
    if (!map_add(&s->by_id, key, c))
        return answer_refuse(c, RPC_INVALID_REQUEST, 400, "a request with this id is under way");
    c->id_key = key;
    return CALL_NEXT;
}
