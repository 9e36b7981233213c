#include "cli/policy_file.h"

#include "base/mem.h"
#include "policy/limits.h"

#include <errno.h>
#include <string.h>

static int read_all(FILE *file, struct buf *text) {
    for (;;) {
        char chunk[65536];
        size_t got = fread(chunk, 1, sizeof(chunk), file);
        if (got && !buf_put(text, chunk, got))
            return EFBIG;
        if (got < sizeof(chunk))
            return ferror(file) ? errno : 0;
    }
}

static int read_problem(struct policy_problems *problems, const char *path, int why) {
    problems->items = mem_realloc(problems->items, sizeof(*problems->items));
    problems->cap = problems->count = 1;
    problems->items[0] = (struct policy_problem){
        .text = arena_printf(&problems->arena, "reading config file: open %s: %s", path, strerror(why))};
    return -1;
}

void cli_policy_fault(const char *path, const struct policy_problems *problems, struct err *err) {
    const struct policy_problem none = {.text = SLICE("invalid policy")};
    const struct policy_problem *p = problems->count ? &problems->items[0] : &none;
    char place[64] = "";
    if (p->line)
        snprintf(place, sizeof(place), ":%u:%u", p->line, p->column);
    err_set(err, "%s%s: %.*s%s%.*s%s", path, place, SLICE_FMT(p->text), p->hint.len ? "; " : "",
            SLICE_FMT(p->hint),
            problems->count > 1 ? " (the first of several; `sallyport validate` lists all)" : "");
}

int cli_policy_load(const char *path, struct policy **ret_policy, struct policy_problems *problems) {
    cleanup_file FILE *opened = NULL;
    cleanup_buf struct buf text;
    FILE *file = stdin;
    buf_init(&text, POLICY_BYTES_MAX);
    if (strcmp(path, "-") != 0) {
        opened = file = fopen(path, "re");
        if (!file)
            return read_problem(problems, path, errno);
    }
    int why = read_all(file, &text);
    if (why)
        return read_problem(problems, path, why);
    return policy_load(buf_slice(&text), path, ret_policy, problems);
}
