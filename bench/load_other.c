/* Figures that are not calls per second: memory with idle sessions, time to the first answer. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTLE_NS (300 * NS_PER_MS)
#define FIRST_RETRY_NS (50 * NS_PER_US)
#define FIRST_WAIT_NS (10 * NS_PER_S)

static int *hold_sessions(const struct options *options, unsigned *ret_errors) {
    char session[LOAD_SESSION_ID_MAX];
    int *fds = must_alloc((options->slots + 1) * sizeof *fds);
    unsigned errors = 0;
    for (unsigned i = 0; i < options->slots; i++) {
        fds[i] = client_connect(options);
        if (fds[i] < 0 || !client_handshake(fds[i], options, session))
            errors++;
    }
    *ret_errors = errors;
    return fds;
}

/* Opens the sessions, says so in one line with the memory of the --pid processes, holds them until
 * stdin ends. With -n 0 it only reads the memory. */
void load_sessions(const struct options *options) {
    struct proc_set set = options->set;
    struct proc_usage usage = {0};
    unsigned errors = 0;
    char byte;
    int *fds = hold_sessions(options, &errors);
    sleep_ns(SETTLE_NS);
    proc_set_grow(&set, options->except);
    proc_set_read_memory(&set, &usage);
    printf("{\"mode\":\"sessions\",\"sessions\":%u,\"errors\":%u,\"rss_kb\":%llu,\"pss_kb\":%llu,"
           "\"rss_peak_kb\":%llu,\"processes\":%d}\n",
           options->slots, errors, (unsigned long long)usage.rss_kb, (unsigned long long)usage.pss_kb,
           (unsigned long long)usage.rss_peak_kb, set.count);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    free(fds);
}

/* A server at a URL: try until it answers. 502 and the like count as not yet. */
static bool first_http(const struct options *options) {
    char session[LOAD_SESSION_ID_MAX];
    uint64_t give_up = now_ns() + FIRST_WAIT_NS;
    while (now_ns() < give_up) {
        int fd = client_connect(options);
        bool answered = fd >= 0 && client_handshake(fd, options, session);
        if (fd >= 0)
            close(fd);
        if (answered)
            return true;
        sleep_ns(FIRST_RETRY_NS);
    }
    return false;
}

static uint64_t first_once_ns(const struct options *options) {
    uint64_t start = now_ns();
    struct proc_child child = proc_spawn(options->command, options->cpu, !options->host);
    bool answered = options->host ? first_http(options) : client_stdio_handshake(&child, false);
    uint64_t took = now_ns() - start;
    proc_stop(&child);
    if (!answered)
        die("no answer to initialize");
    return took;
}

void load_first(const struct options *options) {
    static struct hist hist;
    uint64_t min_ns = UINT64_MAX;
    for (unsigned i = 0; i < options->runs; i++) {
        uint64_t took = first_once_ns(options);
        hist_add(&hist, took);
        if (took < min_ns)
            min_ns = took;
    }
    printf("{\"mode\":\"first\",\"runs\":%u,\"min_ms\":%.3f,\"p50_ms\":%.3f,\"max_ms\":%.3f}\n",
           options->runs, (double)min_ns / (double)NS_PER_MS,
           (double)hist_quantile_ns(&hist, 0.5) / (double)NS_PER_MS, (double)hist.max_ns / (double)NS_PER_MS);
}
