/* How fast tools are found, how often the right one is, and how long typed files take:
 *
 *   find_speed LISTS QUERIES
 *
 * LISTS is a directory of tools/list results (SERVER.json), QUERIES has lines of QUESTION TAB NAME NAME …;
 * each question counts when one of its tools is among the first five. The speed is that of an index of at
 * least TOOLS_MIN: where the lists have less, some stand in it once more under another server's name. Prints
 * one JSON object. Times are CPU time of the thread: other programs on the machine do not count. */
#include "base/buf.h"
#include "base/mem.h"
#include "discovery/index.h"
#include "discovery/typed.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 5
#define TOOLS_MIN 5000

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool read_text(const char *path, struct buf *out) {
    buf_init(out, 64u << 20);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    char bytes[65536];
    size_t n;
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
        buf_put(out, bytes, n);
    fclose(f);
    return true;
}

struct figures {
    size_t largest; /* tools of the largest list */
    double typed_ms;
};

/* Both files of every tool of a list. */
static double write_files(const struct tape *t, uint32_t tools) {
    cleanup_arena struct arena a;
    arena_init(&a);
    double start = cpu_ms();
    TAPE_FOR_ELEM(t, tools, i) {
        uint32_t name = tape_get_str(t, i, "name");
        struct slice id = typed_identifier(tape_text(t, name, &a), TYPED_PYTHON, &a);
        for (int dialect = TYPED_TYPESCRIPT; dialect <= TYPED_PYTHON; dialect++) {
            cleanup_buf struct buf out;
            buf_init(&out, 16u << 20);
            if (!typed_file(t, i, id, (struct slice){0}, (enum typed_dialect)dialect, &out))
                fprintf(stderr, "no file for %.*s\n", SLICE_FMT(id));
        }
    }
    return cpu_ms() - start;
}

static void take_list(struct index *ix, const char *dir, const char *file, const char *mark,
                      struct figures *f) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    cleanup_buf struct buf text;
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!read_text(path, &text) || tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK)
        return;
    uint32_t tools = tape_get_str(&t, 0, "tools");
    if (!tools || !tape_is(&t, tools, TAPE_ARRAY))
        return;
    struct err err;
    snprintf(path, sizeof(path), "%.*s%s", (int)(strlen(file) - strlen(".json")), file, mark);
    struct slice server = slice_str(path);
    TAPE_FOR_ELEM(&t, tools, i) { index_put(ix, server, &t, i, "", &err); }
    size_t count = tape_node(&t, tools)->count;
    if (count > f->largest) {
        f->largest = count;
        f->typed_ms = write_files(&t, tools);
    }
}

static bool is_among(struct slice names, struct slice name) {
    struct slice one;
    while (names.len) {
        slice_cut(&names, ' ', &one);
        if (slice_eq(one, name))
            return true;
    }
    return false;
}

static size_t ask_all(struct index *ix, struct slice rows, size_t *ret_found, double *ret_worst_ms) {
    size_t asked = 0;
    struct slice row, query;
    while (rows.len) {
        slice_cut(&rows, '\n', &row);
        if (!slice_cut(&row, '\t', &query))
            continue;
        struct index_hit hits[5];
        double start = cpu_ms();
        size_t n = index_search(ix, query, NULL, 5, hits, NULL);
        double took = cpu_ms() - start;
        *ret_worst_ms = took > *ret_worst_ms ? took : *ret_worst_ms;
        bool found = false;
        for (size_t i = 0; i < n; i++)
            found |= is_among(row, hits[i].tool->name);
        asked++;
        *ret_found += found;
    }
    return asked;
}

int main(int argc, char **argv) {
    DIR *d = argc == 3 ? opendir(argv[1]) : NULL;
    cleanup_buf struct buf rows;
    buf_init(&rows, 1);
    if (!d || !read_text(argv[2], &rows)) {
        fputs("find_speed LISTS QUERIES\n", stderr);
        return 2;
    }
    struct index *ix = index_new();
    struct figures f = {0};
    const struct dirent *e;
    double start = cpu_ms();
    while ((e = readdir(d)))
        if (slice_ends(slice_str(e->d_name), SLICE(".json")))
            take_list(ix, argv[1], e->d_name, "", &f);
    double index_ms = cpu_ms() - start;
    size_t found = 0, ignored = 0;
    double worst = 0;
    size_t asked = ask_all(ix, buf_slice(&rows), &found, &worst);
    rewinddir(d);
    while (index_count(ix) < TOOLS_MIN && (e = readdir(d)))
        if (slice_ends(slice_str(e->d_name), SLICE(".json")))
            take_list(ix, argv[1], e->d_name, "-again", &f);
    closedir(d);
    worst = 0;
    start = cpu_ms();
    for (int i = 0; i < ROUNDS; i++)
        ask_all(ix, buf_slice(&rows), &ignored, &worst);
    printf("{\"tools\":%zu,\"index_ms\":%.1f,\"search_ms\":%.3f,\"search_worst_ms\":%.3f,\"asked\":%zu,"
           "\"found\":%zu,"
           "\"typed_tools\":%zu,\"typed_ms\":%.2f}\n",
           index_count(ix), index_ms, (cpu_ms() - start) / ROUNDS / (double)(asked ? asked : 1), worst, asked,
           found, f.largest, f.typed_ms);
    index_free(ix);
    return 0;
}
