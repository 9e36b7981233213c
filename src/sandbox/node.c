/* The module that makes a stock Node a zygote. Node does not support forking, so this file has the
 * workarounds: V8 excludes its heap from forks (undone before serving), the event loop must be reinitialised
 * in the child, and the child runs that loop itself, because Node's own wait counts threads that the child
 * does not have. A self-test at start does all of it once; if it fails, the runtime is not offered. The
 * functions of Node-API and libuv are declared here: both have a stable ABI. */
#include "base/clock.h"
#include "sandbox/confine.h"
#include "sandbox/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct env_ *napi_env;
typedef struct value_ *napi_value;
typedef struct info_ *napi_callback_info;
typedef struct scope_ *napi_handle_scope;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);
struct uv_loop;

#define NAPI_AUTO SIZE_MAX

extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
extern int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
extern int napi_get_value_int32(napi_env, napi_value, int32_t *);
extern int napi_create_int32(napi_env, int32_t, napi_value *);
extern int napi_create_string_utf8(napi_env, const char *, size_t, napi_value *);
extern int napi_get_value_string_utf8(napi_env, napi_value, char *, size_t, size_t *);
extern int napi_call_function(napi_env, napi_value, napi_value, size_t, const napi_value *, napi_value *);
extern int napi_get_uv_event_loop(napi_env, struct uv_loop **);
extern int napi_open_handle_scope(napi_env, napi_handle_scope *);
extern int napi_close_handle_scope(napi_env, napi_handle_scope);
extern int napi_get_undefined(napi_env, napi_value *);
extern int napi_create_external_arraybuffer(napi_env, void *, size_t, void (*)(void), void *, napi_value *);
extern int napi_throw_error(napi_env, const char *code, const char *text);
extern int uv_loop_fork(struct uv_loop *);
extern int uv_run(struct uv_loop *, int mode);
extern int uv_loop_alive(const struct uv_loop *);
extern int uv_backend_fd(const struct uv_loop *);
extern int uv_backend_timeout(const struct uv_loop *);
struct uv_check;
extern size_t uv_handle_size(int type);
extern int uv_check_init(struct uv_loop *, struct uv_check *);
extern int uv_check_start(struct uv_check *, void (*)(struct uv_check *));
extern void uv_unref(struct uv_check *);

napi_value napi_register_module_v1(napi_env env, napi_value exports);

#define RUN_NOWAIT 2
#define UV_CHECK 2
#define SELF_TEST_S 10

static struct confine_setup setup;

static napi_value number(napi_env env, int32_t value) {
    napi_value v = NULL;
    napi_create_int32(env, value, &v);
    return v;
}

static size_t arguments(napi_env env, napi_callback_info info, napi_value *values, size_t max) {
    size_t count = max;
    napi_get_cb_info(env, info, &count, values, NULL, NULL);
    return count < max ? count : max;
}

static napi_value renewed(napi_env env, int32_t value) {
    struct uv_loop *loop = NULL;
    if (napi_get_uv_event_loop(env, &loop) != 0 || uv_loop_fork(loop) != 0)
        _exit(CONFINE_FAILED);
    return number(env, value);
}

/* selftest(): returns -1 in a child that tries everything and exits with 0; here 1 if the child succeeded. */
static napi_value selftest(napi_env env, napi_callback_info info) {
    (void)info;
    if (confine_read_setup(CONFINE_FD_SETUP, &setup) != 0)
        _exit(CONFINE_FAILED);
    zygote_fold_memory();
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SELF_TEST_S);
        return renewed(env, -1);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return number(env, pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* serve(ms, in_all): handles orders. Returns in each locked-down child, with 1 if a run is pending; and here
 * with -1 if no order came for that time (-1: never), or with in_all after that time in any case. */
static napi_value serve(napi_env env, napi_callback_info info) {
    static bool first = true;
    struct frame_order order;
    int stdio[3];
    napi_value v[2];
    int32_t ms = -1, in_all = 0;
    if (arguments(env, info, v, 2) == 2) {
        napi_get_value_int32(env, v[0], &ms);
        napi_get_value_int32(env, v[1], &in_all);
    }
    zygote_fold_memory();
    struct pollfd orders = {.fd = CONFINE_FD_REPORT, .events = POLLIN};
    const uint64_t end_us = clock_mono_us() + (uint64_t)(in_all ? ms : 0) * 1000;
    for (; poll(&orders, 1, ms) != 0; first = false) {
        if (in_all && clock_mono_us() >= end_us)
            break;
        if (!zygote_next(&order, stdio))
            _exit(0);
        if (zygote_clone(&setup, &order, stdio) != 0)
            continue;
        confine_down(&setup, &order, stdio);
        zygote_open_loopback(&setup, &order);
        while (first && setup.fail_step == CONFINE_AWAKE) /* for tests */
            poll(NULL, 0, -1);
        return renewed(env, (int32_t)order.urgent);
    }
    return number(env, -1);
}

static char *text_of(napi_env env, napi_value value, size_t *ret_len) {
    size_t len = 0;
    if (napi_get_value_string_utf8(env, value, NULL, 0, &len) != 0)
        return NULL;
    char *text = malloc(len + 1);
    if (text)
        napi_get_value_string_utf8(env, value, text, len + 1, ret_len);
    return text;
}

/* tell(up, text) */
static napi_value tell(napi_env env, napi_callback_info info) {
    napi_value v[2];
    int32_t up = 0;
    size_t len = 0;
    if (arguments(env, info, v, 2) == 2) {
        napi_get_value_int32(env, v[0], &up);
        char *text = text_of(env, v[1], &len);
        zygote_notify(up ? CONFINE_NOTE_UP : CONFINE_NOTE_DOWN, text ? text : "");
        free(text);
    }
    return number(env, 0);
}

/* limit(memory_mb, cpu_s) */
static napi_value limit(napi_env env, napi_callback_info info) {
    napi_value v[2];
    int32_t memory_mb = 0, cpu_s = 0;
    if (arguments(env, info, v, 2) == 2) {
        napi_get_value_int32(env, v[0], &memory_mb);
        napi_get_value_int32(env, v[1], &cpu_s);
    }
    return number(env, confine_limit((uint32_t)memory_mb, (uint32_t)cpu_s) == 0);
}

/* send(kind, id, text): kind 0 is discarded; it is for warming up */
static napi_value send_frame(napi_env env, napi_callback_info info) {
    napi_value v[3];
    int32_t kind = 0, id = 0;
    size_t len = 0;
    if (arguments(env, info, v, 3) != 3)
        return number(env, 0);
    napi_get_value_int32(env, v[0], &kind);
    napi_get_value_int32(env, v[1], &id);
    char *text = text_of(env, v[2], &len);
    const bool fits = text && len <= FRAME_GUEST_MAX;
    if (fits && kind)
        zygote_send((enum frame_kind)kind, (uint32_t)id, text, len);
    free(text);
    return number(env, fits);
}

/* print(fd, text): true as long as the other end is open */
static napi_value print(napi_env env, napi_callback_info info) {
    napi_value v[2];
    int32_t fd = 0;
    size_t len = 0, done = 0;
    if (arguments(env, info, v, 2) != 2)
        return number(env, 0);
    napi_get_value_int32(env, v[0], &fd);
    char *text = text_of(env, v[1], &len);
    for (ssize_t n = 0; text && done < len && (n >= 0 || errno == EINTR); done += n > 0 ? (size_t)n : 0)
        n = write(fd, text + done, len - done);
    if (!text)
        napi_throw_error(env, NULL, "out of memory");
    free(text);
    return number(env, done == len);
}

static char *receive_frame(struct frame_head *ret_head) {
    zygote_receive_head(ret_head);
    char *body = malloc(ret_head->length + 1);
    if (!body)
        _exit(0);
    zygote_receive(body, ret_head->length);
    return body;
}

/* Reads a frame and passes it to `handler`(kind, id, text). False if the function threw. */
static bool take_frame(napi_env env, napi_value self, napi_value handler) {
    struct frame_head head;
    char *body = receive_frame(&head);
    napi_value args[3] = {number(env, (int32_t)head.kind), number(env, (int32_t)head.id), NULL}, result;
    napi_create_string_utf8(env, body, head.length, &args[2]);
    free(body);
    return napi_call_function(env, self, handler, 3, args, &result) == 0;
}

/* receive(): waits for the text of the next order. Drops responses to requests that have ended. */
static napi_value receive(napi_env env, napi_callback_info info) {
    (void)info;
    struct frame_head head;
    napi_value text = NULL;
    for (;;) {
        char *body = receive_frame(&head);
        if (head.kind == FRAME_RUN)
            napi_create_string_utf8(env, body, head.length, &text);
        free(body);
        if (text)
            return text;
    }
}

/* wait(ms): 1 if code arrives within that time */
static napi_value wait_for_code(napi_env env, napi_callback_info info) {
    napi_value v[1];
    int32_t ms = 0;
    if (arguments(env, info, v, 1) == 1)
        napi_get_value_int32(env, v[0], &ms);
    return number(env, zygote_wait_for_code(ms));
}

/* Results of state(), besides the number of unanswered calls. */
enum { RUN_OVER = -1, RUN_DRAINS = -2 };
#define DRAIN_CHECK_MS 50 /* interval of deadline checks while unfinished work is awaited */

/* Runs ticks and microtasks, then state(). Callbacks of the loop are nested in the call of loop(), so Node
 * does not do this for them: it must happen before anything waits. */
static bool drain(napi_env env, napi_value self, const napi_value v[3], int32_t *ret_open) {
    napi_value result;
    if (napi_call_function(env, self, v[0], 0, NULL, &result) != 0 ||
        napi_call_function(env, self, v[1], 0, NULL, &result) != 0)
        return false;
    napi_get_value_int32(env, result, ret_open);
    return true;
}

/* The loop that runs, for a callback between its phases. */
static struct {
    struct uv_check *check;
    napi_env env;
    napi_value self, tick;
} running;

/* After files and sockets, before immediates: what their callbacks have queued. An exception stays pending
 * until drain() finds it. Handles that are started later are called first, so this precedes Node's own. */
static void between_phases(struct uv_check *check) {
    (void)check;
    napi_handle_scope scope;
    napi_value result;
    if (!running.tick || napi_open_handle_scope(running.env, &scope) != 0)
        return;
    napi_call_function(running.env, running.self, running.tick, 0, NULL, &result);
    napi_close_handle_scope(running.env, scope);
}

static void run_phases(napi_env env, struct uv_loop *loop, napi_value self, napi_value tick) {
    if (!running.check && (running.check = calloc(1, uv_handle_size(UV_CHECK)))) {
        uv_check_init(loop, running.check);
        uv_check_start(running.check, between_phases);
        uv_unref(running.check);
    }
    running.env = env, running.self = self, running.tick = tick;
    uv_run(loop, RUN_NOWAIT);
    running.tick = NULL;
}

/* One iteration of the loop. 0: continue, 1: finished, 2: nothing is left that could finish it, -1: an
 * exception. */
static int turn(napi_env env, struct uv_loop *loop, napi_value self, const napi_value v[3]) {
    int32_t open = 0;
    if (!drain(env, self, v, &open))
        return -1;
    if (uv_loop_alive(loop) && open != RUN_OVER) {
        run_phases(env, loop, self, v[0]);
        if (!drain(env, self, v, &open))
            return -1;
    }
    const bool alive = uv_loop_alive(loop);
    if (open == RUN_OVER || (open == RUN_DRAINS && !alive))
        return 1;
    if (!alive && open == 0)
        return 2;
    if (!alive) /* only a response can arrive */
        return take_frame(env, self, v[2]) ? 0 : -1;
    struct pollfd fds[2] = {{.fd = uv_backend_fd(loop), .events = POLLIN},
                            {.fd = CONFINE_FD_BRIDGE, .events = POLLIN}};
    int wait = uv_backend_timeout(loop);
    if (open == RUN_DRAINS && (wait < 0 || wait > DRAIN_CHECK_MS))
        wait = DRAIN_CHECK_MS;
    const bool frame = zygote_has_bytes() || (poll(fds, 2, wait) > 0 && fds[1].revents);
    if (frame && !take_frame(env, self, v[2]))
        return -1;
    return 0;
}

/* loop(tick, state, handler): runs until state() ends it */
static napi_value run_loop(napi_env env, napi_callback_info info) {
    napi_value v[3], self;
    struct uv_loop *loop = NULL;
    napi_get_undefined(env, &self);
    if (arguments(env, info, v, 3) != 3 || napi_get_uv_event_loop(env, &loop) != 0)
        return number(env, 2);
    for (int state = 0;;) {
        napi_handle_scope scope;
        napi_open_handle_scope(env, &scope);
        state = turn(env, loop, self, v);
        napi_close_handle_scope(env, scope);
        if (state < 0)
            return NULL;
        if (state > 0)
            return number(env, state);
    }
}

/* map(path): the file's bytes, loaded on access. Writes go to a private copy. */
static napi_value map_file(napi_env env, napi_callback_info info) {
    napi_value v[1], bytes = NULL;
    size_t len = 0;
    struct stat st;
    char *path = arguments(env, info, v, 1) == 1 ? text_of(env, v[0], &len) : NULL;
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED ||
        napi_create_external_arraybuffer(env, at, (size_t)st.st_size, NULL, NULL, &bytes) != 0)
        napi_throw_error(env, NULL, path ? path : "no path");
    free(path);
    return bytes;
}

/* shut(): the rest of the lock-down, in a started Bun */
static napi_value shut(napi_env env, napi_callback_info info) {
    (void)info;
    confine_last(&setup);
    return number(env, 0);
}

/* data(): megabytes of private memory that no limit counts; in Bun's trial run */
static napi_value data(napi_env env, napi_callback_info info) {
    (void)info;
    const uint32_t mb = confine_data_mb();
    return number(env, mb > INT32_MAX ? INT32_MAX : (int32_t)mb);
}

/* exit(status) */
static napi_value leave(napi_env env, napi_callback_info info) {
    napi_value v[1];
    int32_t status = 0;
    if (arguments(env, info, v, 1) == 1)
        napi_get_value_int32(env, v[0], &status);
    _exit(status);
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
    static const struct {
        const char *name;
        napi_callback call;
    } functions[] = {
        {"selftest", selftest}, {"serve", serve},        {"tell", tell},     {"limit", limit},
        {"send", send_frame},   {"receive", receive},    {"loop", run_loop}, {"exit", leave},
        {"shut", shut},         {"wait", wait_for_code}, {"print", print},   {"map", map_file},
        {"data", data},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        napi_value f = NULL;
        napi_create_function(env, functions[i].name, NAPI_AUTO, functions[i].call, NULL, &f);
        napi_set_named_property(env, exports, functions[i].name, f);
    }
    return exports;
}
