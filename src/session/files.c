#include "session/files.h"

#include <limits.h>
#include <stdlib.h>

/* A file that does not exist yet lies where its nearest existing ancestor leads. */
static bool resolve(void *ctx, struct slice path, struct arena *a, struct slice *ret_path) {
    (void)ctx;
    if (path.len == 0 || path.len >= PATH_MAX || path.ptr[0] != '/')
        return false;
    char *text = (char *)(uintptr_t)arena_dup(a, path).ptr;
    char real[PATH_MAX];
    size_t len = path.len;
    while (!realpath(text, real)) {
        while (len > 1 && text[len - 1] != '/')
            len--;
        if (len <= 1) {
            real[0] = '\0';
            break;
        }
        text[--len] = '\0';
    }
    struct slice rest = slice_from(path, len);
    if (!rest.len)
        *ret_path = arena_dup(a, slice_str(real));
    else
        *ret_path = arena_printf(a, "%s%s%.*s", real, rest.ptr[0] == '/' ? "" : "/", SLICE_FMT(rest));
    return true;
}

const struct policy_files session_files = {.realpath = resolve};
