#include "many/seal.h"

#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/sha.h"
#include "call/principal.h"
#include "many/many.h"

#define SEAL_BYTES 16
#define SEAL_CHARS (2 * SEAL_BYTES)

static void seal_of(const struct session *s, const char *purpose, struct slice text, char hex[SEAL_CHARS]) {
    const struct slice parts[] = {slice_str(purpose), SLICE("\n"), slice_str(s->principal->id), SLICE("\n"),
                                  text};
    unsigned char sum[SHA_BYTES];
    sha_hmac_once(slice_of((const char *)s->core->many->seal_key, sizeof(s->core->many->seal_key)), parts,
                  ARRAY_LEN(parts), sum);
    hex_put(sum, SEAL_BYTES, hex);
}

struct slice seal_make(const struct session *s, struct arena *a, const char *purpose, struct slice text) {
    char hex[SEAL_CHARS];
    seal_of(s, purpose, text, hex);
    return arena_printf(a, "%.*s.%.*s", SEAL_CHARS, hex, SLICE_FMT(text));
}

bool seal_open(const struct session *s, const char *purpose, struct slice sealed, struct slice *ret_text) {
    if (sealed.len <= SEAL_CHARS || sealed.ptr[SEAL_CHARS] != '.')
        return false;
    struct slice text = slice_from(sealed, SEAL_CHARS + 1);
    char hex[SEAL_CHARS];
    seal_of(s, purpose, text, hex);
    if (CRYPTO_memcmp(hex, sealed.ptr, SEAL_CHARS) != 0)
        return false;
    *ret_text = text;
    return true;
}
