#include "session/keep.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rand.h"
#include "session/session.h"
#include "wire/base64.h"

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
    base64_put(&out, slice_of((char *)box, len), BASE64_URL);
    struct slice sealed = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return sealed;
}

struct slice keep_open(const struct session_core *core, struct slice owner, struct slice sealed,
                       struct arena *a) {
    int n = 0, end = 0;
    if (!slice_starts(sealed, SLICE(KEEP_MARK)) || sealed.len > SESSION_STATE_MAX * 2)
        return (struct slice){0};
    sealed = slice_from(sealed, strlen(KEEP_MARK));
    struct slice bytes;
    if (!base64_get(sealed, BASE64_URL, a, &bytes) || bytes.len < NONCE_LEN + TAG_LEN)
        return (struct slice){0};
    unsigned char *box = (unsigned char *)bytes.ptr;
    size_t inner = bytes.len - NONCE_LEN - TAG_LEN;
    unsigned char *text = arena_alloc(a, inner + 1);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    CHECK(ctx);
    bool good = EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, core->state_key, box) == 1 &&
                EVP_DecryptUpdate(ctx, NULL, &n, (const unsigned char *)owner.ptr, (int)owner.len) == 1 &&
                EVP_DecryptUpdate(ctx, text, &n, box + NONCE_LEN, (int)inner) == 1 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_LEN, box + bytes.len - TAG_LEN) == 1 &&
                EVP_DecryptFinal_ex(ctx, text + n, &end) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return good ? slice_of((char *)text, inner) : (struct slice){0};
}
