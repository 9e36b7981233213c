#include "session/keep.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rand.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NONCE_LEN 12
#define TAG_LEN 16

/* ---- the key ---- */

static bool read_key(const char *path, unsigned char key[32]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, key, 32);
    close(fd);
    return n == 32;
}

/* Written beside and linked into place, so that two gates that start together end up with one key. */
static int make_key(const char *path, struct err *err) {
    unsigned char key[32];
    char draft[4200], mark[9];
    rand_bytes(key, sizeof(key));
    rand_token(mark, sizeof(mark) - 1);
    snprintf(draft, sizeof(draft), "%s.%s", path, mark);
    int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, "cannot write `%s`: %s", draft, strerror(errno));
    bool written = write(fd, key, sizeof(key)) == (ssize_t)sizeof(key) && fsync(fd) == 0;
    close(fd);
    int linked = written ? link(draft, path) : -1;
    int why = errno;
    unlink(draft);
    if (linked < 0 && why != EEXIST)
        return err_set(err, "cannot write `%s`: %s", path, strerror(why));
    return 0;
}

int session_keep_init(struct session_core *core, const char *home, struct err *err) {
    char path[4096];
    rand_bytes(core->node, sizeof(core->node));
    rand_bytes(core->state_key, sizeof(core->state_key));
    if (!home)
        return 0;
    snprintf(path, sizeof(path), "%s/request-state.key", home);
    if (read_key(path, core->state_key))
        return 0;
    if (make_key(path, err) < 0)
        return -1;
    return read_key(path, core->state_key) ? 0 : err_set(err, "`%s` is not a key of 32 bytes", path);
}

/* ---- text in base64url ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void put_base64(struct buf *out, const unsigned char *p, size_t len) {
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | p[i];
        for (have += 8; have >= 6; have -= 6)
            buf_put_char(out, digits[bits >> (have - 6) & 63]);
    }
    if (have)
        buf_put_char(out, digits[bits << (6 - have) & 63]);
}

static bool get_base64(struct slice text, unsigned char *to, size_t *ret_len) {
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *at = text.ptr[i] ? strchr(digits, text.ptr[i]) : NULL;
        if (!at)
            return false;
        bits = bits << 6 | (uint32_t)(at - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[n++] = (unsigned char)(bits >> have);
        }
    }
    *ret_len = n;
    return (bits & ((1u << have) - 1)) == 0; /* one text for one meaning */
}

/* ---- sealing ---- */

struct slice keep_close(const struct session_core *core, struct slice owner, struct slice text,
                        struct arena *a) {
    size_t len = NONCE_LEN + text.len + TAG_LEN;
    unsigned char *box = arena_alloc(a, len);
    int n, end;
    rand_bytes(box, NONCE_LEN);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    CHECK(ctx && EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, core->state_key, box) == 1 &&
          EVP_EncryptUpdate(ctx, NULL, &n, (const unsigned char *)owner.ptr, (int)owner.len) == 1 &&
          EVP_EncryptUpdate(ctx, box + NONCE_LEN, &n, (const unsigned char *)text.ptr, (int)text.len) == 1 &&
          EVP_EncryptFinal_ex(ctx, box + NONCE_LEN + n, &end) == 1 &&
          EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_LEN, box + NONCE_LEN + text.len) == 1);
    EVP_CIPHER_CTX_free(ctx);
    struct buf out;
    buf_init(&out, len * 2 + 16);
    buf_put_str(&out, KEEP_MARK);
    put_base64(&out, box, len);
    struct slice sealed = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return sealed;
}

struct slice keep_open(const struct session_core *core, struct slice owner, struct slice sealed,
                       struct arena *a) {
    size_t len = 0;
    int n = 0, end = 0;
    if (!slice_starts(sealed, SLICE(KEEP_MARK)) || sealed.len > SESSION_STATE_MAX * 2)
        return (struct slice){0};
    sealed = slice_from(sealed, strlen(KEEP_MARK));
    unsigned char *box = arena_alloc(a, sealed.len + 1);
    if (!get_base64(sealed, box, &len) || len < NONCE_LEN + TAG_LEN)
        return (struct slice){0};
    size_t inner = len - NONCE_LEN - TAG_LEN;
    unsigned char *text = arena_alloc(a, inner + 1);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    CHECK(ctx);
    bool good = EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, core->state_key, box) == 1 &&
                EVP_DecryptUpdate(ctx, NULL, &n, (const unsigned char *)owner.ptr, (int)owner.len) == 1 &&
                EVP_DecryptUpdate(ctx, text, &n, box + NONCE_LEN, (int)inner) == 1 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_LEN, box + len - TAG_LEN) == 1 &&
                EVP_DecryptFinal_ex(ctx, text + n, &end) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return good ? slice_of((char *)text, inner) : (struct slice){0};
}
