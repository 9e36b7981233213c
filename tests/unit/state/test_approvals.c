#include "state/approvals.h"

#include "database.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1000000000000ull
#define MINUTE 60000ull

static char home[64];
static struct arena arena;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    snprintf(home, sizeof(home), "/tmp/sallyport-approvals-XXXXXX");
    return mkdtemp(home) ? database_setup(home) : -1;
}

static int teardown(void **state) {
    (void)state;
    database_teardown(home);
    static const char *const names[] = {"stores", "approvals.sqlite", "approvals.sqlite-wal",
                                        "approvals.sqlite-shm", "approvals.key"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", home, names[i]);
        unlink(path);
    }
    arena_free(&arena);
    return rmdir(home);
}

static struct state_approvals *open_store(void) {
    struct state_approvals *s = NULL;
    struct err err = {0};
    if (state_approvals_open(home, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static const struct state_approval_call a_call = {
    .identity = SLICE("grant:agent"),
    .server = SLICE("bank"),
    .tool = SLICE("pay"),
    .args_hash = SLICE("aaaa"),
    .fingerprint = SLICE("ffff"),
    .policy_hash = SLICE("pppp"),
};

static struct state_approval wanted(const struct state_approval_call *call, uint64_t now) {
    char *hex = arena_alloc(&arena, STATE_DIGEST_LEN);
    state_approval_digest(call, hex);
    return (struct state_approval){.digest = slice_of(hex, STATE_DIGEST_LEN),
                                   .call = *call,
                                   .args = SLICE("{\"amount\":5}"),
                                   .rule = SLICE("ask"),
                                   .approvers = SLICE("[]"),
                                   .created_ms = now,
                                   .expires_ms = now + 30 * MINUTE};
}

static enum state_ask ask_at(struct state_approvals *s, const struct state_approval_call *call, uint64_t now,
                             struct state_approval *found) {
    struct state_approval want = wanted(call, now);
    struct err err = {0};
    enum state_ask answer = state_approvals_ask(s, &want, &arena, found, &err);
    if (answer == STATE_ASK_FAULT)
        fail_msg("%s", err.text);
    return answer;
}

static enum state_decide say(struct state_approvals *s, struct slice id, bool approve, const char *who,
                             uint64_t now) {
    struct state_decision d = {.id = id, .approve = approve, .decider = slice_str(who), .now_ms = now};
    return state_approvals_decide(s, &d, &arena, NULL, NULL);
}

static enum state_approval_status status_of(struct state_approvals *s, struct slice id, uint64_t now) {
    struct state_approval found;
    assert_int_equal(state_approvals_get(s, id, now, &arena, &found, NULL), 1);
    return found.status;
}

/* ---- the digest ---- */

static void digest_depends_on_every_part(void **state) {
    (void)state;
    char first[STATE_DIGEST_LEN], other[STATE_DIGEST_LEN];
    state_approval_digest(&a_call, first);
    for (size_t i = 0; i < sizeof(a_call) / sizeof(struct slice); i++) {
        struct state_approval_call call = a_call;
        ((struct slice *)(void *)&call)[i] = SLICE("changed");
        state_approval_digest(&call, other);
        assert_memory_not_equal(first, other, sizeof(first));
    }
    struct state_approval_call same = a_call;
    state_approval_digest(&same, other);
    assert_memory_equal(first, other, sizeof(first));
}

static void digest_knows_where_parts_end(void **state) {
    (void)state;
    struct state_approval_call one = {.identity = SLICE("ab"), .server = SLICE("c")};
    struct state_approval_call two = {.identity = SLICE("a"), .server = SLICE("bc")};
    struct state_approval_call three = {.identity = SLICE("ab1:c"), .server = SLICE("")};
    char d1[STATE_DIGEST_LEN], d2[STATE_DIGEST_LEN], d3[STATE_DIGEST_LEN];
    state_approval_digest(&one, d1);
    state_approval_digest(&two, d2);
    state_approval_digest(&three, d3);
    assert_memory_not_equal(d1, d2, sizeof(d1));
    assert_memory_not_equal(d1, d3, sizeof(d1));
}

/* ---- the life of an approval ---- */

static void approved_once_passes_once(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, again;
    assert_int_equal(ask_at(s, &a_call, NOW, &first), STATE_ASK_NEW);
    assert_int_equal(ask_at(s, &a_call, NOW + 1, &again), STATE_ASK_JOINED);
    assert_true(slice_eq(first.id, again.id));
    assert_int_equal(again.asked, 2);
    assert_int_equal(say(s, first.id, true, "cli:alice", NOW + 2), STATE_DECIDED);
    assert_int_equal(ask_at(s, &a_call, NOW + 3, &again), STATE_ASK_GRANTED);
    assert_true(slice_is(again.decider, "cli:alice"));
    assert_int_equal(ask_at(s, &a_call, NOW + 4, &again), STATE_ASK_NEW);
    assert_false(slice_eq(first.id, again.id));
    assert_int_equal(status_of(s, first.id, NOW + 5), STATE_APPROVAL_USED);
    state_approvals_close(s);
}

static void another_call_does_not_pass(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, other;
    ask_at(s, &a_call, NOW, &first);
    say(s, first.id, true, "cli:alice", NOW);
    for (size_t i = 0; i < sizeof(a_call) / sizeof(struct slice); i++) {
        struct state_approval_call call = a_call;
        ((struct slice *)(void *)&call)[i] = SLICE("changed");
        assert_int_equal(ask_at(s, &call, NOW + 1, &other), STATE_ASK_NEW);
    }
    assert_int_equal(ask_at(s, &a_call, NOW + 1, &other), STATE_ASK_GRANTED);
    state_approvals_close(s);
}

static void no_id_looks_like_an_option(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    for (unsigned i = 0; i < 500; i++) { /* one in 64 would */
        struct state_approval one;
        assert_int_equal(ask_at(s, &a_call, NOW + i * 1440ULL * MINUTE, &one), STATE_ASK_NEW);
        assert_int_not_equal(one.id.ptr[strlen(STATE_APPROVAL_ID_PREFIX)], '-');
    }
    state_approvals_close(s);
}

static void denied_stays_denied_until_its_time(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, again;
    ask_at(s, &a_call, NOW, &first);
    assert_int_equal(say(s, first.id, false, "cli:alice", NOW), STATE_DECIDED);
    assert_int_equal(ask_at(s, &a_call, NOW + 29 * MINUTE, &again), STATE_ASK_DENIED);
    assert_int_equal(say(s, first.id, true, "cli:bob", NOW + 1), STATE_DECIDE_OVER);
    assert_int_equal(ask_at(s, &a_call, NOW + 30 * MINUTE, &again), STATE_ASK_NEW);
    state_approvals_close(s);
}

static void time_ends_both_waiting_and_approval(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, again;
    ask_at(s, &a_call, NOW, &first);
    assert_int_equal(say(s, first.id, true, "cli:alice", NOW + 30 * MINUTE), STATE_DECIDE_OVER);
    assert_int_equal(status_of(s, first.id, NOW + 30 * MINUTE), STATE_APPROVAL_EXPIRED);
    assert_int_equal(say(s, first.id, true, "cli:alice", NOW + 30 * MINUTE - 1), STATE_DECIDED);
    assert_int_equal(ask_at(s, &a_call, NOW + 30 * MINUTE, &again), STATE_ASK_NEW);
    state_approvals_close(s);
}

static void count_swept(void *ctx, const struct state_approval *r) {
    assert_int_equal(r->status, STATE_APPROVAL_EXPIRED);
    assert_int_equal(r->args.len, 0);
    ++*(int *)ctx;
}

static void sweep_tells_each_end_once(void **state) {
    (void)state;
    struct state_approvals *s = open_store(), *other = open_store();
    struct state_approval first;
    int ended = 0;
    ask_at(s, &a_call, NOW, &first);
    assert_int_equal(state_approvals_sweep(s, NOW + MINUTE, count_swept, &ended, NULL), 0);
    assert_int_equal(ended, 0);
    assert_int_equal(state_approvals_sweep(other, NOW + 30 * MINUTE, count_swept, &ended, NULL), 0);
    assert_int_equal(state_approvals_sweep(s, NOW + 30 * MINUTE, count_swept, &ended, NULL), 0);
    assert_int_equal(ended, 1);
    assert_int_equal(state_approvals_sweep(s, NOW + 2 * STATE_APPROVALS_KEEP_MS, count_swept, &ended, NULL),
                     0);
    struct state_approval found;
    assert_int_equal(state_approvals_get(s, first.id, NOW, &arena, &found, NULL), 0);
    state_approvals_close(other);
    state_approvals_close(s);
}

static void expired_by_hand(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, again;
    ask_at(s, &a_call, NOW, &first);
    say(s, first.id, true, "cli:alice", NOW);
    struct state_decision d = {.id = first.id, .decider = SLICE("cli:bob"), .now_ms = NOW + 1};
    assert_int_equal(state_approvals_expire(s, &d, &arena, NULL, NULL), STATE_DECIDED);
    assert_int_equal(state_approvals_expire(s, &d, &arena, NULL, NULL), STATE_DECIDE_OVER);
    assert_int_equal(ask_at(s, &a_call, NOW + 2, &again), STATE_ASK_NEW);
    state_approvals_close(s);
}

static enum state_decide say_for(struct state_approvals *s, struct slice id, uint64_t for_ms, bool any,
                                 uint64_t now) {
    struct state_decision d = {.id = id,
                               .approve = true,
                               .decider = SLICE("cli:alice"),
                               .now_ms = now,
                               .for_ms = for_ms,
                               .any_args = any};
    return state_approvals_decide(s, &d, &arena, NULL, NULL);
}

static void approved_for_a_while(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, again;
    struct state_approval_call other = a_call;
    other.args_hash = SLICE("bbbb");
    ask_at(s, &a_call, NOW, &first);
    assert_int_equal(say_for(s, first.id, 10 * MINUTE, false, NOW), STATE_DECIDED);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(ask_at(s, &a_call, NOW + i, &again), STATE_ASK_GRANTED);
    assert_int_equal(ask_at(s, &other, NOW + 3, &again), STATE_ASK_NEW);
    assert_int_equal(state_approvals_sweep(s, NOW + 4, NULL, NULL, NULL), 0);
    assert_int_equal(ask_at(s, &a_call, NOW + 10 * MINUTE - 1, &again), STATE_ASK_GRANTED);
    assert_int_equal(ask_at(s, &a_call, NOW + 10 * MINUTE, &again), STATE_ASK_NEW);
    state_approvals_close(s);
}

static void with_any_arguments(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, again;
    struct state_approval_call other = a_call, third = a_call;
    other.args_hash = SLICE("bbbb");
    third.args_hash = SLICE("cccc");
    ask_at(s, &third, NOW, &again);
    say(s, again.id, false, "cli:alice", NOW); /* a denial of one call holds against it */
    ask_at(s, &a_call, NOW, &first);
    assert_int_equal(say_for(s, first.id, 100 * STATE_REPEAT_MS_MAX, true, NOW), STATE_DECIDED);
    assert_int_equal(ask_at(s, &a_call, NOW + 1, &again), STATE_ASK_GRANTED);
    assert_int_equal(ask_at(s, &other, NOW + 1, &again), STATE_ASK_GRANTED);
    assert_true(slice_eq(again.id, first.id));
    assert_int_equal(again.repeat_ms, NOW + STATE_REPEAT_MS_MAX); /* bounded */
    assert_int_equal(ask_at(s, &third, NOW + 1, &again), STATE_ASK_DENIED);
    /* Everything but the arguments still binds. */
    for (size_t i = 0; i < sizeof(a_call) / sizeof(struct slice); i++) {
        struct state_approval_call call = a_call;
        ((struct slice *)(void *)&call)[i] = SLICE("changed");
        enum state_ask want =
            &((struct slice *)(void *)&call)[i] == &call.args_hash ? STATE_ASK_GRANTED : STATE_ASK_NEW;
        assert_int_equal(ask_at(s, &call, NOW + 2, &again), want);
    }
    struct state_decision end = {.id = first.id, .decider = SLICE("cli:bob"), .now_ms = NOW + 3};
    assert_int_equal(state_approvals_expire(s, &end, &arena, NULL, NULL), STATE_DECIDED);
    assert_int_equal(ask_at(s, &other, NOW + 4, &again), STATE_ASK_NEW);
    state_approvals_close(s);
}

/* ---- who decides ---- */

static void requester_cannot_decide(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first;
    ask_at(s, &a_call, NOW, &first);
    assert_int_equal(say(s, first.id, true, "grant:agent", NOW), STATE_DECIDE_SELF);
    assert_int_equal(say(s, first.id, false, "grant:agent", NOW), STATE_DECIDE_SELF);
    assert_int_equal(status_of(s, first.id, NOW), STATE_APPROVAL_PENDING);
    assert_int_equal(say(s, SLICE("ap_unknown"), true, "cli:alice", NOW), STATE_DECIDE_UNKNOWN);
    state_approvals_close(s);
}

static void named_approvers_only(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval want = wanted(&a_call, NOW), found;
    want.approvers = SLICE("[\"finance\",\"oidc:https://idp|carol\"]");
    assert_int_equal(state_approvals_ask(s, &want, &arena, &found, NULL), STATE_ASK_NEW);
    assert_int_equal(say(s, found.id, true, "grant:sales", NOW), STATE_DECIDE_OTHERS);
    assert_int_equal(say(s, found.id, true, "finance", NOW), STATE_DECIDED);
    assert_true(state_approvers_name(want.approvers, SLICE("grant:finance")));
    assert_true(state_approvers_name(want.approvers, SLICE("oidc:https://idp|carol")));
    assert_false(state_approvers_name(want.approvers, SLICE("grant:finance2")));
    assert_true(state_approvers_name(SLICE("[]"), SLICE("anybody")));
    assert_false(state_approvers_name(SLICE("not json"), SLICE("anybody")));
    state_approvals_close(s);
}

static void one_identity_cannot_fill_the_store(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval found;
    for (int i = 0; i < STATE_APPROVALS_IDENTITY_MAX; i++) {
        struct state_approval_call call = a_call;
        call.args_hash = arena_u64(&arena, (uint64_t)i);
        assert_int_equal(ask_at(s, &call, NOW, &found), STATE_ASK_NEW);
    }
    assert_int_equal(ask_at(s, &a_call, NOW, &found), STATE_ASK_FULL);
    struct state_approval_call other = a_call;
    other.identity = SLICE("grant:other");
    assert_int_equal(ask_at(s, &other, NOW, &found), STATE_ASK_NEW);
    assert_int_equal(state_approvals_pending(s, NOW), STATE_APPROVALS_IDENTITY_MAX + 1);
    assert_int_equal(ask_at(s, &a_call, NOW + 30 * MINUTE, &found), STATE_ASK_NEW);
    state_approvals_close(s);
}

/* ---- other processes ---- */

static void another_process_is_noticed(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval first, again;
    ask_at(s, &a_call, NOW, &first);
    state_approvals_changed(s);
    assert_false(state_approvals_changed(s));
    pid_t child = fork();
    if (child == 0) {
        struct state_approvals *mine = NULL;
        if (state_approvals_open(home, &mine, NULL) < 0 ||
            say(mine, first.id, true, "cli:alice", NOW) != STATE_DECIDED)
            _exit(1);
        kill(getpid(), SIGKILL); /* what was said stays said */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(state_approvals_changed(s));
    assert_false(state_approvals_changed(s));
    assert_int_equal(ask_at(s, &a_call, NOW + 1, &again), STATE_ASK_GRANTED);
    state_approvals_close(s);
}

/* Every process wants the one approval there is. */
static void many_claim_one_gets_it(void **state) {
    (void)state;
    enum { CLAIMANTS = 8 };
    struct state_approvals *s = open_store();
    struct state_approval first;
    ask_at(s, &a_call, NOW, &first);
    say(s, first.id, true, "cli:alice", NOW);
    state_approvals_close(s);
    pid_t children[CLAIMANTS];
    for (int i = 0; i < CLAIMANTS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct state_approvals *mine = NULL;
            struct state_approval found, want = wanted(&a_call, NOW + 1);
            if (state_approvals_open(home, &mine, NULL) < 0)
                _exit(2);
            _exit(state_approvals_ask(mine, &want, &arena, &found, NULL) == STATE_ASK_GRANTED ? 1 : 0);
        }
    }
    int granted = 0;
    for (int i = 0; i < CLAIMANTS; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        granted += WEXITSTATUS(status);
    }
    assert_int_equal(granted, 1);
}

static void files_are_for_this_user_only(void **state) {
    (void)state;
    if (database_is_remote())
        skip();
    struct state_approvals *s = open_store();
    static const char *const names[] = {"approvals.sqlite", "approvals.key"};
    for (size_t i = 0; i < 2; i++) {
        char path[128];
        struct stat st;
        snprintf(path, sizeof(path), "%s/%s", home, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    state_approvals_close(s);
}

/* ---- seals ---- */

static void seals_hold_across_processes_and_purposes(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    char seal[STATE_DIGEST_LEN];
    state_approvals_seal(s, "state", SLICE("ap_1"), seal);
    state_approvals_close(s);
    s = open_store();
    struct slice text = slice_of(seal, sizeof(seal));
    assert_true(state_approvals_sealed(s, "state", SLICE("ap_1"), text));
    assert_false(state_approvals_sealed(s, "state", SLICE("ap_2"), text));
    assert_false(state_approvals_sealed(s, "callback", SLICE("ap_1"), text));
    assert_false(state_approvals_sealed(s, "state", SLICE("ap_1"), slice_upto(text, 63)));
    assert_false(state_approvals_sealed(s, "state", SLICE("ap_1"), (struct slice){0}));
    state_approvals_close(s);
}

static void long_texts_are_cut(void **state) {
    (void)state;
    struct state_approvals *s = open_store();
    struct state_approval want = wanted(&a_call, NOW), found;
    char *large = arena_alloc(&arena, STATE_APPROVAL_ARGS_MAX + 1);
    memset(large, 'x', STATE_APPROVAL_ARGS_MAX + 1);
    want.args = slice_of(large, STATE_APPROVAL_ARGS_MAX + 1);
    want.text = slice_of(large, STATE_APPROVAL_TEXT_MAX + 1);
    assert_int_equal(state_approvals_ask(s, &want, &arena, &found, NULL), STATE_ASK_NEW);
    assert_int_equal(state_approvals_get(s, found.id, NOW, &arena, &found, NULL), 1);
    assert_true(found.args_cut && found.args.len == STATE_APPROVAL_ARGS_MAX);
    assert_int_equal(found.text.len, STATE_APPROVAL_TEXT_MAX);
    state_approvals_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(digest_depends_on_every_part, setup, teardown),
        cmocka_unit_test_setup_teardown(digest_knows_where_parts_end, setup, teardown),
        cmocka_unit_test_setup_teardown(approved_once_passes_once, setup, teardown),
        cmocka_unit_test_setup_teardown(another_call_does_not_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(no_id_looks_like_an_option, setup, teardown),
        cmocka_unit_test_setup_teardown(denied_stays_denied_until_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(time_ends_both_waiting_and_approval, setup, teardown),
        cmocka_unit_test_setup_teardown(sweep_tells_each_end_once, setup, teardown),
        cmocka_unit_test_setup_teardown(expired_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(approved_for_a_while, setup, teardown),
        cmocka_unit_test_setup_teardown(with_any_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(requester_cannot_decide, setup, teardown),
        cmocka_unit_test_setup_teardown(named_approvers_only, setup, teardown),
        cmocka_unit_test_setup_teardown(one_identity_cannot_fill_the_store, setup, teardown),
        cmocka_unit_test_setup_teardown(another_process_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(many_claim_one_gets_it, setup, teardown),
        cmocka_unit_test_setup_teardown(files_are_for_this_user_only, setup, teardown),
        cmocka_unit_test_setup_teardown(seals_hold_across_processes_and_purposes, setup, teardown),
        cmocka_unit_test_setup_teardown(long_texts_are_cut, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
