/* pii_speed FILE: how fast texts go through the filter. FILE holds one JSON message a line. Prints three
 * lines: scanning alone, tokenizing with a vault, and the time of one 10 KB result (median and 99th
 * percentile). CPU time of one thread. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "filter/filter.h"

#define MESSAGES_MAX 200000
#define ROUNDS 5
#define RESULTS 2000
#define RESULT_BYTES 10240

struct bench {
    struct slice *messages;
    size_t count;
    size_t bytes;
    struct pii_engine *engine;
};

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void load(struct bench *b, FILE *file) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    b->messages = mem_alloc(MESSAGES_MAX * sizeof(*b->messages));
    while (b->count < MESSAGES_MAX && (n = getline(&line, &cap, file)) > 1) {
        b->messages[b->count++] = slice_of(mem_dup(line, (size_t)n - 1), (size_t)n - 1);
        b->bytes += (size_t)n - 1;
    }
    free(line);
}

static void scan_all(const struct bench *b) {
    const struct pii_options opt = {.depth = PII_DEPTH_MAX};
    double best = 1e9;
    uint64_t found = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct pii_spans spans;
        pii_spans_init(&spans);
        found = 0;
        const double start = cpu_seconds();
        for (size_t i = 0; i < b->count; i++) {
            spans.count = 0;
            pii_engine_scan(b->engine, &opt, b->messages[i], NULL, &spans);
            found += spans.count;
        }
        const double took = cpu_seconds() - start;
        best = took < best ? took : best;
        pii_spans_free(&spans);
    }
    printf("scan       %7.1f MB/s   %zu messages, one find in %.0f bytes\n", (double)b->bytes / 1e6 / best,
           b->count, (double)b->bytes / (double)(found ? found : 1));
}

static void tokenize(const struct bench *b, enum filter_mode mode, const char *name) {
    const uint8_t key[32] = {1};
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        struct filter_memory *memory = filter_memory_new();
        struct filter_scope *scope = filter_scope_new(b->engine, key, filter_memory_vault(memory));
        struct filter_options opt = {.depth = PII_DEPTH_MAX, .origin = SLICE("bench")};
        struct filter_report report = {0};
        struct tape t;
        struct buf out;
        filter_options_set(&opt, mode);
        tape_init(&t);
        buf_init(&out, FILTER_OUT_MAX);
        const double start = cpu_seconds();
        for (size_t i = 0; i < b->count; i++) {
            buf_reset(&out);
            if (tape_parse(&t, b->messages[i], NULL) == TAPE_OK)
                filter_json(scope, &opt, &t, 0, &out, &report);
        }
        const double took = cpu_seconds() - start;
        best = took < best ? took : best;
        buf_free(&out);
        tape_free(&t);
        filter_scope_free(scope);
        filter_memory_free(memory);
    }
    printf("%-10s %7.1f MB/s   parsed, found, replaced, kept in a vault\n", name,
           (double)b->bytes / 1e6 / best);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Results of about ten kilobytes, made of neighbouring messages. */
static void one_result(const struct bench *b) {
    const uint8_t key[32] = {1};
    static double took[RESULTS];
    struct filter_memory *memory = filter_memory_new();
    struct filter_scope *scope = filter_scope_new(b->engine, key, filter_memory_vault(memory));
    struct filter_options opt = {.depth = PII_DEPTH_MAX, .origin = SLICE("bench")};
    filter_options_set(&opt, FILTER_TOKENIZE);
    size_t at = 0, n = 0;
    for (; n < RESULTS && b->count; n++) {
        struct filter_report report = {0};
        struct buf text, out;
        buf_init(&text, 1 << 20);
        buf_init(&out, FILTER_OUT_MAX);
        while (text.len < RESULT_BYTES)
            buf_put_slice(&text, slice_upto(b->messages[at++ % b->count], RESULT_BYTES - text.len));
        const double start = cpu_seconds();
        filter_text(scope, &opt, buf_slice(&text), (struct slice){0}, &out, &report);
        took[n] = cpu_seconds() - start;
        buf_free(&text);
        buf_free(&out);
    }
    qsort(took, n, sizeof(*took), by_size);
    printf("10 KB      %7.3f ms median, %.3f ms 99th percentile\n", took[n / 2] * 1e3,
           took[n * 99 / 100] * 1e3);
    filter_scope_free(scope);
    filter_memory_free(memory);
}

int main(int argc, char **argv) {
    struct bench b = {0};
    cleanup_file FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: pii_speed FILE\n");
        return 2;
    }
    load(&b, file);
    pii_engine_new(NULL, 0, &b.engine, NULL);
    scan_all(&b);
    tokenize(&b, FILTER_TOKENIZE, "tokenize");
    one_result(&b);
    pii_engine_free(b.engine);
    for (size_t i = 0; i < b.count; i++)
        free((char *)(uintptr_t)b.messages[i].ptr);
    free(b.messages);
    return 0;
}
