/* The kill switch at the API. */
#include "state/stops.h"

#include "admin/api.h"
#include "audit/audit.h"
#include "call/principal.h"
#include "decision/stop.h"
#include "server/server.h"

static struct state_stops *stops_of(struct api_call *c) {
    struct state_stops *stops = stop_store(c->admin->core);
    if (!stops)
        api_error(c, 503, "the kill switch is not available at this gate");
    return stops;
}

void api_stops(struct api_call *c) {
    struct state_stops *stops = stops_of(c);
    if (!stops)
        return;
    struct api_page page;
    state_stops_refresh(stops);
    if (!api_page_open(c, ADMIN_LIST_MAX, &page))
        return;
    for (size_t i = 0; i < state_stops_count(stops); i++) {
        const struct state_stop *stop = state_stops_at(stops, i);
        if (api_page_takes(&page, arena_printf(&c->arena, "%llu", (unsigned long long)stop->id)))
            state_stop_json(&c->e, stop);
    }
    api_page_answer(c, &page);
}

static const struct state_stop *find_stop(const struct state_stops *stops, uint64_t id) {
    for (size_t i = 0; i < state_stops_count(stops); i++)
        if (state_stops_at(stops, i)->id == id)
            return state_stops_at(stops, i);
    return NULL;
}

static void record_stop(struct api_call *c, const char *event, const struct state_stop *stop) {
    struct slice text = arena_printf(&c->arena, "%s%s%.*s", state_stop_scope_name(stop->scope),
                                     stop->reason.len ? ": " : "", SLICE_FMT(stop->reason));
    struct audit_action action = {.name = slice_str(event), .text = text};
    if (stop->scope == STATE_STOP_SERVER)
        action.server = stop->name;
    if (stop->scope == STATE_STOP_GRANT)
        action.grant = stop->name;
    api_record(c, action);
}

struct stopping {
    struct state_stop want;
    uint64_t id;
    struct stops_copy *copy; /* the state after the change */
};

static void run_stop(struct api_call *c) {
    struct stopping *w = c->what;
    struct state_stops *stops = api_store_stops(c);
    if (!stops || api_store_failed(c, 503, state_stops_put(stops, &w->want, &w->id, &c->err) < 0))
        return;
    const struct state_stop *made = find_stop(stops, w->id);
    state_stop_json(&c->e, made ? made : &w->want);
    w->copy = state_stops_snapshot(stops);
}

static void on_stopped(struct api_call *c) {
    const struct stopping *w = c->what;
    state_stops_take(stop_store(c->admin->core), w->copy);
    record_stop(c, "stopped", &w->want);
    api_answer(c, 201);
    stop_sweep(c->admin->core);
}

void api_stop(struct api_call *c) {
    struct stopping *w = c->what = arena_new(&c->arena, struct stopping);
    w->want = (struct state_stop){.name = api_member(c, "name"),
                                  .reason = api_member(c, "reason"),
                                  .by = arena_dup(&c->arena, slice_str(c->request->who->id)),
                                  .at_ms = c->now_ms,
                                  .cancel = api_member_flag(c, "cancel")};
    if (!stops_of(c))
        return;
    if (state_stop_scope_from(api_member(c, "scope"), &w->want.scope) < 0 ||
        (w->want.scope == STATE_STOP_ALL) != !w->want.name.len) {
        api_error(c, 400, "scope must be all, or server or grant with a name");
        return;
    }
    if (w->want.name.len > STATE_STOP_TEXT_MAX || w->want.reason.len > STATE_STOP_TEXT_MAX) {
        api_error(c, 400, "a name or reason has at most %d bytes", STATE_STOP_TEXT_MAX);
        return;
    }
    if (w->want.scope == STATE_STOP_SERVER && !server_find(c->admin->core, w->want.name)) {
        api_error(c, 404, "no server `%.*s`", SLICE_FMT(w->want.name));
        return;
    }
    api_store(c, run_stop, on_stopped);
}

static void run_resume(struct api_call *c) {
    struct stopping *w = c->what;
    struct state_stops *stops = api_store_stops(c);
    if (stops && !api_store_failed(c, 503, state_stops_remove(stops, w->id, &c->err) < 0))
        w->copy = state_stops_snapshot(stops);
}

static void on_resumed(struct api_call *c) {
    const struct stopping *w = c->what;
    state_stops_take(stop_store(c->admin->core), w->copy);
    api_answer(c, 200);
}

void api_resume(struct api_call *c) {
    struct stopping *w = c->what = arena_new(&c->arena, struct stopping);
    struct state_stops *stops = stops_of(c);
    if (!stops)
        return;
    state_stops_refresh(stops);
    const struct state_stop *stop = slice_to_u64(c->arg, &w->id) && w->id ? find_stop(stops, w->id) : NULL;
    if (!stop) {
        api_error(c, 404, "no such stop");
        return;
    }
    state_stop_json(&c->e, stop);
    record_stop(c, "resumed", stop);
    api_store(c, run_resume, on_resumed);
}
