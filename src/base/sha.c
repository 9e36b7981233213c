#define OPENSSL_SUPPRESS_DEPRECATED /* OpenSSL 3 would have everybody use EVP; see the header */
#include "base/sha.h"

#include "base/check.h"

#include <openssl/sha.h>

_Static_assert(SHA_BYTES == SHA256_DIGEST_LENGTH, "SHA-256");

void sha_256(const struct slice *parts, size_t count, unsigned char ret_sum[SHA_BYTES]) {
    SHA256_CTX state;
    bool good = SHA256_Init(&state) == 1;
    for (size_t i = 0; i < count; i++)
        good = good && (!parts[i].len || SHA256_Update(&state, parts[i].ptr, parts[i].len) == 1);
    CHECK(good && SHA256_Final(ret_sum, &state) == 1);
}

void sha_256_hex(struct slice text, char ret_hex[SHA_HEX]) {
    unsigned char sum[SHA_BYTES], digits[SHA_HEX];
    sha_256(&text, 1, sum);
    for (size_t i = 0; i < SHA_BYTES; i++) {
        digits[2 * i] = sum[i] >> 4;
        digits[2 * i + 1] = sum[i] & 15;
    }
    for (size_t i = 0; i < SHA_HEX; i++) /* without a table: compilers do many at once */
        ret_hex[i] = (char)(digits[i] + (digits[i] < 10 ? '0' : 'a' - 10));
}
