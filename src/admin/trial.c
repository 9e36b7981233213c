/* Replays recorded calls under another policy: what would change. */
#include "record/rejudge.h"

#include "admin/api.h"
#include "policy/policy.h"

struct question {
    struct policy *policy;
    uint64_t since_us;
};

static void replay_run(struct api_job *j) {
    const struct question *q = j->what;
    struct rejudge *r = NULL;
    j->failed =
        rejudge_log(j->home, q->policy, &(struct rejudge_scope){.since_us = q->since_us}, &r, &j->err) < 0;
    if (!j->failed)
        rejudge_json(r, &j->e);
    rejudge_free(r);
}

static void drop_policy(void *what) { policy_unref(((struct question *)what)->policy); }

void api_replay(struct api_call *c) {
    cleanup_problems struct policy_problems problems;
    struct policy *policy = NULL;
    struct question want = {0};
    policy_problems_init(&problems);
    if (!api_read_time(c, "since", api_member(c, "since"), &want.since_us))
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
    *q = (struct question){policy, want.since_us};
    j->what = q;
    j->drop = drop_policy;
    api_job_start(j, replay_run);
}
