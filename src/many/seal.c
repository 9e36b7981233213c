#include "many/seal.h"

#include "base/check.h"
#include "base/openssl.h"
#include "call/principal.h"
#include "session/session.h"

#define SEAL_BYTES 16
#define SEAL_CHARS (2 * SEAL_BYTES)

static void seal_of(const struct session *s, struct arena *a, const char *purpose, struct slice text,
                    char hex[SEAL_CHARS]) {
    static const char digits[] = "0123456789abcdef";
    struct slice bound = arena_printf(a, "%s\n%s\n%.*s", purpose, s->principal->id, SLICE_FMT(text));
    unsigned char sum[EVP_MAX_MD_SIZE];
    CHECK(HMAC(EVP_sha256(), s->core->seal_key, sizeof(s->core->seal_key), (const unsigned char *)bound.ptr,
               bound.len, sum, NULL));
    for (size_t i = 0; i < SEAL_BYTES; i++) {
        hex[2 * i] = digits[sum[i] >> 4];
        hex[2 * i + 1] = digits[sum[i] & 15];
    }
}

struct slice seal_make(const struct session *s, struct arena *a, const char *purpose, struct slice text) {
    char hex[SEAL_CHARS];
    seal_of(s, a, purpose, text, hex);
    return arena_printf(a, "%.*s.%.*s", SEAL_CHARS, hex, SLICE_FMT(text));
}

bool seal_open(const struct session *s, struct arena *a, const char *purpose, struct slice sealed,
               struct slice *ret_text) {
    if (sealed.len <= SEAL_CHARS || sealed.ptr[SEAL_CHARS] != '.')
        return false;
    struct slice text = slice_from(sealed, SEAL_CHARS + 1);
    char hex[SEAL_CHARS];
    seal_of(s, a, purpose, text, hex);
    if (CRYPTO_memcmp(hex, sealed.ptr, SEAL_CHARS) != 0)
        return false;
    *ret_text = text;
    return true;
}
