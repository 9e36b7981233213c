/* Runs in a fork of the helper, with the privileges of the user who started the gate. It gives them up when
 * the tree is built; the interpreter has none. The environment has only a few fixed variables.
 *
 *   root:  own mounts, net, ipc, uts ─▶ tree ─▶ a uid that owns nothing ─▶ no capabilities ─▶ exec
 *   user:  own user namespace and those ─▶ tree ─▶ no capabilities ─▶ exec
 *   tier 2 and 3: (root: that uid) ─▶ no capabilities ─▶ exec */
#include "sandbox/launch.h"

#include "base/mem.h"
#include "base/packet.h"
#include "base/slice.h"
#include "sandbox/exec.h"
#include "sandbox/root.h"
#include "sandbox/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PROBE_MS 10000
#define PROBE_BOUNDED 7 /* exit status: the number of processes can be limited */
#define SHOWN_MAX 8
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* How each interpreter is started. */
static const struct launch_kind {
    const char *program; /* searched in PATH */
    const char *inside;  /* its prefix or its binary, if not below /usr */
    bool whole_prefix;   /* the library is beside the binary */
    const char *module;
    const char *script;
    const char *argv[8];  /* between the binary and the script */
    const char *extra[5]; /* optional files beside the script that it uses */
} kinds[LAUNCH_ENGINES] = {
    [LAUNCH_PYTHON] = {"python3",
                       LAUNCH_PYTHON_DIR,
                       true,
                       "sallyport-python.so",
                       "sallyport-python.py",
                       {"-I", "-S", "-B"},
                       {LAUNCH_PROGRAMS}},
    [LAUNCH_PYTHON_DATA] = {"python3",
                            LAUNCH_PYTHON_DIR,
                            true,
                            "sallyport-python.so",
                            "sallyport-python.py",
                            {"-I", "-S", "-B"},
                            {LAUNCH_PROGRAMS}},
    [LAUNCH_NODE] = {"node",
                     "/opt/node",
                     false,
                     "sallyport-node.so",
                     "sallyport-node.js",
                     {"--single-threaded", "--no-wasm-async-compilation", "--v8-pool-size=0",
                      "--wasm-lazy-validation", "--no-wasm-dynamic-tiering", "--expose-internals",
                      "--no-warnings"},
                     {"sallyport-amaro.js", "sallyport-swc.js", "sallyport-swc.wasm", LAUNCH_PROGRAMS}},
    [LAUNCH_BUN] = {"bun", "/opt/bun", false, "sallyport-node.so", "sallyport-bun.js", {"--no-install"}},
};

static const char *const environment[] = {
    "LANG=C.UTF-8",
    "HOME=/workspace",
    "PATH=/usr/bin:/bin",
    "MALLOC_ARENA_MAX=1",
    "UV_THREADPOOL_SIZE=2",
    "OPENBLAS_NUM_THREADS=1",
    "OMP_NUM_THREADS=1",
    "MPLBACKEND=Agg",
    "MPLCONFIGDIR=/tmp",
    "UV_USE_IO_URING=0",
    "TZ=UTC",
    NULL, /* further ones: see environment_for() */
};
/* By default Bun maps gigabytes of writable memory at start, and a limit on private memory counts only later
 * mappings. With these settings it maps little, and makes the rest writable in small steps. */
static const char *const bun_environment[] = {
    "MIMALLOC_ARENA_EAGER_COMMIT=0",
    "BUN_JSC_jitMemoryReservationSize=33554432",
    "BUN_JSC_structureHeapSizeInKB=65536",
    NULL,
};
#define ENVIRONMENT_MAX (ARRAY_LEN(environment) + ARRAY_LEN(bun_environment) + 3)

/* ---- search ---- */

static bool is_program(const char *path) {
    char magic[4] = "";
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && access(path, X_OK) == 0 && read(fd, magic, 4) == 4 && memcmp(magic, "\177ELF", 4) == 0;
}

/* The first real program of that name. Version managers put scripts of the same name earlier in PATH. */
static bool find_in_path(const char *path, const char *name, char ret_real[FRAME_PATH_MAX]) {
    struct slice rest = slice_str(path), dir;
    for (bool more = rest.len > 0; more;) {
        more = slice_cut(&rest, ':', &dir);
        char at[PATH_MAX], real[PATH_MAX];
        snprintf(at, sizeof(at), "%.*s/%s", SLICE_FMT(dir), name);
        if (dir.len && realpath(at, real) && strlen(real) < FRAME_PATH_MAX && is_program(real)) {
            snprintf(ret_real, FRAME_PATH_MAX, "%s", real);
            return true;
        }
    }
    return false;
}

/* The directory `up` levels above. */
static void parent_of(char *path, int up) {
    for (; up > 0 && strrchr(path, '/'); up--)
        *strrchr(path, '/') = '\0';
}

static bool first_match(const char *pattern, char ret_path[FRAME_PATH_MAX]) {
    glob_t found = {0};
    const bool any = glob(pattern, 0, NULL, &found) == 0 && strlen(found.gl_pathv[0]) < FRAME_PATH_MAX;
    if (any)
        snprintf(ret_path, FRAME_PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    return any;
}

/* `home = DIR` in the configuration of a virtual environment: the directory of its base interpreter. */
static bool read_venv_home(const char *path, char ret_home[FRAME_PATH_MAX]) {
    char text[4096] = "", key[] = "home";
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    struct slice rest = slice_of(text, n > 0 ? (size_t)n : 0), line, name;
    for (bool more = rest.len > 0; more;) {
        more = slice_cut(&rest, '\n', &line);
        slice_cut(&line, '=', &name);
        if (slice_is(slice_trim(name), key)) {
            snprintf(ret_home, FRAME_PATH_MAX, "%.*s", SLICE_FMT(slice_trim(line)));
            return true;
        }
    }
    return false;
}

/* A virtual environment: its packages are mounted, and its base interpreter is used. */
static void find_venv(const char *given, struct launch_runtime *r) {
    char dir[PATH_MAX], path[PATH_MAX + 64], home[FRAME_PATH_MAX], real[PATH_MAX];
    if (strlen(given) >= FRAME_PATH_MAX || !realpath(given, real))
        return;
    snprintf(dir, sizeof(dir), "%s", given);
    parent_of(dir, 2);
    snprintf(path, sizeof(path), "%s/pyvenv.cfg", dir);
    if (!read_venv_home(path, home))
        return;
    char *venv = realpath(dir, NULL); /* symbolic links above it point elsewhere after the root has changed */
    snprintf(path, sizeof(path), "%s/lib/python3.*/site-packages", venv ? venv : dir);
    if (!first_match(path, r->venv)) {
        free(venv);
        return;
    }
    if (venv && strncmp(real, venv, strlen(venv)) == 0) { /* the binary is a copy */
        snprintf(path, sizeof(path), "%s/%s", home, strrchr(given, '/') + 1);
        if (realpath(path, real) && strlen(real) < FRAME_PATH_MAX && is_program(real))
            snprintf(r->binary, FRAME_PATH_MAX, "%s", real);
    }
    free(venv);
}

/* NULL, or a directory of the user that mounting everything below `prefix` would expose. */
static const char *exposes(const char *prefix) {
    static char state[FRAME_PATH_MAX];
    const char *home = getenv("HOME"), *own = getenv("SALLYPORT_HOME"), *xdg = getenv("XDG_STATE_HOME");
    if (own)
        snprintf(state, sizeof(state), "%s", own);
    else
        snprintf(state, sizeof(state), "%s%s/sallyport",
                 xdg    ? xdg
                 : home ? home
                        : "",
                 xdg ? "" : "/.local/state");
    const char *const places[] = {"/home", "/root", home, state};
    const size_t len = strlen(prefix);
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (places[i] && *places[i] && strncmp(places[i], prefix, len) == 0 &&
            (places[i][len] == '/' || !places[i][len]))
            return places[i];
    return NULL;
}

/* An interpreter outside of /usr is mounted alone, or together with the library beside it. */
static void find_library(struct launch_runtime *r) {
    char pattern[PATH_MAX], found[FRAME_PATH_MAX];
    parent_of(r->prefix, 2);
    snprintf(pattern, sizeof(pattern), "%s/lib/python3.*/os.py", r->prefix);
    r->library = first_match(pattern, found);
    const char *inside = r->library ? exposes(r->prefix) : NULL;
    if (!inside)
        return;
    snprintf(r->why, sizeof(r->why), "%.100s is not used: its prefix %.60s/ contains %.60s", r->binary,
             r->prefix, inside);
    *r->binary = '\0';
}

/* Our modules are built for glibc. A program linked with musl names musl's loader in its first page. */
static void refuse_musl(struct launch_runtime *r) {
    char page[4096];
    cleanup_fd int fd = open(r->binary, O_RDONLY | O_CLOEXEC);
    const ssize_t len = fd < 0 ? 0 : read(fd, page, sizeof(page));
    if (len < 4 || memcmp(page, "\177ELF", 4) != 0 || !memmem(page, (size_t)len, "/ld-musl-", 9))
        return;
    snprintf(r->why, sizeof(r->why), "%.150s is linked with musl, and code needs an interpreter for glibc",
             r->binary);
    *r->binary = '\0';
}

void launch_find(const struct launch_config *config, enum launch_engine engine, const char *given,
                 struct launch_runtime *ret_runtime) {
    const struct launch_kind *kind = &kinds[engine];
    memset(ret_runtime, 0, sizeof(*ret_runtime));
    ret_runtime->engine = engine;
    char *binary = ret_runtime->binary;
    if (given && *given) {
        char real[PATH_MAX];
        if (realpath(given, real) && strlen(real) < FRAME_PATH_MAX && is_program(real))
            snprintf(binary, FRAME_PATH_MAX, "%s", real);
        else
            snprintf(ret_runtime->why, sizeof(ret_runtime->why), "%.200s is not a program", given);
    } else if (!find_in_path(config->path, kind->program, binary)) {
        snprintf(ret_runtime->why, sizeof(ret_runtime->why), "no %s in the path", kind->program);
    }
    if (*binary && kind->whole_prefix && given && *given)
        find_venv(given, ret_runtime);
    if (*binary)
        refuse_musl(ret_runtime);
    if (!*binary || strncmp(binary, "/usr/", 5) == 0)
        return;
    snprintf(ret_runtime->prefix, FRAME_PATH_MAX, "%s", binary);
    if (kind->whole_prefix)
        find_library(ret_runtime);
}

/* ---- giving up privileges ---- */

/* Below /proc, which may no longer be mounted. */
static int write_file(const char *path, const char *text, struct err *err) {
    cleanup_fd int fd = openat(CONFINE_FD_PROC, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return err_set(err, "write /proc/%s: %s", path, strerror(errno));
    return 0;
}

/* The caller becomes CONFINE_GUEST_ID there: an unprivileged process could not pass id 0 on to a sandbox. */
static int own_user_namespace(uint64_t others, struct err *err) {
    char line[64];
    const unsigned uid = geteuid(), gid = getegid();
    if (unshare((int)(CLONE_NEWUSER | others)) != 0)
        return err_set(err, "make a user namespace: %s", strerror(errno));
    if (write_file("self/setgroups", "deny", err) != 0)
        return -1;
    snprintf(line, sizeof(line), "%d %u 1", CONFINE_GUEST_ID, uid);
    if (write_file("self/uid_map", line, err) != 0)
        return -1;
    snprintf(line, sizeof(line), "%d %u 1", CONFINE_GUEST_ID, gid);
    return write_file("self/gid_map", line, err);
}

/* As root: takes a uid that owns nothing here. A user namespace with few ids may have only its root, which is
 * an ordinary user (or root) outside: then a further user namespace is created, where this id has no
 * privileges. */
static int drop_ids(struct err *err) {
    static const uid_t ids[] = {LAUNCH_ROOT_ID, 65533};
    if (geteuid() != 0)
        return 0;
    if (setgroups(0, NULL) != 0 && errno != EPERM)
        return err_set(err, "drop groups: %s", strerror(errno));
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        if (setresgid(ids[i], ids[i], ids[i]) != 0 && errno == EINVAL)
            continue;
        if (setresuid(ids[i], ids[i], ids[i]) == 0)
            return 0;
        if (errno != EINVAL)
            return err_set(err, "drop to uid %u: %s", ids[i], strerror(errno));
    }
    return own_user_namespace(0, err);
}

bool launch_reaches(const struct launch_config *config, const char *path) {
    if (config->setup.tier == 1 || geteuid() != 0)
        return true;
    struct err err;
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) { /* with the same privileges as a zygote at this point */
        const int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        _exit(dup2(proc, CONFINE_FD_PROC) >= 0 && drop_ids(&err) == 0 && access(path, R_OK) == 0 ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int drop_caps(struct err *err) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    if (geteuid() == 0) /* the next exec would restore all privileges */
        return err_set(err, "give up root: no other id can be taken here");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capset, &head, none) != 0)
        return err_set(err, "give up capabilities: %s", strerror(errno));
    return 0;
}

/* Limits of a user namespace are added up at its creator, the zygote: as root that sum must not be a budget
 * that all sandboxes share. Each sandbox has its own lower limits. */
static void raise_limits(void) {
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    if (geteuid() != 0)
        return;
    setrlimit(RLIMIT_NPROC, &none); /* without the privilege the limits stay */
    setrlimit(RLIMIT_SIGPENDING, &none);
}

static int enter(const struct launch_config *config, uint32_t tier, const struct launch_runtime *runtime,
                 struct err *err) {
    const uint64_t others = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    const struct sched_param usual = {0};
    /* Guests do not inherit a scheduling priority of the gate. A system call, because musl has no such
     * function. */
    if (syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &usual) != 0)
        return err_set(err, "take the usual priority: %s", strerror(errno));
    if (tier > 1)
        return drop_ids(err) != 0 || drop_caps(err) != 0 ? -1 : 0;
    if (geteuid() != 0) {
        if (own_user_namespace(others, err) != 0)
            return -1;
    } else if (unshare((int)others) != 0) {
        return err_set(err, "make mount and network namespaces: %s", strerror(errno));
    }
    struct root_item shown[SHOWN_MAX] = {{0}}, copied[SHOWN_MAX] = {{0}};
    char module[PATH_MAX], script[PATH_MAX], module_in[PATH_MAX], script_in[PATH_MAX];
    char extra[ARRAY_LEN(kinds[0].extra)][2][PATH_MAX], binary_in[PATH_MAX], library[PATH_MAX];
    if (runtime) {
        const struct launch_kind *kind = &kinds[runtime->engine];
        size_t n = 0;
        if (*runtime->prefix) {
            snprintf(binary_in, sizeof(binary_in), "%s%s", kind->inside,
                     runtime->binary + strlen(runtime->prefix));
            shown[n++] = (struct root_item){runtime->binary, binary_in};
        }
        snprintf(library, sizeof(library), "%s/lib", runtime->prefix);
        if (runtime->library)
            shown[n++] = (struct root_item){library, LAUNCH_PYTHON_DIR "/lib"};
        if (*runtime->venv)
            shown[n++] = (struct root_item){runtime->venv, LAUNCH_VENV};
        if (*config->packages)
            shown[n++] = (struct root_item){config->packages, FRAME_PACKAGES};
        for (size_t i = 0; kind->extra[i]; i++) {
            snprintf(extra[i][0], PATH_MAX, "%s/%s", config->helper_dir, kind->extra[i]);
            snprintf(extra[i][1], PATH_MAX, "%s/%s", LAUNCH_MODULES, kind->extra[i]);
            shown[n++] = (struct root_item){extra[i][0], extra[i][1]};
        }
        snprintf(module, sizeof(module), "%s/%s", config->helper_dir, kind->module);
        snprintf(script, sizeof(script), "%s/%s", config->helper_dir, kind->script);
        snprintf(module_in, sizeof(module_in), "%s/%s", LAUNCH_MODULES, kind->module);
        snprintf(script_in, sizeof(script_in), "%s/%s", LAUNCH_MODULES, kind->script);
        copied[0] = (struct root_item){module, module_in};
        copied[1] = (struct root_item){script, script_in};
        if (config->bundle_fd >= 0)
            copied[2] = (struct root_item){"/proc/self/fd/" TEXT(CONFINE_FD_BUNDLE), FRAME_BUNDLE};
    }
    /* matplotlib writes a cache of fonts */
    raise_limits();
    if (root_enter(shown, copied, runtime && runtime->engine == LAUNCH_PYTHON_DATA, err) != 0)
        return -1;
    if (sethostname("sandbox", 7) != 0)
        return err_set(err, "name the host: %s", strerror(errno));
    close(CONFINE_FD_BUNDLE);
    return drop_ids(err) != 0 || drop_caps(err) != 0 ? -1 : 0;
}

/* ---- initial descriptors of a zygote ---- */

static int place(const int from[], const int to[], size_t n) {
    int high[CONFINE_FD_FREE];
    for (size_t i = 0; i < n; i++)
        if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 64)) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (dup2(high[i], to[i]) < 0)
            return -1;
    return (int)syscall(SYS_close_range, CONFINE_FD_FREE, ~0U, 0);
}

/* bridge: only the probe has one at this point. */
static int place_descriptors(const struct launch_config *config, int sock, int setup, int bridge,
                             struct err *err) {
    cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    cleanup_fd int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int scratch =
        *config->scratch_dir ? open(config->scratch_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : dup(null);
    const int prelude = config->prelude_fd >= 0 ? config->prelude_fd : null;
    const int bundle = config->bundle_fd >= 0 ? config->bundle_fd : null;
    const int from[] = {null, bridge >= 0 ? bridge : null, sock, setup, prelude, null, proc, scratch, bundle};
    const int to[] = {STDIN_FILENO,     CONFINE_FD_BRIDGE,  CONFINE_FD_REPORT,
                      CONFINE_FD_SETUP, CONFINE_FD_PRELUDE, CONFINE_FD_NULL,
                      CONFINE_FD_PROC,  CONFINE_FD_SCRATCH, CONFINE_FD_BUNDLE};
    if (proc < 0)
        return err_set(err, "open /proc: %s", strerror(errno));
    if (null < 0 || place(from, to, ARRAY_LEN(from)) != 0)
        return err_set(err, "place descriptors: %s", strerror(errno));
    null = proc = scratch = -1; /* closed with the rest */
    return 0;
}

static int write_setup(struct confine_setup *setup, int fd, struct err *err) {
    setup->uid = geteuid();
    setup->gid = getegid();
    if (pwrite(fd, setup, sizeof(*setup), 0) != (ssize_t)sizeof(*setup))
        return err_set(err, "write the setup: %s", strerror(errno));
    return 0;
}

/* ---- the probe ---- */

/* Runs in the sandbox of the probe and checks that it is confined. The kernel answers denied calls itself,
 * because there is no listener. */
static _Noreturn void probe_guest(const struct confine_setup *setup, const struct frame_order *order,
                                  const int stdio[3]) {
    confine_down(setup, order, stdio);
    const bool open_file = open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0;
    const bool open_net = socket(AF_INET, SOCK_STREAM, 0) >= 0;
    const pid_t parent = getppid();
    const bool signalled = kill(parent > 0 ? parent : 1, 0) == 0;
    const char verdict = open_file ? 'f' : open_net ? 'n' : signalled ? 's' : 'k';
    _exit(write(CONFINE_FD_BRIDGE, &verdict, 1) == 1 ? 0 : 1);
}

/* Does the limit on processes apply to this uid? The kernel exempts the host's root, whatever its id is in
 * this namespace. */
static bool processes_bounded(void) {
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit one = {1, 1};
        pid_t more = setrlimit(RLIMIT_NPROC, &one) == 0 ? fork() : 0;
        if (more > 0)
            waitpid(more, NULL, 0);
        _exit(more < 0);
    }
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static _Noreturn void probe_zygote(const struct launch_config *config, uint32_t tier, int sock, int bridge) {
    struct err err = {""};
    struct confine_setup *setup = mem_alloc(sizeof(*setup));
    *setup = config->setup;
    setup->tier = tier;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0,
          0); /* otherwise /proc/self belongs to root, and the id maps cannot be written */
    if (place_descriptors(config, sock, sock, bridge, &err) != 0 || enter(config, tier, NULL, &err) != 0) {
        zygote_notify(CONFINE_NOTE_DOWN, err.text);
        _exit(CONFINE_FAILED);
    }
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the change of uid cleared it, and no exec follows here */
    setup->uid = geteuid();
    setup->gid = getegid();
    const struct frame_order order = {.kind = FRAME_START,
                                      .token = 1,
                                      .profile = tier == 3 ? FRAME_PURE : FRAME_FILES,
                                      .memory_mb = 512,
                                      .workspace_mb = 1,
                                      .inodes = 64,
                                      .processes = 16};
    const int stdio[3] = {dup(CONFINE_FD_BRIDGE), dup(CONFINE_FD_NULL), dup(CONFINE_FD_NULL)};
    const bool bounded = processes_bounded();
    if (zygote_clone(setup, &order, stdio) == 0)
        probe_guest(setup, &order, stdio);
    _exit(bounded ? PROBE_BOUNDED : 0);
}

/* Reads notes until the guest has reported or something ended. Returns the guest's result, or 0 with err set.
 */
static char probe_watch(int sock, int bridge, pid_t *ret_guest, struct err *err) {
    struct pollfd fds[2] = {{.fd = sock, .events = POLLIN}, {.fd = bridge, .events = POLLIN}};
    while (poll(fds, 2, PROBE_MS) > 0) { /* ends: both notes and bridge reach end of file */
        char verdict = 0;
        if (fds[1].revents && read(bridge, &verdict, 1) == 1)
            return verdict;
        if (fds[1].revents && !fds[0].revents)
            break; /* the last note says why */
        struct confine_note note;
        int got[3];
        if (packet_receive(sock, &note, sizeof(note), got) != (ssize_t)sizeof(note)) {
            fds[0].fd = -1; /* no more notes; the guest's result is still expected */
            continue;
        }
        for (int i = 0; i < 3; i++)
            if (got[i] >= 0)
                close(got[i]);
        if (note.kind == CONFINE_NOTE_CLONED && note.pid > 0)
            *ret_guest = note.pid;
        else if (note.kind == CONFINE_NOTE_CLONED)
            return err_set(err, "make a sandbox's namespaces: %s", strerror(note.error)), 0;
        else if (note.kind == CONFINE_NOTE_DOWN)
            return err_set(err, "%s", note.text), 0;
        else if (note.kind == CONFINE_NOTE_FAILED)
            return err_set(err, "%s: %s", confine_step_name(note.step), strerror(note.error)), 0;
    }
    return err_set(err, "the sandbox of the probe ended without a report"), 0;
}

int launch_probe(const struct launch_config *config, uint32_t tier, bool *ret_bounded, struct err *err) {
    int notes[2], bridge[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, notes) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, bridge) != 0)
        return err_set(err, "probe: %s", strerror(errno));
    pid_t pid = fork(), guest = 0;
    if (pid == 0)
        probe_zygote(config, tier, notes[1], bridge[1]);
    close(notes[1]);
    close(bridge[1]);
    char verdict = 0;
    if (pid < 0)
        err_set(err, "probe: %s", strerror(errno));
    else
        verdict = probe_watch(notes[0], bridge[0], &guest, err);
    close(notes[0]);
    close(bridge[0]);
    int status = 0;
    if (guest > 0) {
        kill(guest, SIGKILL);
        waitpid(guest, NULL, 0);
    }
    if (pid > 0 && verdict == 0)
        kill(pid, SIGKILL); /* otherwise it ends by itself, and its exit status is the result */
    if (pid > 0)
        waitpid(pid, &status, 0);
    *ret_bounded = WIFEXITED(status) && WEXITSTATUS(status) == PROBE_BOUNDED;
    if (verdict == 'f')
        return err_set(err, "a file of the host could be opened");
    if (verdict == 'n')
        return err_set(err, "a network socket could be opened");
    if (verdict == 's')
        return err_set(err, "a process outside could be sent a signal");
    return verdict == 'k' ? 0 : -1;
}

/* ---- start of a zygote ---- */

static void inside_paths(const struct launch_config *config, const struct launch_runtime *r, char binary[],
                         char dir[]) {
    const struct launch_kind *kind = &kinds[r->engine];
    const bool moved = config->setup.tier == 1;
    snprintf(dir, FRAME_PATH_MAX, "%s", moved ? LAUNCH_MODULES : config->helper_dir);
    if (moved && *r->prefix)
        snprintf(binary, PATH_MAX, "%s%s", kind->inside, r->binary + strlen(r->prefix));
    else
        snprintf(binary, PATH_MAX, "%s", r->binary);
}

/* A moved interpreter does not find its library at the path it was linked with. `preload` is "" or what
 * libraries of the interpreter need for their locks. */
static void environment_for(const struct launch_config *config, const struct launch_runtime *r,
                            const char *preload, char libraries[], const char *ret_envp[ENVIRONMENT_MAX]) {
    size_t n = 0;
    if (*preload && r->engine != LAUNCH_BUN)
        ret_envp[n++] = preload;
    for (size_t i = 0; environment[i]; i++)
        ret_envp[n++] = environment[i];
    if (config->setup.tier == 1 && r->library) {
        snprintf(libraries, PATH_MAX, "LD_LIBRARY_PATH=%s/lib", kinds[r->engine].inside);
        ret_envp[n++] = libraries;
    }
    for (size_t i = 0; r->engine == LAUNCH_BUN && bun_environment[i]; i++)
        ret_envp[n++] = bun_environment[i];
    if (config->bundle_fd >= 0)
        ret_envp[n++] = "NODE_EXTRA_CA_CERTS=" FRAME_BUNDLE; /* Node reads it only at start */
    ret_envp[n] = NULL;
}

static _Noreturn void zygote_exec(const struct launch_config *config, const struct launch_runtime *r,
                                  int sock) {
    struct err err = {""};
    const struct launch_kind *kind = &kinds[r->engine];
    char binary[PATH_MAX], dir[FRAME_PATH_MAX], module[PATH_MAX], script[PATH_MAX];
    struct confine_setup *setup = mem_alloc(sizeof(*setup));
    *setup = config->setup;
    setup->data_limit = r->engine >= LAUNCH_NODE;
    setup->hold = r->engine == LAUNCH_NODE;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the helper is not dumpable, and the id maps must be written */
    int memory = memfd_create("setup", MFD_CLOEXEC);
    if (memory < 0 || place_descriptors(config, sock, memory, -1, &err) != 0 ||
        enter(config, setup->tier, r, &err) != 0 || write_setup(setup, CONFINE_FD_SETUP, &err) != 0)
        goto fail;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* the change of uid cleared it */
    inside_paths(config, r, binary, dir);
    snprintf(module, sizeof(module), "%s/%s", dir, kind->module);
    snprintf(script, sizeof(script), "%s/%s", dir, kind->script);
    const char *argv[16] = {binary};
    size_t n = 1;
    for (size_t i = 0; i < ARRAY_LEN(kind->argv) && kind->argv[i]; i++)
        argv[n++] = kind->argv[i];
    argv[n++] = script;
    argv[n++] = module;
    argv[n++] = r->engine == LAUNCH_PYTHON_DATA ? "data" : "plain";
    char venv[FRAME_PATH_MAX + 8];
    snprintf(venv, sizeof(venv), "venv=%s", setup->tier == 1 ? LAUNCH_VENV : r->venv);
    if (*r->venv)
        argv[n++] = venv;
    char libraries[PATH_MAX], preload[PATH_MAX];
    const char *envp[ENVIRONMENT_MAX];
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/%s", dir, LAUNCH_PROGRAMS);
    if (access(preload + strlen("LD_PRELOAD="), R_OK) != 0)
        *preload = '\0';
    environment_for(config, r, preload, libraries, envp);
    if (r->engine == LAUNCH_BUN)
        exec_serve(setup, &(struct exec_plan){binary, module, script, kind->argv, envp});
    execve(binary, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
    err_set(&err, "execute %s: %s", r->binary, strerror(errno));
fail:
    zygote_notify(CONFINE_NOTE_DOWN, err.text);
    _exit(CONFINE_FAILED);
}

int launch_zygote(const struct launch_config *config, const struct launch_runtime *runtime, pid_t *ret_pid,
                  int *ret_sock, struct err *err) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set(err, "start an interpreter: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        zygote_exec(config, runtime, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_set(err, "start an interpreter: %s", strerror(errno));
    }
    *ret_pid = pid;
    *ret_sock = ends[0];
    return 0;
}
