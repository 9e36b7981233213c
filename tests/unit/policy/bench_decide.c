/* Prints what one decision costs; judges nothing. Run with `meson test --benchmark decide`. */
#include "base/buf.h"
#include "policy/memory.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "wire/clash.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 300000

static struct policy *load(struct buf *text) {
    struct policy_problems problems;
    struct policy *p = NULL;
    policy_problems_init(&problems);
    if (policy_load(buf_slice(text), "bench", &p, &problems) < 0) {
        fprintf(stderr, "%.*s\n", SLICE_FMT(problems.items[0].text));
        exit(1);
    }
    policy_problems_free(&problems);
    return p;
}

/* Time of this thread alone: the machine may be busy with other things. */
static double spent_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static const struct policy_schema *schema; /* of the tool; NULL: not known */

static void run(const char *what, struct buf *text, const char *tool, const char *args, bool with_counters) {
    struct policy *p = load(text);
    struct tape tape;
    struct arena arena;
    struct policy_memory memory;
    tape_init(&tape);
    arena_init(&arena);
    policy_memory_init(&memory);
    tape_parse(&tape, slice_str(args), NULL);
    clash_admit(&tape, 0); /* as for every message that is admitted */
    struct policy_counters counters = policy_memory_counters(&memory);
    struct policy_facts facts = {.method = SLICE("tools/call"),
                                 .tool = slice_str(tool),
                                 .tape = &tape,
                                 .args = 1,
                                 .grant = SLICE("bench"),
                                 .now_ms = 1767225600000,
                                 .schema = schema,
                                 .counters = with_counters ? &counters : NULL};
    memory.now_ms = facts.now_ms;
    size_t allowed = 0;
    double start = spent_us();
    for (int i = 0; i < ROUNDS; i++) {
        struct policy_verdict v;
        arena_reset(&arena);
        policy_decide(p, &facts, &arena, NULL, &v);
        allowed += v.outcome == POLICY_ALLOW;
    }
    double spent = spent_us() - start;
    printf("%-44s %8.3f us/decision (%zu of %d allowed)\n", what, spent / ROUNDS, allowed, ROUNDS);
    policy_memory_free(&memory);
    arena_free(&arena);
    tape_free(&tape);
    policy_unref(p);
    buf_reset(text);
}

static void put_rules(struct buf *text, int count, const char *condition) {
    buf_put_str(text, "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"pay\":{\"rules\":[");
    for (int i = 0; i < count; i++)
        buf_printf(text, "%s{\"name\":\"r%d\",\"conditions\":[%s]}", i ? "," : "", i, condition);
    buf_put_str(text, "]}}}");
}

int main(void) {
    static const char args[] =
        "[{\"currency\":\"eur\",\"customer\":{\"email\":\"a@example.com\"},\"amount\":250}]";
    static const char number[] = "{\"path\":\"args.amount\",\"op\":\"lte\",\"value\":500}";
    static const char list[] =
        "{\"path\":\"args.currency\",\"op\":\"in\",\"value\":[\"usd\",\"gbp\",\"eur\"]}";
    static const char regex[] =
        "{\"path\":\"args.customer.email\",\"op\":\"regex\",\"value\":\"^[^@]+@example\\\\.com$\"}";
    struct buf text;
    buf_init(&text, 64u << 20);
    put_rules(&text, 1, number);
    run("1 rule, number", &text, "pay", args, false);
    struct policy_schema *strict = NULL;
    struct err err;
    if (policy_schema_compile(
            SLICE("{\"type\":\"object\",\"properties\":{\"amount\":{\"type\":\"integer\","
                  "\"minimum\":0},\"currency\":{\"type\":\"string\",\"enum\":[\"usd\",\"eur\"]},"
                  "\"customer\":{\"type\":\"object\",\"properties\":{\"email\":{\"type\":"
                  "\"string\"}}},\"note\":{\"type\":\"string\"}},\"required\":[\"amount\"]}"),
            &strict, &err) < 0)
        return 1;
    schema = strict;
    put_rules(&text, 1, number);
    run("1 rule, number, arguments checked", &text, "pay", args, false);
    schema = NULL;
    policy_schema_free(strict);
    put_rules(&text, 1, list);
    run("1 rule, in a list", &text, "pay", args, false);
    put_rules(&text, 1, regex);
    run("1 rule, regex", &text, "pay", args, false);
    put_rules(&text, 100, number);
    run("100 rules, number", &text, "pay", args, false);
    put_rules(&text, 100, list);
    run("100 rules, in a list", &text, "pay", args, false);
    buf_put_str(&text,
                "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"pay\":{\"limits\":[{\"counter\":\"c\","
                "\"window\":\"minute\",\"max\":1000,\"scope\":\"grant\"}]}}}");
    run("1 limit, scope grant", &text, "pay", args, true);
    static const int sizes[] = {10, 1000, 10000};
    for (size_t i = 0; i < 3; i++) {
        char what[64];
        buf_put_str(&text, "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{");
        for (int t = 0; t < sizes[i]; t++)
            buf_printf(&text, "\"tool_%d\":{\"rules\":[]},", t);
        buf_printf(&text, "\"pay\":{\"rules\":[{\"name\":\"r\",\"conditions\":[%s]}]}}}", number);
        snprintf(what, sizeof(what), "1 rule, %d tools", sizes[i]);
        run(what, &text, "pay", args, false);
    }
    buf_free(&text);
    return 0;
}
