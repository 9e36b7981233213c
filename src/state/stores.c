#include "state/stores.h"

#include "base/buf.h"
#include "base/mem.h"
#include "io/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_FILE "stores"
#define LIST_MAX (64u << 10)

static const struct {
    const char *name;
    const char *meaning;
} store_meanings[] = {
    {"state.sqlite", "the counters start at zero: every limit can be used again"},
    {"grants.sqlite", "grants are lost: clients cannot authenticate until new ones are created"},
    {"approvals.sqlite", "approvals are lost: calls that waited or were approved need a new approval"},
    {"vault.sqlite", "the values behind tokens are lost: old tokens cannot be replaced by their values"},
    {"stops.sqlite", "all stops of the kill switch are lost: what was stopped runs again"},
    {"versions.sqlite", "earlier versions of policies and settings are lost"},
    {"logins.sqlite", "users must sign in to the console again"},
};

static const char *meaning_of(const char *name) {
    for (size_t i = 0; i < sizeof(store_meanings) / sizeof(store_meanings[0]); i++)
        if (strcmp(store_meanings[i].name, name) == 0)
            return store_meanings[i].meaning;
    return "what it held is lost";
}

static void read_list(const char *dir, int dir_len, struct buf *out) {
    cleanup_free char *path = NULL;
    buf_init(out, LIST_MAX);
    if (asprintf(&path, "%.*s/" LIST_FILE, dir_len, dir) >= 0 && io_file_read(path, out, NULL, NULL) < 0)
        buf_reset(out);
}

static bool next_line(struct slice *rest, struct slice *ret_line) {
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    if (!end)
        return false;
    *ret_line = slice_of(rest->ptr, (size_t)(end - rest->ptr));
    *rest = slice_from(*rest, ret_line->len + 1);
    return true;
}

static bool is_listed(struct slice list, struct slice name) {
    for (struct slice line; next_line(&list, &line);)
        if (slice_eq(line, name))
            return true;
    return false;
}

void state_stores_note(const char *path) {
    const char *slash = strrchr(path, '/');
    cleanup_buf struct buf list;
    if (!slash)
        return;
    read_list(path, (int)(slash - path), &list);
    if (is_listed(buf_slice(&list), slice_str(slash + 1)))
        return;
    /* Without this line only the notice of a later loss is missing. */
    cleanup_free char *file = NULL, *line = NULL;
    if (asprintf(&file, "%.*s/" LIST_FILE, (int)(slash - path), path) < 0 ||
        asprintf(&line, "%s\n", slash + 1) < 0)
        return;
    cleanup_fd int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && write(fd, line, strlen(line)) > 0)
        fsync(fd);
}

size_t state_stores_missing(const char *home, void (*each)(void *ctx, const char *name, const char *meaning),
                            void *ctx) {
    cleanup_buf struct buf list;
    size_t missing = 0;
    read_list(home, (int)strlen(home), &list);
    struct slice rest = buf_slice(&list);
    for (struct slice line; next_line(&rest, &line);) {
        char name[NAME_MAX + 1], path[PATH_MAX];
        struct stat st;
        /* Two processes may have added one name. */
        if (is_listed(rest, line) || line.len > NAME_MAX || memchr(line.ptr, '/', line.len))
            continue;
        snprintf(name, sizeof(name), "%.*s", SLICE_FMT(line));
        if (snprintf(path, sizeof(path), "%s/%s", home, name) >= (int)sizeof(path) ||
            (stat(path, &st) == 0 && st.st_size > 0))
            continue;
        missing++;
        if (each)
            each(ctx, name, meaning_of(name));
    }
    return missing;
}
