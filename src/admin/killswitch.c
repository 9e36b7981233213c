/* The kill switch at the API. */
#include "state/stops.h"

#include "admin/api.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "call/principal.h"
#include "decision/stop.h"
#include "server/server.h"

static struct state_stops *stops_of(struct api_call *c) {
    struct state_stops *stops = stop_store(c->admin->core);
    if (!stops)
        api_error(c, 503, "nothing can be stopped at this gate");
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
        if (api_page_takes(c, &page, arena_printf(&c->arena, "%llu", (unsigned long long)stop->id)))
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

void api_stop(struct api_call *c) {
    struct state_stops *stops = stops_of(c);
    struct state_stop want = {.name = api_member(c, "name"),
                              .reason = api_member(c, "reason"),
                              .by = slice_str(c->request->who->id),
                              .at_ms = clock_wall_ms(),
                              .cancel = api_member_flag(c, "cancel")};
    struct err err = {0};
    uint64_t id;
    if (!stops)
        return;
    if (state_stop_scope_from(api_member(c, "scope"), &want.scope) < 0 ||
        (want.scope == STATE_STOP_ALL) != !want.name.len) {
        api_error(c, 400, "scope must be all, or server or grant with a name");
        return;
    }
    if (want.scope == STATE_STOP_SERVER && !server_find(c->admin->core, want.name)) {
        api_error(c, 404, "no server `%.*s`", SLICE_FMT(want.name));
        return;
    }
    if (state_stops_put(stops, &want, &id, &err) < 0) {
        api_error(c, 503, "%s", err.text);
        return;
    }
    record_stop(c, "stopped", &want);
    const struct state_stop *made = find_stop(stops, id);
    state_stop_json(&c->e, made ? made : &want);
    api_answer(c, 201);
    stop_sweep(c->admin->core);
}

void api_resume(struct api_call *c) {
    struct state_stops *stops = stops_of(c);
    struct err err = {0};
    uint64_t id;
    if (!stops)
        return;
    state_stops_refresh(stops);
    const struct state_stop *stop = slice_to_u64(c->arg, &id) && id ? find_stop(stops, id) : NULL;
    if (!stop) {
        api_error(c, 404, "no such stop");
        return;
    }
    state_stop_json(&c->e, stop);
    record_stop(c, "resumed", stop);
    if (state_stops_remove(stops, id, &err) < 0) {
        api_error(c, 503, "%s", err.text);
        return;
    }
    api_answer(c, 200);
}
