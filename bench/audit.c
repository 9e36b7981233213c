/* What the limit and the audit log cost: CPU of a reservation with its settlement, of a decision and an
 * outcome on the gate's thread, records a second that the writer sustains, and how long the chain takes to
 * verify.
 *
 *   cc -O2 -D_GNU_SOURCE -Isrc bench/audit.c build/libcore.a $(pkg-config --libs sqlite3 libcrypto libssl
 * libuv) \ -lpthread -o build/bench-audit && build/bench-audit [RECORDS] [DIR] [durable]
 *
 * Figures are for reading; the exit status never depends on them. */
#include "audit/audit.h"
#include "audit/verify.h"
#include "base/clock.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PACE_RECORDS 512 /* put at once, then a breath: a gate does not put in a tight loop either */

static uint64_t cpu_ns(clockid_t which) {
    struct timespec ts;
    clock_gettime(which, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t thread_ns(void) { return cpu_ns(CLOCK_THREAD_CPUTIME_ID); }

static void bench_state(const char *dir) {
    struct state_store *store = NULL;
    struct err err = {0};
    struct state_config config = {.dir = dir};
    if (state_open(&config, &store, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    const enum state_kind kinds[] = {STATE_FIXED, STATE_SLIDING, STATE_BUCKET, STATE_CONCURRENT,
                                     STATE_IDENTICAL};
    uint64_t now = clock_wall_ms();
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct state_limit limit = {.kind = kinds[k],
                                    .key = SLICE("grant/agent-one/create_charge._rate_minute"),
                                    .window_ms = 60000,
                                    .max = (int64_t)1000000000 * STATE_MICRO,
                                    .refill = (int64_t)1000000 * STATE_MICRO,
                                    .amount = STATE_MICRO,
                                    .fingerprint = 7};
        const int rounds = 1000000;
        uint64_t start = thread_ns();
        for (int i = 0; i < rounds; i++) {
            struct state_ticket ticket;
            state_reserve(store, &limit, 1, now + (uint64_t)i / 50, &ticket, NULL, NULL);
            state_settle(&ticket, STATE_KEEP);
        }
        printf("reserve and settle, %-10s %6" PRIu64 " ns\n", state_kind_name(kinds[k]),
               (thread_ns() - start) / rounds);
    }
    struct state_health health;
    state_health(store, &health);
    printf("durable marks written       %6" PRIu64 "\n", health.commits);
    state_close(store);
}

static void bench_put(struct audit *audit, uint64_t records) {
    static const char hash[] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    struct audit_decision d = {
        .identity = SLICE("ci@example.com"),
        .grant = SLICE("agent-one"),
        .session = SLICE("k3l2m1n0p9"),
        .server = SLICE("stripe"),
        .method = SLICE("tools/call"),
        .tool = SLICE("create_charge"),
        .verdict = SLICE("allow"),
        .policy = SLICE("policy.yaml"),
        .policy_hash = SLICE(hash),
        .args = SLICE("[\"amount\",\"currency\",\"customer\"]"),
        .args_hash = SLICE(hash),
        .fingerprint = SLICE(hash),
    };
    uint64_t wall = clock_mono_us(), cpu = 0, full = 0;
    uint64_t writer = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - thread_ns();
    for (uint64_t i = 0; i < records / 2;) {
        uint64_t start = thread_ns();
        for (int k = 0; k < PACE_RECORDS / 2 && i < records / 2; k++) {
            d.call = audit_next_call(audit);
            struct audit_outcome o = {
                .call = d.call, .status = SLICE("ok"), .latency_us = 180, .bytes_in = 200, .bytes_out = 400};
            if (audit_put_decision(audit, &d, NULL) == AUDIT_FULL) {
                full++;
                break;
            }
            audit_put_outcome(audit, &o);
            i++;
        }
        cpu += thread_ns() - start;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    struct err err = {0};
    audit_flush(audit, &err);
    wall = clock_mono_us() - wall;
    writer = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - thread_ns() - writer;
    struct audit_health health;
    audit_health(audit, &health);
    printf("writer                      %6" PRIu64 " ns a record on its own thread\n", writer / records);
    printf("decision and outcome        %6" PRIu64 " ns on the gate's thread\n", cpu / (records / 2));
    printf("sustained                   %6.0f records/s, %" PRIu64 " commits, %" PRIu64 " times full\n",
           (double)records * 1e6 / (double)wall, health.commits, full);
}

static void bench_verify(const char *dir) {
    struct audit_report report;
    uint64_t start = clock_mono_us();
    audit_verify(dir, NULL, &report);
    printf("verify                      %6.2f s for %" PRIu64 " records: %s\n",
           (double)(clock_mono_us() - start) / 1e6, report.records, report.sound ? "sound" : report.text);
}

int main(int argc, char **argv) {
    uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    char made[] = "/tmp/sallyport-bench-XXXXXX";
    const char *dir = argc > 2 ? argv[2] : mkdtemp(made);
    struct audit *audit = NULL;
    struct err err = {0};
    struct audit_config config = {.home = dir, .durable = argc > 3};
    if (!dir || audit_open(&config, &audit, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    bench_state(dir);
    bench_put(audit, records);
    audit_close(audit);
    bench_verify(dir);
    printf("left in %s\n", dir);
    return 0;
}
