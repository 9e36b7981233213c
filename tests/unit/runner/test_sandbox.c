/* The client of the sandbox with the real helper: calls, sessions, cancelling, the waiting line, a mix of bad
 * ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "runner/sandbox.h"
#include "runner/sandbox_core.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS 60

struct seen {
    struct io_loop *loop;
    size_t *left;
    enum sandbox_exit exit;
    char result[256];
    char error[256];
    char out[256];
    uint32_t calls, gone;
    double fraction;
    bool hold;   /* leave calls unanswered */
    bool cancel; /* at the first output */
    bool lost;
};

static struct spawn *spawn;
static struct io_loop loop;
static struct sandbox *sandbox;

static void keep(char to[256], struct slice text) { snprintf(to, 256, "%.*s", SLICE_FMT(text)); }

static void on_call(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                    struct slice args) {
    struct seen *s = owner;
    s->calls++;
    if (s->hold)
        sandbox_cancel(run);
    else if (slice_is(tool, "fail"))
        sandbox_answer_error(run, id, SLICE("no \"such\" thing"));
    else
        sandbox_answer(run, id, slice_is(server, "s") ? args : SLICE("null"));
}

static void on_gone(struct sandbox_run *run, void *owner, uint32_t id) {
    (void)run, (void)id;
    ((struct seen *)owner)->gone++;
}

static void on_progress(struct sandbox_run *run, void *owner, double fraction, struct slice text) {
    (void)run, (void)text;
    ((struct seen *)owner)->fraction = fraction;
}

static void on_output(struct sandbox_run *run, void *owner, enum sandbox_stream stream, struct slice bytes) {
    (void)stream, (void)bytes;
    if (((struct seen *)owner)->cancel)
        sandbox_cancel(run);
}

static void on_done(struct sandbox_run *run, void *owner, const struct sandbox_outcome *o) {
    (void)run;
    struct seen *s = owner;
    s->exit = o->exit;
    s->lost = o->session_lost;
    keep(s->result, o->result);
    keep(s->error, o->error);
    keep(s->out, o->out);
    if (--*s->left == 0)
        io_loop_stop(s->loop);
}

static const struct sandbox_handlers handlers = {
    .call = on_call, .gone = on_gone, .progress = on_progress, .output = on_output, .done = on_done};

static size_t left;

static void start(struct seen *s, const char *code, struct sandbox_request request) {
    struct err err = {""};
    s->loop = &loop;
    s->left = &left;
    left++;
    request.code = slice_str(code);
    assert_non_null(sandbox_start(sandbox, &request, &handlers, s, &err));
}

static struct seen run(const char *code, struct sandbox_request request) {
    struct seen s = {0};
    start(&s, code, request);
    io_loop_run(&loop);
    return s;
}

static bool cannot(enum sandbox_language language) {
    const char *why = sandbox_why_not(sandbox, language);
    if (why)
        fprintf(stderr, "SKIPPED LOUDLY: %s\n", why);
    return why != NULL;
}

static bool no_sandbox(void) { return cannot(SANDBOX_PYTHON); }

static void on_ready(void *owner) {
    (void)owner;
    io_loop_stop(&loop);
}

static int open_with(struct sandbox_config config) {
    struct err err = {""};
    config.helper_dir = getenv("SALLYPORT_BUILD");
    spawn = spawn_start(&err);
    io_loop_init(&loop);
    if (!spawn || spawn_attach(spawn, &loop, &err) != 0 ||
        sandbox_open(&loop, spawn, &config, on_ready, NULL, &sandbox, &err) != 0)
        return fprintf(stderr, "%s\n", err.text), -1;
    io_loop_run(&loop);
    return 0;
}

static int set_up(void **state) {
    (void)state;
    return open_with((struct sandbox_config){.languages = 1u << SANDBOX_PYTHON});
}

/* Of JavaScript none is kept ready, and the first child of its interpreter never comes to life. */
static int set_up_asleep(void **state) {
    (void)state;
    setenv("SALLYPORT_SANDBOX_FAIL", "awake", 1);
    return open_with((struct sandbox_config){
        .languages = 1u << SANDBOX_JAVASCRIPT, .warm = SANDBOX_NONE_WARM, .wake_ms = 3000});
}

static int tear_down(void **state) {
    (void)state;
    sandbox_close(sandbox);
    spawn_stop(spawn);
    io_loop_free(&loop);
    return 0;
}

static void test_calls(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    struct seen s = run("progress(0.25, 'x')\n"
                        "a = tools.s.echo(x=[1, 'é'])\n"
                        "try: call_tool('s', 'fail', {})\n"
                        "except ToolError as e: a['e'] = str(e)\n"
                        "a['p'] = parallel([lambda i=i: tools.s.t(i=i)['i'] for i in range(20)])\n"
                        "result = a",
                        (struct sandbox_request){0});
    assert_int_equal(s.exit, SANDBOX_OK);
    assert_int_equal(s.calls, 22);
    assert_true(s.fraction == 0.25);
    assert_string_equal(
        s.result,
        "{\"x\": [1, \"\\u00e9\"], \"e\": \"no \\\"such\\\" thing\", \"p\": [0, 1, 2, 3, 4, 5, 6, 7, 8, "
        "9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]}");
}

static void test_unanswered(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    struct seen s = {.hold = true};
    start(&s, "tools.s.t()", (struct sandbox_request){0});
    io_loop_run(&loop);
    assert_int_equal(s.exit, SANDBOX_KILLED);
    assert_int_equal(s.gone, 1);
    s = (struct seen){.cancel = true};
    start(&s, "print(1, flush=True)\nwhile True: pass", (struct sandbox_request){0});
    io_loop_run(&loop);
    assert_int_equal(s.exit, SANDBOX_KILLED);
    assert_string_equal(s.error, "cancelled");
}

static void test_sessions(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    const struct sandbox_request in_a = {.session = SLICE("a")}, in_b = {.session = SLICE("b")};
    struct sandbox_session found;
    size_t at = 0;
    assert_string_equal(run("x = 41\nresult = 1", in_a).result, "1");
    assert_string_equal(run("x += 1\nresult = x", in_a).result, "42");
    assert_int_equal(run("result = x", in_b).exit, SANDBOX_ERROR); /* another session has other variables */
    assert_int_equal(run("result = x", (struct sandbox_request){0}).exit, SANDBOX_ERROR);
    assert_true(sandbox_session_next(sandbox, &at, &found));
    assert_true(slice_is(found.name, "a") && found.runs == 2 && !found.busy);
    assert_true(sandbox_session_clear(sandbox, SLICE("a")));
    assert_false(sandbox_session_clear(sandbox, SLICE("a")));
    assert_int_equal(run("result = x", in_a).exit, SANDBOX_ERROR);
    assert_true(run("import os; os._exit(0)", in_a).lost);
}

static void test_fitting(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    struct seen s = run("print('y' * 50); result = {'long': 'x' * 10000, 'n': 1}",
                        (struct sandbox_request){.result_max = 200});
    assert_int_equal(s.exit, SANDBOX_OK);
    assert_true(strlen(s.result) <= 200 && strstr(s.result, "\"n\""));
    s = run("print('first'); print('y' * 5000); print('last'); result = 1",
            (struct sandbox_request){.output_max = 200});
    assert_int_equal(s.exit, SANDBOX_OK);
    assert_string_equal(s.result, "1");
    assert_true(strlen(s.out) <= 200 && strstr(s.out, "first") && strstr(s.out, "bytes are left out") &&
                strstr(s.out, "last"));
}

/* Every caller gets an answer, whatever the others do. */
static void test_mix(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    static const struct {
        const char *code;
        enum sandbox_exit exit;
    } kinds[] = {
        {"result = 1", SANDBOX_OK},
        {"1/0", SANDBOX_ERROR},
        {"while True: pass", SANDBOX_TIMEOUT},
        {"x = bytearray(1 << 32)", SANDBOX_MEMORY},
        {"import os; os._exit(1)", SANDBOX_KILLED},
        {"while True: print('x' * 100000)", SANDBOX_OUTPUT},
    };
    static struct seen all[RUNS];
    struct sandbox_stats stats;
    memset(all, 0, sizeof(all));
    for (size_t i = 0; i < RUNS; i++)
        start(&all[i], kinds[i % ARRAY_LEN(kinds)].code,
              (struct sandbox_request){.timeout_ms = i % ARRAY_LEN(kinds) == 2 ? 200 : 60000});
    io_loop_run(&loop);
    for (size_t i = 0; i < RUNS; i++)
        assert_int_equal(all[i].exit, kinds[i % ARRAY_LEN(kinds)].exit);
    sandbox_stats(sandbox, &stats);
    assert_int_equal(stats.running, 0);
    assert_int_equal(stats.waiting, 0);
}

/* The run has waited for it and gets another one. */
static void test_asleep(void **state) {
    (void)state;
    if (cannot(SANDBOX_JAVASCRIPT))
        skip();
    struct sandbox_stats stats;
    struct seen s = run("return 6 * 7", (struct sandbox_request){.language = SANDBOX_JAVASCRIPT});
    assert_int_equal(s.exit, SANDBOX_OK);
    assert_string_equal(s.result, "42");
    sandbox_stats(sandbox, &stats);
    assert_true(stats.failed > 0);
}

/* ---- turns ---- */

#define FLOOD 1000
#define TURNS 6

static char turns[TURNS + 1]; /* who had each: a, b */

/* Every run makes a call when it begins, and would sleep for ever after that. */
static void on_turn(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                    struct slice args) {
    (void)owner, (void)id, (void)server, (void)args;
    const size_t at = strlen(turns);
    if (at < TURNS)
        turns[at] = tool.ptr[0];
    if (at == 0 || at + 1 >= TURNS)
        io_loop_stop(&loop); /* the first goes on while others arrive */
    else
        sandbox_cancel(run);
}

static void on_turn_over(struct sandbox_run *run, void *owner, const struct sandbox_outcome *o) {
    (void)run, (void)owner, (void)o;
}

static struct sandbox_run *take_turn(const char *share, const char *code) {
    static const struct sandbox_handlers only_turns = {.call = on_turn, .done = on_turn_over};
    struct err err = {""};
    const struct sandbox_request request = {
        .code = slice_str(code), .share = slice_str(share), .timeout_ms = 3600000};
    struct sandbox_run *run = sandbox_start(sandbox, &request, &only_turns, NULL, &err);
    assert_non_null(run);
    return run;
}

static int set_up_turns(void **state) {
    (void)state;
    return open_with((struct sandbox_config){.languages = 1u << SANDBOX_PYTHON, .ceiling.runs = 1});
}

/* One grant has a thousand runs in its line, all of which sleep: another grant's are next by turns. */
static void test_turns(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    struct sandbox_run *first = take_turn("ann", "call_tool('s', 'a', {})\nimport time\ntime.sleep(3600)");
    for (size_t i = 1; i < FLOOD; i++)
        take_turn("ann", "call_tool('s', 'a', {})\nimport time\ntime.sleep(3600)");
    io_loop_run(&loop);
    assert_string_equal(turns, "a");
    for (size_t i = 0; i < TURNS / 2; i++)
        take_turn("bob", "call_tool('s', 'b', {})");
    sandbox_cancel(first);
    io_loop_run(&loop);
    assert_string_equal(turns, "ababab");
}

/* ---- the end while files are fetched ---- */

#define POOL_THREADS 4 /* of libuv, unless UV_THREADPOOL_SIZE is set */

static uv_sem_t may_go_on;
static uv_work_t blockers[POOL_THREADS];
static size_t blocked;

static void block(uv_work_t *work) {
    (void)work;
    uv_sem_wait(&may_go_on);
}

static void unblocked(uv_work_t *work, int status) {
    (void)work, (void)status;
    blocked--;
}

/* From the first output on nothing is copied. */
static void on_output_block(struct sandbox_run *run, void *owner, enum sandbox_stream stream,
                            struct slice bytes) {
    (void)run, (void)owner, (void)stream, (void)bytes;
    for (size_t i = 0; i < POOL_THREADS; i++)
        assert_int_equal(uv_queue_work(&loop.uv, &blockers[i], block, unblocked), 0);
    blocked = POOL_THREADS;
}

static void test_closed_while_copying(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    static const struct sandbox_handlers blocking = {.output = on_output_block, .done = on_done};
    char workspace[] = "/tmp/sandbox-test-XXXXXX";
    assert_non_null(mkdtemp(workspace));
    struct err err = {""};
    struct seen s = {.loop = &loop, .left = &left};
    struct sandbox_stats stats = {.running = 1};
    assert_int_equal(uv_sem_init(&may_go_on, 0), 0);
    left = 1;
    const struct sandbox_request request = {
        .code = SLICE("print(1)"), .profile = SANDBOX_FILES, .workspace = workspace};
    assert_non_null(sandbox_start(sandbox, &request, &blocking, &s, &err));
    for (bool begun = false; !begun || stats.running; begun |= stats.running > 0) {
        uv_run(&loop.uv, UV_RUN_ONCE);
        sandbox_stats(sandbox, &stats);
    }
    assert_int_equal(left, 1);
    sandbox_close(sandbox);
    assert_int_equal(left, 0);
    for (size_t i = 0; i < POOL_THREADS; i++)
        uv_sem_post(&may_go_on);
    sandbox = NULL;
    uv_run(&loop.uv,
           UV_RUN_NOWAIT); /* on_done has stopped it; what the pool still has comes when it is freed */
    rmdir(workspace);
}

static bool has_box(uint64_t token) {
    LIST_FOR (n, &sandbox->boxes)
        if (container_of(n, struct box, node)->token == token)
            return true;
    return false;
}

/* The child is killed, and its end is known, before its files are there. */
static void test_ended_while_copying(void **state) {
    (void)state;
    if (no_sandbox())
        skip();
    static const struct sandbox_handlers only_end = {.done = on_done};
    char workspace[] = "/tmp/sandbox-test-XXXXXX";
    assert_non_null(mkdtemp(workspace));
    struct err err = {""};
    struct seen s = {.loop = &loop, .left = &left};
    assert_int_equal(uv_sem_init(&may_go_on, 0), 0);
    on_output_block(NULL, NULL, SANDBOX_STDOUT, SLICE(""));
    left = 1;
    const struct sandbox_request request = {
        .code = SLICE("print(1)"), .profile = SANDBOX_FILES, .workspace = workspace};
    struct sandbox_run *run = sandbox_start(sandbox, &request, &only_end, &s, &err);
    assert_non_null(run);
    while (!run->box)
        uv_run(&loop.uv, UV_RUN_ONCE);
    const uint64_t token = run->box->token;
    assert_non_null(run->copy);
    assert_int_equal(syscall(SYS_pidfd_send_signal, run->box->pidfd, SIGKILL, NULL, 0), 0);
    while (has_box(token))
        uv_run(&loop.uv, UV_RUN_ONCE);
    for (size_t i = 0; i < POOL_THREADS; i++)
        uv_sem_post(&may_go_on);
    while (left > 0 || blocked)
        uv_run(&loop.uv, UV_RUN_ONCE);
    assert_int_equal(s.exit, SANDBOX_KILLED);
    assert_string_equal(s.error, "the sandbox ended before the code could run");
    uv_sem_destroy(&may_go_on);
    rmdir(workspace);
}

int main(void) {
    const struct CMUnitTest asleep[] = {cmocka_unit_test(test_asleep)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_unanswered),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_fitting),
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_ended_while_copying),
        cmocka_unit_test(test_closed_while_copying),
    };
    const struct CMUnitTest fair[] = {cmocka_unit_test(test_turns)};
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        const pid_t pid = fork(); /* a process has one spawner */
        if (pid == 0)
            return i ? cmocka_run_group_tests(fair, set_up_turns, tear_down)
                     : cmocka_run_group_tests(asleep, set_up_asleep, tear_down);
        int status = 1;
        waitpid(pid, &status, 0);
        failed += status != 0;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down) + failed;
}
