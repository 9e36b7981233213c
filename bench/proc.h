/* The process under test: spawn it, and read what it used.
 *
 * A process under test may be several (nginx has a master and a worker, a gate may fork helpers), so
 * a set of roots is grown to their descendants. Processes of one name (`except`, the echo server that
 * a proxy spawned) are left out together with what is below them. */
#ifndef BENCH_PROC_H
#define BENCH_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_SET_MAX 64

struct proc_set {
    int count;
    pid_t pids[PROC_SET_MAX];
};

struct proc_usage {
    uint64_t cpu_ns;  /* on a CPU, all live threads: schedstat, exact to the switch */
    uint64_t user_us; /* user part: stat, sampled by the tick */
    uint64_t rss_peak_kb;
    uint64_t rss_kb;
    uint64_t pss_kb;
};

struct proc_child {
    pid_t pid;
    int in;  /* we write its stdin */
    int out; /* we read its stdout */
};

void proc_set_add(struct proc_set *set, pid_t pid);
void proc_set_grow(struct proc_set *set, const char *except);
void proc_set_reset_peak(const struct proc_set *set); /* best effort */
void proc_set_read(const struct proc_set *set, struct proc_usage *ret_usage);
void proc_set_read_memory(const struct proc_set *set, struct proc_usage *usage);

/* stdio: with pipes; else both ends are the null device and only pid is set. */
struct proc_child proc_spawn(char *const argv[], int cpu, bool stdio);
void proc_stop(struct proc_child *child);

#endif
