#include "sandbox/cgroup.h"

#include "base/mem.h"
#include "base/slice.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>

#define MOUNTED "/sys/fs/cgroup"
#define MAGIC_V2 0x63677270
#define GROUP "sallyport-"
#define LEAF "gate"            /* the gate's own group: in version 2 a group has either processes or groups */
#define ALL_PROCESSES 8192     /* of all sandboxes together */
#define ALL_MEMORY_PERCENT 80  /* of the machine's */
#define CPU_PERIOD_US "100000" /* a sandbox with many processes gets the time of one processor */
#define BOX_SLACK_MB 64        /* for page tables */
#define TEXT_MAX 8192
#define MOVES_MAX 16

enum place { MEMORY, PIDS, CPU };

static const struct {
    const char *memory, *swap, *cpu, *cpu_value, *events;
} files[] = {
    [1] = {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "cpu.cfs_quota_us", CPU_PERIOD_US,
           "memory.oom_control"},
    [2] = {"memory.max", "memory.swap.max", "cpu.max", CPU_PERIOD_US " " CPU_PERIOD_US, "memory.events"},
};
static const char *const controllers[CGROUP_PLACES] = {"memory", "pids", "cpu"};

/* ---- files ---- */

static bool put(const char *dir, const char *name, const char *text) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool put_number(const char *dir, const char *name, uint64_t value) {
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return put(dir, name, text);
}

/* Reads a small file; empty if it cannot be read. */
static struct slice get(const char *dir, const char *name, char text[TEXT_MAX]) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
    return slice_of(text, n > 0 ? (size_t)n : 0);
}

static bool has_word(struct slice text, const char *word) {
    for (struct slice rest = slice_trim(text), one; rest.len;) {
        slice_cut(&rest, ' ', &one);
        if (slice_is(slice_trim(one), word))
            return true;
    }
    return false;
}

static bool make(const char *dir) { return mkdir(dir, 0755) == 0 || errno == EEXIST; }

/* Counts each directory once: in version 2 the three are the same. */
static size_t place_count(const struct cgroup *g) { return g->version == 2 ? 1 : CGROUP_PLACES; }

static const char *beneath(const struct cgroup *g, enum place place, const char *name, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s", g->places[g->version == 2 ? 0 : place], name);
    return path;
}

/* ---- search ---- */

/* The group this process is in, from /proc/self/cgroup: "N:CONTROLLERS:PATH". */
static bool own_path(const char *controller, char path[PATH_MAX]) {
    char text[TEXT_MAX];
    for (struct slice rest = get("/proc/self", "cgroup", text), line, field; rest.len;) {
        slice_cut(&rest, '\n', &line);
        slice_cut(&line, ':', &field);
        slice_cut(&line, ':', &field);
        for (struct slice names = field, one; controller && names.len;) {
            slice_cut(&names, ',', &one);
            if (slice_is(one, controller)) {
                snprintf(path, PATH_MAX, MOUNTED "/%s%.*s", controller, SLICE_FMT(line));
                return true;
            }
        }
        if (!controller && !field.len) {
            snprintf(path, PATH_MAX, MOUNTED "%.*s", SLICE_FMT(line));
            return true;
        }
    }
    return false;
}

static bool delegated(const char *dir) {
    char value[4] = "";
    return (getxattr(dir, "user.delegate", value, 1) == 1 ||
            getxattr(dir, "trusted.delegate", value, 1) == 1) &&
           value[0] == '1';
}

static bool has_controllers(const char *dir, const char *file) {
    char text[TEXT_MAX];
    const struct slice all = get(dir, file, text);
    return has_word(all, "memory") && has_word(all, "pids") && has_word(all, "cpu");
}

/* Moves every process of that group one level down. The group was created for the gate, so it has no others.
 */
static bool move_all(const char *dir, const char *leaf) {
    char text[TEXT_MAX];
    for (struct slice rest = get(dir, "cgroup.procs", text), line; rest.len;) {
        char pid[16];
        slice_cut(&rest, '\n', &line);
        snprintf(pid, sizeof(pid), "%.*s", SLICE_FMT(line));
        if (!put(leaf, "cgroup.procs", pid) && errno != ESRCH)
            return false;
    }
    return true;
}

/* The kernel returns EBUSY while a process is left: one that was forked meanwhile, or did not fit into one
 * read. */
static bool move_down(const char *dir) {
    char leaf[PATH_MAX + 8];
    snprintf(leaf, sizeof(leaf), "%s/" LEAF, dir);
    if (!make(leaf))
        return false;
    for (int i = 0; i < MOVES_MAX; i++)
        if (!move_all(dir, leaf))
            return false;
        else if (put(dir, "cgroup.subtree_control", "+memory +pids +cpu"))
            return true;
        else if (errno != EBUSY)
            return false;
    return false;
}

static bool find_v2(struct cgroup *g) {
    char own[PATH_MAX];
    if (!own_path(NULL, own))
        return false;
    char *slash = strrchr(own, '/');
    if (slash && strcmp(slash, "/" LEAF) == 0) { /* moved by an earlier helper */
        *slash = '\0';
        if (!delegated(own))
            *slash = '/';
    }
    if (!has_controllers(own, "cgroup.controllers")) {
        snprintf(g->why, sizeof(g->why), "%.150s does not have the controllers memory, pids and cpu", own);
        return false;
    }
    if (!has_controllers(own, "cgroup.subtree_control") && !(delegated(own) && move_down(own))) {
        snprintf(g->why, sizeof(g->why), "%.150s is not delegated to us (systemd: Delegate=yes)", own);
        return false;
    }
    g->version = 2;
    for (int i = 0; i < CGROUP_PLACES; i++)
        snprintf(g->places[i], FRAME_PATH_MAX, "%.900s/" GROUP "%d", own, getpid());
    return true;
}

static bool find_v1(struct cgroup *g) {
    for (int i = 0; i < CGROUP_PLACES; i++) {
        char own[PATH_MAX];
        if (!own_path(controllers[i], own)) {
            snprintf(g->why, sizeof(g->why), "there is no controller %s", controllers[i]);
            return false;
        }
        if (access(own, F_OK) != 0) /* a container sees its own group as the root */
            snprintf(own, sizeof(own), MOUNTED "/%s", controllers[i]);
        snprintf(g->places[i], FRAME_PATH_MAX, "%.900s/" GROUP "%d", own, getpid());
    }
    g->version = 1;
    return true;
}

/* ---- create and remove ---- */

static void remove_group(const char *dir) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (e->d_type == DT_DIR && e->d_name[0] != '.')
            rmdir(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

/* Removes the groups of helpers that were killed. */
static void sweep(const char *place) {
    char parent[PATH_MAX];
    snprintf(parent, sizeof(parent), "%s", place);
    *strrchr(parent, '/') = '\0';
    DIR *d = opendir(parent);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX];
        if (strncmp(e->d_name, GROUP, strlen(GROUP)) != 0)
            continue;
        const long pid = strtol(e->d_name + strlen(GROUP), NULL, 10);
        snprintf(path, sizeof(path), "%.3000s/%s", parent, e->d_name);
        if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            remove_group(path);
    }
    if (d)
        closedir(d);
}

/* Creates our group with limits for all sandboxes, and in it a group for interpreters. */
static bool set_up(struct cgroup *g) {
    char path[PATH_MAX];
    struct sysinfo info;
    for (size_t i = 0; i < place_count(g); i++) {
        sweep(g->places[i]);
        if (!make(g->places[i]) || !make(beneath(g, (enum place)i, "zygotes", path)))
            return false;
    }
    if (g->version == 2 && !put(g->places[0], "cgroup.subtree_control", "+memory +pids +cpu"))
        return false;
    return sysinfo(&info) == 0 &&
           put_number(g->places[MEMORY], files[g->version].memory,
                      (uint64_t)info.totalram * info.mem_unit / 100 * ALL_MEMORY_PERCENT) &&
           put_number(g->places[PIDS], "pids.max", ALL_PROCESSES);
}

void cgroup_open(struct cgroup *g) {
    struct statfs fs;
    memset(g, 0, sizeof(*g));
    const bool v2 = statfs(MOUNTED, &fs) == 0 && fs.f_type == MAGIC_V2;
    if (!(v2 ? find_v2(g) : find_v1(g)))
        return;
    if (set_up(g))
        return;
    snprintf(g->why, sizeof(g->why), "%.150s: %s", g->places[0], strerror(errno));
    cgroup_close(g);
}

void cgroup_close(struct cgroup *g) {
    for (size_t i = 0; g->version && i < place_count(g); i++)
        remove_group(g->places[i]);
    g->version = 0;
}

/* ---- members ---- */

bool cgroup_take_zygote(const struct cgroup *g, pid_t pid) {
    char path[PATH_MAX];
    for (size_t i = 0; g->version && i < place_count(g); i++)
        if (!put_number(beneath(g, (enum place)i, "zygotes", path), "cgroup.procs", (uint64_t)pid))
            return false;
    return true;
}

static void box_name(uint64_t token, char name[40]) {
    snprintf(name, 40, "box-%llu", (unsigned long long)token);
}

/* Files on a tmpfs count as memory of the process that wrote them. */
static bool limit_memory(const struct cgroup *g, const char *dir, const struct frame_order *order) {
    const uint64_t bytes = (uint64_t)(order->memory_mb + 2 * order->workspace_mb + BOX_SLACK_MB) << 20;
    if (!put_number(dir, files[g->version].memory, bytes))
        return false;
    put_number(dir, files[g->version].swap, g->version == 2 ? 0 : bytes); /* absent without swap */
    return true;
}

bool cgroup_take_box(const struct cgroup *g, const struct frame_order *order, pid_t pid) {
    char name[40], path[PATH_MAX];
    box_name(order->token, name);
    for (size_t i = 0; i < place_count(g); i++)
        if (!make(beneath(g, (enum place)i, name, path)))
            return false;
    if (!limit_memory(g, beneath(g, MEMORY, name, path), order) ||
        !put_number(beneath(g, PIDS, name, path), "pids.max", order->processes) ||
        !put(beneath(g, CPU, name, path), files[g->version].cpu, files[g->version].cpu_value))
        return false;
    put(beneath(g, MEMORY, name, path), "memory.oom.group",
        "1"); /* version 2: kills all processes of the group together */
    for (size_t i = 0; i < place_count(g); i++)
        if (!put_number(beneath(g, (enum place)i, name, path), "cgroup.procs", (uint64_t)pid))
            return false;
    return true;
}

void cgroup_limit_box(const struct cgroup *g, const struct frame_order *order) {
    char name[40], path[PATH_MAX];
    box_name(order->token, name);
    if (g->version)
        limit_memory(g, beneath(g, MEMORY, name, path), order);
}

bool cgroup_end_box(const struct cgroup *g, uint64_t token) {
    char name[40], path[PATH_MAX], text[TEXT_MAX];
    bool out_of_memory = false;
    box_name(token, name);
    for (struct slice rest = get(beneath(g, MEMORY, name, path), files[g->version].events, text), line;
         rest.len;) {
        slice_cut(&rest, '\n', &line);
        if (slice_starts(line, SLICE("oom_kill ")))
            out_of_memory = !slice_is(slice_trim(slice_from(line, 9)), "0");
    }
    for (size_t i = 0; i < place_count(g); i++)
        rmdir(beneath(g, (enum place)i, name, path));
    return out_of_memory;
}
