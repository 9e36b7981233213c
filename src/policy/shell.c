#include "policy/match.h"

bool policy_shell_clean(struct slice text) {
    static const char meta[] = ";&|`$<>(){}[]*?!#~\\'\"^%";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c == 0x7f || memchr(meta, c, sizeof(meta) - 1))
            return false;
    }
    return true;
}
