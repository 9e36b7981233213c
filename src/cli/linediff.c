#include "cli/linediff.h"

#include "base/mem.h"
#include "cli/limits.h"

#include <stdlib.h>

struct lines {
    struct slice *items;
    size_t count;
};

static struct lines split(struct slice text) {
    struct lines l = {0};
    size_t cap = 1;
    for (size_t i = 0; i < text.len; i++)
        cap += text.ptr[i] == '\n';
    l.items = mem_zalloc(cap * sizeof(*l.items));
    while (text.len)
        slice_cut(&text, '\n', &l.items[l.count++]);
    return l;
}

static void put(struct buf *out, char sign, struct slice line, bool colour) {
    const char *on = !colour ? "" : sign == '+' ? "\033[32m" : sign == '-' ? "\033[31m" : "";
    buf_printf(out, "%s%c%.*s%s\n", on, sign, SLICE_FMT(line), on[0] ? "\033[0m" : "");
}

/* The length of the longest common subsequence of a[i..] and b[k..], for every i and k. */
static uint32_t *common(const struct slice *a, size_t n, const struct slice *b, size_t m) {
    uint32_t *table = mem_zalloc((n + 1) * (m + 1) * sizeof(*table));
    for (size_t i = n; i-- > 0;) {
        for (size_t k = m; k-- > 0;) {
            uint32_t down = table[(i + 1) * (m + 1) + k], right = table[i * (m + 1) + k + 1];
            table[i * (m + 1) + k] = slice_eq(a[i], b[k]) ? table[(i + 1) * (m + 1) + k + 1] + 1
                                     : down > right       ? down
                                                          : right;
        }
    }
    return table;
}

/* The lines between the common beginning and the common end. */
static void put_middle(const struct slice *a, size_t n, const struct slice *b, size_t m, bool colour,
                       struct buf *out) {
    bool large = n * m > CLI_DIFF_CELLS_MAX;
    cleanup_free uint32_t *table = large ? NULL : common(a, n, b, m);
    size_t i = 0, k = 0;
    while (i < n || k < m) {
        if (table && i < n && k < m && slice_eq(a[i], b[k])) {
            put(out, ' ', a[i], colour);
            i++, k++;
        } else if (k >= m ||
                   (i < n && (!table || table[(i + 1) * (m + 1) + k] >= table[i * (m + 1) + k + 1]))) {
            put(out, '-', a[i++], colour);
        } else {
            put(out, '+', b[k++], colour);
        }
    }
}

void cli_linediff(const char *path, struct slice before, struct slice after, bool colour, struct buf *out) {
    if (slice_eq(before, after))
        return;
    struct lines a = split(before), b = split(after);
    size_t head = 0, tail = 0;
    while (head < a.count && head < b.count && slice_eq(a.items[head], b.items[head]))
        head++;
    while (tail < a.count - head && tail < b.count - head &&
           slice_eq(a.items[a.count - 1 - tail], b.items[b.count - 1 - tail]))
        tail++;
    size_t from = head > CLI_DIFF_CONTEXT ? head - CLI_DIFF_CONTEXT : 0;
    size_t more = tail < CLI_DIFF_CONTEXT ? tail : CLI_DIFF_CONTEXT;
    buf_printf(out, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", path, path, from + 1,
               a.count - tail + more - from, from + 1, b.count - tail + more - from);
    for (size_t i = from; i < head; i++)
        put(out, ' ', a.items[i], colour);
    put_middle(a.items + head, a.count - head - tail, b.items + head, b.count - head - tail, colour, out);
    for (size_t i = a.count - tail; i < a.count - tail + more; i++)
        put(out, ' ', a.items[i], colour);
    free(a.items);
    free(b.items);
}
