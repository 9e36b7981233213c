/* What the parts of a decision cost, each by itself: the policy, the limit, the audit log, and the proof. One
 * line of JSON; bench/run puts it beside the rest.
 *
 *   build/part_speed [RECORDS]
 *   build/part_speed tools|rules|counters|vault N      one operation among so many of them
 *   build/part_speed log RECORDS DIR                   only leaves a log
 *
 * Figures are for reading; the exit status never depends on them. CPU time of the thread, so that a busy
 * machine does not show in it, but for what is a rate or a duration. */
#include "audit/audit.h"
#include "audit/verify.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "policy/policy.h"
#include "state/state.h"
#include "state/vault.h"
#include "wire/clash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DECISIONS 200000
#define DECISION_RULES 20000000 /* so many rules are judged at most */
#define RESERVATIONS 500000
#define LOOKUPS 100000
#define PACE_RECORDS 512 /* put in a row, then a pause: a gate does not put in a tight loop either */
#define POLICY_MAX (16u << 20)

static uint64_t cpu_ns(clockid_t which) {
    struct timespec ts;
    clock_gettime(which, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t thread_ns(void) { return cpu_ns(CLOCK_THREAD_CPUTIME_ID); }

static void must(int rc, const struct err *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "part_speed: %s\n", err->text);
    exit(1);
}

/* ---- the policy ---- */

/* So many tools, each with so many rules of one condition that holds. */
static struct policy *make_policy(int tools, int rules) {
    struct buf text;
    buf_init(&text, POLICY_MAX);
    buf_put_str(&text, "version: \"1\"\ntools:\n");
    for (int t = 0; t < tools; t++) {
        buf_printf(&text, "  tool_%d:\n    rules:\n", t);
        for (int r = 0; r < rules; r++)
            buf_printf(&text, "      - {name: r%d, conditions: [{path: args.n, op: lte, value: %d}]}\n", r,
                       10 + r);
    }
    struct policy *policy;
    struct policy_problems problems;
    policy_problems_init(&problems);
    CHECK(policy_load(buf_slice(&text), "bench", &policy, &problems) == 0);
    policy_problems_free(&problems);
    buf_free(&text);
    return policy;
}

/* Nanoseconds of one decision about the last of the tools. */
static double bench_decide(int tools, int rules) {
    struct policy *policy = make_policy(tools, rules);
    struct tape tape;
    struct arena arena;
    char name[32];
    tape_init(&tape);
    arena_init(&arena);
    CHECK(tape_parse(&tape, SLICE("{\"args\":{\"text\":\"hello\",\"n\":7}}"), NULL) == TAPE_OK);
    CHECK(clash_admit(&tape, 0) == 0); /* as for every message that is admitted */
    struct policy_facts facts = {
        .method = SLICE("tools/call"),
        .server = SLICE("bench"),
        .tool = slice_of(name, (size_t)snprintf(name, sizeof(name), "tool_%d", tools - 1)),
        .tape = &tape,
        .args = tape_get_str(&tape, 0, "args"),
        .now_ms = clock_wall_ms(),
    };
    int count = rules > DECISION_RULES / DECISIONS ? DECISION_RULES / rules : DECISIONS;
    uint64_t start = thread_ns();
    for (int i = 0; i < count; i++) {
        struct policy_verdict verdict;
        policy_decide(policy, &facts, &arena, NULL, &verdict);
        CHECK(verdict.outcome == POLICY_ALLOW);
        arena_reset(&arena);
    }
    uint64_t took = thread_ns() - start;
    arena_free(&arena);
    tape_free(&tape);
    policy_unref(policy);
    return (double)took / count;
}

/* ---- the limit ---- */

/* So many counters there are, and every reservation is about another one. */
static double bench_limit(const char *dir, uint64_t counters) {
    struct state_store *store = NULL;
    struct err err = {0};
    struct state_config config = {.dir = dir};
    must(state_open(&config, &store, &err), &err);
    char key[64];
    struct state_limit limit = {.kind = STATE_FIXED,
                                .window_ms = 3600000,
                                .max = (int64_t)1000000000 * STATE_MICRO,
                                .amount = STATE_MICRO};
    uint64_t now = clock_wall_ms(), start = 0, rounds = counters < RESERVATIONS ? RESERVATIONS : counters;
    for (uint64_t i = 0; i < counters + rounds; i++) {
        struct state_ticket ticket;
        if (i == counters)
            start = thread_ns();
        uint64_t number = i % counters * 7919 % counters; /* a prime: neighbours are far apart */
        limit.key =
            slice_of(key, (size_t)snprintf(key, sizeof(key),
                                           "grant/agent-%" PRIu64 "/create_charge._rate_minute", number));
        state_reserve(store, &limit, 1, now, &ticket, NULL, NULL);
        CHECK(ticket.answer.result == STATE_GRANTED);
        state_settle(&ticket, STATE_KEEP);
    }
    double each = (double)(thread_ns() - start) / (double)rounds;
    state_close(store);
    return each;
}

/* ---- the vault ---- */

static struct slice vault_id(char text[32], uint64_t number) {
    return slice_of(text, (size_t)snprintf(text, 32, "EMAIL_%08" PRIX64, number * 2654435761u % 4294967296u));
}

static double bench_vault(const char *dir, uint64_t entries) {
    struct state_vault *vault = NULL;
    struct arena arena;
    struct err err = {0};
    struct slice scope = SLICE("0123456789abcdef"),
                 sealed = SLICE("sixty-four bytes that nobody but the one with the key can read");
    uint64_t now = clock_wall_ms();
    char text[32];
    arena_init(&arena);
    must(state_vault_open(dir, &vault, &err), &err);
    must(state_vault_begin(vault, &err), &err);
    for (uint64_t i = 0; i < entries; i++)
        must(state_vault_put(vault, scope, vault_id(text, i), sealed, now + 3600000, &err), &err);
    must(state_vault_commit(vault, &err), &err);
    uint64_t start = thread_ns();
    for (uint64_t i = 0; i < LOOKUPS; i++) {
        CHECK(state_vault_get(vault, scope, vault_id(text, i * 7919 % entries), now, &arena, &sealed));
        arena_reset(&arena);
    }
    double each = (double)(thread_ns() - start) / LOOKUPS;
    state_vault_close(vault);
    arena_free(&arena);
    return each;
}

/* ---- the log ---- */

struct log_figures {
    double put_ns;    /* decision and outcome of one call, on the gate's thread */
    double writer_ns; /* the same on the writer's */
    double per_second;
    double verify_s;
    uint64_t records;
    bool sound;
};

static uint64_t put_call(struct audit *audit) {
    static const char hash[] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    static char other[] = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    uint64_t call = audit_next_call(audit);
    for (size_t i = 0; i < 8; i++) /* no two calls have the same arguments */
        other[i] = "0123456789abcdef"[call >> (4 * i) & 15];
    const struct audit_decision d = {
        .call = call,
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
        .args_hash = SLICE(other),
        .fingerprint = SLICE(hash),
    };
    const struct audit_outcome o = {
        .call = d.call, .status = SLICE("ok"), .latency_us = 180, .bytes_in = 200, .bytes_out = 400};
    if (audit_put_decision(audit, &d, NULL) == AUDIT_FULL)
        return 0;
    audit_put_outcome(audit, &o);
    return 2;
}

static void bench_log(const char *dir, uint64_t records, struct log_figures *ret) {
    struct audit *audit = NULL;
    struct err err = {0};
    must(audit_open(&(struct audit_config){.home = dir}, &audit, &err), &err);
    must(audit_flush(audit, &err), &err); /* it is open */
    uint64_t wall = clock_mono_us(), cpu = 0, writer = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - thread_ns();
    for (uint64_t put = 0; put < records;) {
        uint64_t start = thread_ns(), more = 1;
        for (int k = 0; k < PACE_RECORDS && put < records && more; k += 2, put += more)
            more = put_call(audit);
        cpu += thread_ns() - start;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    must(audit_flush(audit, &err), &err);
    wall = clock_mono_us() - wall;
    writer = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - thread_ns() - writer;
    audit_close(audit);
    struct audit_report report;
    uint64_t start = clock_mono_us();
    audit_verify(dir, NULL, &report);
    *ret = (struct log_figures){
        .put_ns = (double)cpu / ((double)records / 2),
        .writer_ns = (double)writer / ((double)records / 2),
        .per_second = (double)records * 1e6 / (double)wall,
        .verify_s = (double)(clock_mono_us() - start) / 1e6,
        .records = report.records,
        .sound = report.sound,
    };
}

/* Nanoseconds of one operation; negative for what is not known. */
static double bench_one(const char *what, uint64_t n, const char *dir) {
    if (strcmp(what, "tools") == 0)
        return bench_decide((int)n, 1);
    if (strcmp(what, "rules") == 0)
        return bench_decide(1, (int)n);
    if (strcmp(what, "counters") == 0)
        return bench_limit(dir, n);
    if (strcmp(what, "vault") == 0)
        return bench_vault(dir, n);
    return -1;
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/sallyport-bench-XXXXXX";
    struct log_figures log;
    if (argc == 4 && strcmp(argv[1], "log") == 0) {
        bench_log(argv[3], strtoull(argv[2], NULL, 10), &log);
        return 0;
    }
    CHECK(mkdtemp(dir));
    if (argc == 3) {
        double each = bench_one(argv[1], strtoull(argv[2], NULL, 10), dir);
        printf("{\"ns\":%.1f,\"directory\":\"%s\"}\n", each, dir);
        return each < 0;
    }
    uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    double one = bench_decide(1, 1), hundred = bench_decide(1, 100), many = bench_decide(10000, 1);
    double limit = bench_limit(dir, 1);
    bench_log(dir, records, &log);
    printf("{\"decide_1_rule_ns\":%.0f,\"decide_100_rules_ns\":%.0f,\"decide_10000_tools_ns\":%.0f,"
           "\"limit_ns\":%.0f,\"audit_gate_ns\":%.0f,\"audit_writer_ns\":%.0f,\"audit_records_per_s\":%.0f,"
           "\"verify_s\":%.2f,\"verified_records\":%" PRIu64 ",\"sound\":%s,\"directory\":\"%s\"}\n",
           one, hundred, many, limit, log.put_ns, log.writer_ns, log.per_second, log.verify_s, log.records,
           log.sound ? "true" : "false", dir);
    return 0;
}
