/* Calls in flight. */
#include "call/call.h"

#include "admin/api.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "call/principal.h"
#include "decision/stop.h"
#include "server/server.h"

#include <stdio.h>

/* Calls of clients once they have a number in the log, together with the calls that the gate makes for
 * them. */
static bool is_shown(const struct call *c) { return c->record && !c->subcall && c->server; }

static const char *step_of(const struct call *c) {
    if (c->approval && !c->sent)
        return "waits for a person";
    return c->sent ? "at the server" : "in the gate";
}

static void put_call(struct emit *e, const struct call *c, uint64_t now_us) {
    char id[24];
    snprintf(id, sizeof(id), "%llu", (unsigned long long)c->record);
    uint64_t since_us = now_us > c->received_us ? now_us - c->received_us : 0;
    emit_object(e);
    emit_key(e, "id");
    emit_cstr(e, id);
    emit_key(e, "identity");
    emit_cstr(e, c->session->principal->id);
    emit_key(e, "session");
    emit_str(e, slice_upto(slice_str(c->session->name), 8));
    emit_key(e, "server");
    emit_cstr(e, c->server->up.name);
    emit_key(e, "method");
    emit_str(e, c->method);
    if (c->kind == CALL_TOOLS_CALL) {
        emit_key(e, "tool");
        emit_str(e, c->name);
    }
    emit_time(e, "started_at", clock_wall_ms() - since_us / 1000);
    emit_key(e, "step");
    emit_cstr(e, step_of(c));
    emit_object_end(e);
}

void api_calls(struct api_call *c) {
    struct api_page page;
    if (!api_page_open_part(c, &page))
        return;
    LIST_FOR (n, &c->admin->core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        LIST_FOR (m, &s->calls) {
            const struct call *one = container_of(m, struct call, node);
            if (is_shown(one) &&
                api_page_takes(&page, arena_printf(&c->arena, "%llu", (unsigned long long)one->record)))
                put_call(&c->e, one, clock_mono_us());
        }
    }
    api_page_answer(c, &page);
}

static struct call *find_call(struct core *core, uint64_t record) {
    LIST_FOR (n, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        LIST_FOR (m, &s->calls) {
            struct call *one = container_of(m, struct call, node);
            if (one->record == record && is_shown(one))
                return one;
        }
    }
    return NULL;
}

void api_call_cancel(struct api_call *c) {
    uint64_t record;
    struct call *found = slice_to_u64(c->arg, &record) && record ? find_call(c->admin->core, record) : NULL;
    if (!found) {
        api_error(c, 404, "no such call is in flight");
        return;
    }
    put_call(&c->e, found, clock_mono_us());
    api_record(c,
               (struct audit_action){.name = SLICE("call_cancelled"),
                                     .server = slice_str(found->server->up.name),
                                     .tool = found->kind == CALL_TOOLS_CALL ? found->name : (struct slice){0},
                                     .text = c->arg});
    api_answer(c, 200);
    stop_call(found, "cancelled by an operator");
}
