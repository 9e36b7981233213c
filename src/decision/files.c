#include "decision/files.h"

#include "decision/limits.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

/* The walk: `done` contains no link, `rest` is not resolved yet. */
struct walk {
    char done[PATH_MAX];
    size_t done_len;
    char rest[PATH_MAX];
    size_t rest_len;
    unsigned links;
};

/* Takes the next component off the rest; false at the end. */
static bool take_part(struct walk *w, char *ret_part, size_t *ret_len) {
    size_t from = 0, to;
    while (from < w->rest_len && w->rest[from] == '/')
        from++;
    for (to = from; to < w->rest_len && w->rest[to] != '/';)
        to++;
    *ret_len = to - from;
    if (!*ret_len || *ret_len > NAME_MAX)
        return false;
    memcpy(ret_part, w->rest + from, *ret_len);
    memmove(w->rest, w->rest + to, w->rest_len - to);
    w->rest_len -= to;
    return true;
}

/* Puts the target of a link in front of the rest. */
static bool follow(struct walk *w, const char *target, size_t len) {
    if (++w->links > FILES_LINKS_MAX || len == 0 || len + 1 + w->rest_len >= sizeof(w->rest))
        return false;
    memmove(w->rest + len + 1, w->rest, w->rest_len);
    memcpy(w->rest, target, len);
    w->rest[len] = '/';
    w->rest_len += len + 1;
    return true;
}

/* One component, as the kernel resolves it: `..` is relative to the target of a link. What does not exist
 * (yet) is not a link; what cannot be read might be one. */
static bool step(struct walk *w, const char *part, size_t len) {
    if (len == 1 && part[0] == '.')
        return true;
    if (len == 2 && part[0] == '.' && part[1] == '.') {
        while (w->done_len && w->done[--w->done_len] != '/')
            ;
        return true;
    }
    if (w->done_len + 1 + len >= sizeof(w->done))
        return false;
    size_t before = w->done_len;
    w->done[w->done_len++] = '/';
    memcpy(w->done + w->done_len, part, len);
    w->done_len += len;
    w->done[w->done_len] = '\0';
    char target[PATH_MAX];
    ssize_t got = readlink(w->done, target, sizeof(target));
    if (got < 0)
        return errno == EINVAL || errno == ENOENT || errno == ENOTDIR;
    w->done_len = target[0] == '/' ? 0 : before;
    return follow(w, target, (size_t)got);
}

/* Links are followed one by one, not by realpath(3), which does not resolve a link whose target does not
 * exist: a server that writes through such a link creates that file. */
static bool resolve(void *ctx, struct slice path, struct arena *a, struct slice *ret_path) {
    (void)ctx;
    struct walk w = {.rest_len = path.len};
    char part[NAME_MAX];
    size_t len;
    if (path.len == 0 || path.len >= sizeof(w.rest) || path.ptr[0] != '/')
        return false;
    memcpy(w.rest, path.ptr, path.len);
    while (take_part(&w, part, &len))
        if (!step(&w, part, len))
            return false;
    if (len)
        return false;
    *ret_path = w.done_len ? arena_dup(a, slice_of(w.done, w.done_len)) : SLICE("/");
    return true;
}

const struct policy_files files_system = {.realpath = resolve};
