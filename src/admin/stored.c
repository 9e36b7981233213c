/* Requests that read or write the stores of the home. A slow disk, or PostgreSQL, must not delay calls: the
 * stores are used on a thread of their own (io/work.h), in the order of the requests.
 *
 *   serve (loop) ── api_store ──▶ run (thread) ──▶ done (loop) ──▶ api_answer, or api_store again
 */
#include "admin/api.h"
#include "approval/approve.h"
#include "base/mem.h"
#include "call/principal.h"
#include "io/work.h"
#include "state/grants.h"
#include "state/logins.h"
#include "state/stops.h"
#include "state/versions.h"

struct api_stored {
    struct io_work work;
    struct api_call call;
    struct web_request request; /* copy of the request without head and body */
    void (*run)(struct api_call *c);
    void (*done)(struct api_call *c);
    bool queued;
};

static void on_gone(void *owner) {
    struct api_stored *s = owner;
    s->request.reply = NULL;
}

static void stored_free(struct api_stored *s) {
    s->call.admin->stored_count--;
    principal_unref(s->request.who);
    api_call_end(&s->call);
    free(s);
}

static void stored_run(struct io_work *work) {
    struct api_stored *s = container_of(work, struct api_stored, work);
    s->run(&s->call);
}

static void stored_done(struct io_work *work) {
    struct api_stored *s = container_of(work, struct api_stored, work);
    s->queued = false;
    if (s->call.fault)
        api_error(&s->call, s->call.fault, "%s", s->call.err.text);
    else
        s->done(&s->call);
    if (!s->queued)
        stored_free(s);
}

/* Takes over what the request owns. Responds with an error and returns NULL if too many wait. */
static struct api_stored *stored_new(struct api_call *c) {
    const struct web_request *r = c->request;
    if (c->admin->stored_count >= ADMIN_STORED_MAX) {
        api_error(c, 503, "too many requests wait for the store");
        return NULL;
    }
    struct api_stored *s = mem_zalloc(sizeof(*s));
    s->work = (struct io_work){.thread = IO_THREAD_ADMIN, .run = stored_run, .done = stored_done};
    s->call = *c;
    s->call.stored = s;
    s->call.request = &s->request;
    s->call.e.out = &s->call.out;
    s->request = (struct web_request){.who = r->who ? principal_ref(r->who) : NULL,
                                      .cookie = arena_dup(&s->call.arena, r->cookie),
                                      .port = r->port,
                                      .secure = r->secure,
                                      .reply = r->reply};
    c->admin->stored_count++;
    api_call_begin(c, c->admin, r);
    r->reply->ops->later(r->reply, s, on_gone);
    return s;
}

void api_store(struct api_call *c, void (*run)(struct api_call *c), void (*done)(struct api_call *c)) {
    struct api_stored *s = c->stored ? c->stored : stored_new(c);
    if (!s)
        return;
    s->run = run;
    s->done = done;
    s->queued = true;
    io_work_add(s->call.admin->core->up.loop, &s->work);
}

bool api_store_failed(struct api_call *c, int status, bool failed) {
    if (failed)
        c->fault = status;
    return failed;
}

/* ---- the stores, on the thread ---- */

struct state_grants *api_store_grants(struct api_call *c) {
    struct admin *a = c->admin;
    bool failed = (!a->grants && state_grants_open(a->home, false, &a->grants, &c->err) < 0) ||
                  state_grants_refresh(a->grants, &c->err) < 0;
    return api_store_failed(c, 503, failed) ? NULL : a->grants;
}

struct state_logins *api_store_logins(struct api_call *c) {
    struct admin *a = c->admin;
    bool failed = !a->logins && state_logins_open(a->home, &a->logins, &c->err) < 0;
    return api_store_failed(c, 503, failed) ? NULL : a->logins;
}

struct state_versions *api_store_versions(struct api_call *c) {
    struct admin *a = c->admin;
    bool failed = !a->versions && state_versions_open(a->home, &a->versions, &c->err) < 0;
    return api_store_failed(c, 503, failed) ? NULL : a->versions;
}

struct state_approvals *api_store_approvals(struct api_call *c) {
    struct admin *a = c->admin;
    bool failed = !a->approvals && state_approvals_open(a->home, &a->approvals, &c->err) < 0;
    return api_store_failed(c, 503, failed) ? NULL : a->approvals;
}

struct state_stops *api_store_stops(struct api_call *c) {
    struct admin *a = c->admin;
    bool failed = !a->stops && state_stops_open(a->home, &a->stops, &c->err) < 0;
    return api_store_failed(c, 503, failed) ? NULL : a->stops;
}

void api_stores_close(struct admin *a) {
    a->closing = true;
    io_work_finish(a->core->up.loop);
    state_grants_close(a->grants);
    state_logins_close(a->logins);
    state_versions_close(a->versions);
    state_approvals_close(a->approvals);
    state_stops_close(a->stops);
}
