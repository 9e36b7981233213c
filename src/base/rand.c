#include "base/rand.h"

#include "base/check.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

void rand_bytes(void *to, size_t len) {
    char *at = to;
    while (len) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        CHECK(got > 0);
        at += got;
        len -= (size_t)got;
    }
}

void rand_token(char *text, size_t len) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    rand_bytes(text, len);
    for (size_t i = 0; i < len; i++)
        text[i] = alphabet[(unsigned char)text[i] & 63];
    text[len] = '\0';
}
