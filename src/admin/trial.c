/* Replays recorded calls under another policy: what would change. */
#include "record/rejudge.h"

#include "admin/api.h"
#include "policy/policy.h"

struct question {
    struct policy *policy;
    struct rejudge_scope scope;
};

static void replay_run(struct api_job *j) {
    const struct question *q = j->what;
    struct rejudge *r = NULL;
    j->failed = rejudge_log(j->home, q->policy, &q->scope, &r, &j->err) < 0;
    if (!j->failed)
        rejudge_json(r, &j->e);
    rejudge_free(r);
}

static void drop_policy(void *what) { policy_unref(((struct question *)what)->policy); }

/* Responds with an error and returns false if there are too many. */
static bool read_servers(struct api_call *c, struct rejudge_scope *scope) {
    uint32_t list = tape_get_str(&c->body, 0, "servers");
    if (!list)
        return true;
    struct slice *names = arena_array(&c->arena, struct slice, ADMIN_REPLAY_SERVERS_MAX);
    scope->servers = names;
    TAPE_FOR_ELEM(&c->body, list, i) {
        if (scope->server_count == ADMIN_REPLAY_SERVERS_MAX)
            return api_error(c, 400, "servers has at most %u names", ADMIN_REPLAY_SERVERS_MAX), false;
        names[scope->server_count++] = tape_text(&c->body, i, &c->arena);
    }
    return true;
}

/* Moves the names into the arena of the job. */
static void keep_servers(struct arena *a, struct rejudge_scope *scope) {
    struct slice *names = arena_array(a, struct slice, scope->server_count + 1);
    for (size_t i = 0; i < scope->server_count; i++)
        names[i] = arena_dup(a, scope->servers[i]);
    scope->servers = names;
}

void api_replay(struct api_call *c) {
    cleanup_problems struct policy_problems problems;
    struct policy *policy = NULL;
    struct question want = {0};
    policy_problems_init(&problems);
    if (!api_read_time(c, "since", api_member(c, "since"), &want.scope.since_us) ||
        !read_servers(c, &want.scope))
        return;
    if (policy_load(api_member(c, "policy_text"), "policy", &policy, &problems) < 0) {
        api_error(c, 422, "%.*s", SLICE_FMT(problems.items[0].text));
        return;
    }
    struct api_job *j = api_job_for(c);
    if (!j) {
        policy_unref(policy);
        return;
    }
    struct question *q = arena_new(&j->arena, struct question);
    *q = (struct question){policy, want.scope};
    keep_servers(&j->arena, &q->scope);
    j->what = q;
    j->drop = drop_policy;
    api_job_start(j, replay_run);
}
