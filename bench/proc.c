#include "proc.h"

#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROC_PATH_MAX 64
#define PROC_TEXT_MAX 4096
#define PROC_ALL_MAX 4096
#define PROC_STOP_WAIT_NS (2 * NS_PER_S)
#define PROC_STOP_STEP_NS NS_PER_MS

struct proc_entry {
    pid_t pid;
    pid_t parent;
    bool excepted;
};

/* One small /proc file into `text`, NUL-terminated. False when the process is gone. */
static bool read_proc(pid_t pid, const char *name, char *text) {
    char path[PROC_PATH_MAX];
    put_text(path, sizeof path, 0, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, PROC_TEXT_MAX - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Field `index` (3 = state, as proc(5) counts) of a stat line; the name may hold spaces. */
static uint64_t stat_field(const char *stat, int index) {
    const char *at = strrchr(stat, ')');
    for (int field = 2; at && field < index; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static uint64_t labelled_kb(const char *text, const char *label) {
    const char *at = strstr(text, label);
    return at ? strtoull(at + strlen(label), NULL, 10) : 0;
}

static bool stat_name_is(const char *stat, const char *name) {
    const char *open = strchr(stat, '(');
    const char *close = strrchr(stat, ')');
    return name && open && close && slice_is((struct slice){open + 1, (size_t)(close - open - 1)}, name);
}

void proc_set_add(struct proc_set *set, pid_t pid) {
    for (int i = 0; i < set->count; i++)
        if (set->pids[i] == pid)
            return;
    if (set->count == PROC_SET_MAX)
        die("more than %d processes under test", PROC_SET_MAX);
    set->pids[set->count++] = pid;
}

static int list_processes(struct proc_entry *entries, const char *except) {
    DIR *dir = opendir("/proc");
    if (!dir)
        die("/proc: %s", strerror(errno));
    int count = 0;
    struct dirent *item;
    char text[PROC_TEXT_MAX];
    while ((item = readdir(dir)) && count < PROC_ALL_MAX) {
        char *end = NULL;
        long pid = strtol(item->d_name, &end, 10);
        if (pid <= 0 || *end || !read_proc((pid_t)pid, "stat", text))
            continue;
        entries[count].pid = (pid_t)pid;
        entries[count].parent = (pid_t)stat_field(text, 4);
        entries[count++].excepted = stat_name_is(text, except);
    }
    closedir(dir);
    return count;
}

static bool set_has(const struct proc_set *set, pid_t pid) {
    for (int i = 0; i < set->count; i++)
        if (set->pids[i] == pid)
            return true;
    return false;
}

void proc_set_grow(struct proc_set *set, const char *except) {
    static struct proc_entry entries[PROC_ALL_MAX];
    int count = list_processes(entries, except);
    int before;
    do { /* until a pass adds no process: at most PROC_SET_MAX passes */
        before = set->count;
        for (int i = 0; i < count; i++)
            if (!entries[i].excepted && set_has(set, entries[i].parent))
                proc_set_add(set, entries[i].pid);
    } while (set->count != before);
}

void proc_set_reset_peak(const struct proc_set *set) {
    char path[PROC_PATH_MAX];
    for (int i = 0; i < set->count; i++) {
        put_text(path, sizeof path, 0, "/proc/%d/clear_refs", (int)set->pids[i]);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t ignored = write(fd, "5", 1);
        (void)ignored;
        close(fd);
    }
}

/* /proc/PID/schedstat covers the first thread only, hence the walk over the threads. */
static uint64_t threads_cpu_ns(pid_t pid) {
    char path[PROC_PATH_MAX];
    char text[PROC_TEXT_MAX];
    put_text(path, sizeof path, 0, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    uint64_t total = 0;
    struct dirent *item;
    while ((item = readdir(dir))) {
        if (item->d_name[0] == '.')
            continue;
        put_text(path, sizeof path, 0, "task/%.20s/schedstat", item->d_name);
        if (read_proc(pid, path, text))
            total += strtoull(text, NULL, 10);
    }
    closedir(dir);
    return total;
}

void proc_set_read_memory(const struct proc_set *set, struct proc_usage *usage) {
    char text[PROC_TEXT_MAX];
    usage->rss_kb = usage->rss_peak_kb = usage->pss_kb = 0;
    for (int i = 0; i < set->count; i++) {
        if (read_proc(set->pids[i], "status", text)) {
            usage->rss_peak_kb += labelled_kb(text, "VmHWM:");
            usage->rss_kb += labelled_kb(text, "VmRSS:");
        }
        if (read_proc(set->pids[i], "smaps_rollup", text))
            usage->pss_kb += labelled_kb(text, "\nPss:");
    }
}

void proc_set_read(const struct proc_set *set, struct proc_usage *ret_usage) {
    char text[PROC_TEXT_MAX];
    struct proc_usage usage = {0};
    uint64_t tick_us = 1000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);
    for (int i = 0; i < set->count; i++) {
        uint64_t ticks_us = 0;
        if (read_proc(set->pids[i], "stat", text)) {
            usage.user_us += stat_field(text, 14) * tick_us;
            ticks_us = (stat_field(text, 14) + stat_field(text, 15)) * tick_us;
        }
        uint64_t exact_ns = threads_cpu_ns(set->pids[i]);
        usage.cpu_ns += exact_ns ? exact_ns : ticks_us * NS_PER_US;
    }
    *ret_usage = usage;
}

static void child_exec(char *const argv[], int cpu, int in, int out) {
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        die("dup2: %s", strerror(errno));
    signal(SIGPIPE, SIG_DFL);
    pin_cpu(cpu);
    execvp(argv[0], argv);
    die("%s: %s", argv[0], strerror(errno));
}

struct proc_child proc_spawn(char *const argv[], int cpu, bool stdio) {
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        die("pipe: %s", strerror(errno));
    int null_fd = stdio ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid = fork();
    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid == 0)
        child_exec(argv, cpu, stdio ? to[0] : null_fd, stdio ? from[1] : null_fd);
    close(to[0]);
    close(from[1]);
    struct proc_child child = {.pid = pid, .in = to[1], .out = from[0]};
    if (!stdio) {
        close(null_fd);
        close(child.in);
        close(child.out);
        child.in = child.out = -1;
    }
    return child;
}

static bool reaped_within(pid_t pid, uint64_t wait_ns) {
    for (uint64_t waited = 0; waited < wait_ns; waited += PROC_STOP_STEP_NS) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return true;
        sleep_ns(PROC_STOP_STEP_NS);
    }
    return false;
}

/* As MCP asks: close stdin, wait, TERM, wait, KILL. A child without pipes gets TERM immediately. */
void proc_stop(struct proc_child *child) {
    bool stdio = child->in >= 0;
    if (stdio) {
        close(child->in);
        close(child->out);
    }
    if (stdio && reaped_within(child->pid, PROC_STOP_WAIT_NS))
        return;
    kill(child->pid, SIGTERM);
    if (reaped_within(child->pid, PROC_STOP_WAIT_NS))
        return;
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
}
