#include "base/hex.h"
#include "policy/limits.h"
#include "policy/match.h"

/* %2e, %2f, %5c, %00 and a doubly encoded percent sign: a server that decodes would walk somewhere else. */
static bool has_encoded_step(struct slice path) {
    for (size_t i = 0; i + 2 < path.len; i++) {
        if (path.ptr[i] != '%')
            continue;
        int high = hex_value(path.ptr[i + 1]), low = hex_value(path.ptr[i + 2]);
        int byte = high < 0 || low < 0 ? -1 : high * 16 + low;
        if (byte == '.' || byte == '/' || byte == '\\' || byte == 0 || byte == '%')
            return true;
    }
    return false;
}

bool policy_path_clean(struct slice path, struct arena *a, struct slice *ret_clean) {
    if (path.len == 0 || path.len > POLICY_FILE_PATH_MAX || path.ptr[0] != '/' || has_encoded_step(path))
        return false;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '\\')
            return false;
    }
    char *out = arena_alloc(a, path.len + 1);
    size_t len = 0;
    struct slice rest = path, part;
    bool more = true;
    while (more) {
        more = slice_cut(&rest, '/', &part);
        if (part.len == 0 || slice_is(part, "."))
            continue;
        if (slice_is(part, "..")) {
            while (len && out[len - 1] != '/')
                len--;
            if (len)
                len--;
            continue;
        }
        if (part.ptr[0] == '~')
            return false;
        out[len++] = '/';
        memcpy(out + len, part.ptr, part.len);
        len += part.len;
    }
    if (len == 0)
        out[len++] = '/';
    *ret_clean = slice_of(out, len);
    return true;
}

bool policy_path_under(struct slice path, struct slice dir, struct arena *a) {
    struct slice clean, root;
    if (!policy_path_clean(path, a, &clean) || !policy_path_clean(dir, a, &root))
        return false;
    if (root.len == 1)
        return true;
    return slice_starts(clean, root) && (clean.len == root.len || clean.ptr[root.len] == '/');
}
