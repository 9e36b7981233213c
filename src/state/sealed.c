#include "state/sealed.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "state/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* magic 8 | nonce 12 | tag 16 | ciphertext */
#define SEALED_MAGIC "SPSEAL01"
#define SEALED_NONCE 12
#define SEALED_TAG 16
#define SEALED_HEAD (8 + SEALED_NONCE + SEALED_TAG)
#define SEALED_KEY 32

bool state_sealed_path(const char *home, const char *dir, const char *name,
                       char ret_path[STATE_SEALED_PATH_MAX]) {
    bool plain = name[0] && name[0] != '.' && !strchr(name, '/');
    return plain &&
           snprintf(ret_path, STATE_SEALED_PATH_MAX, "%s/%s/%s", home, dir, name) < STATE_SEALED_PATH_MAX;
}

static int read_whole(const char *path, size_t max, struct buf *out, bool *ret_absent, struct err *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *ret_absent = fd < 0 && errno == ENOENT;
    for (ssize_t got = 1; fd >= 0 && got > 0;) {
        char *room = out->len < max ? buf_reserve(out, max - out->len) : NULL;
        got = room ? read(fd, room, max - out->len) : 0;
        if (got < 0 && errno != EINTR)
            return err_set(err, "read `%s`: %s", path, strerror(errno));
        out->len += got > 0 ? (size_t)got : 0;
        if (!room)
            return err_set(err, "`%s` is larger than %zu bytes", path, max);
    }
    return fd < 0 ? err_set(err, "open `%s`: %s", path, strerror(errno)) : 0;
}

/* All of it under another name, then in its place. */
static int write_whole(const char *path, struct slice text, bool replace, struct err *err) {
    char fresh[STATE_SEALED_PATH_MAX + 16], tail[9];
    rand_token(tail, 8);
    snprintf(fresh, sizeof(fresh), "%s.%s", path, tail);
    cleanup_fd int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, "make `%s`: %s", fresh, strerror(errno));
    bool fine = write(fd, text.ptr, text.len) == (ssize_t)text.len && fsync(fd) == 0;
    if (fine && replace)
        fine = rename(fresh, path) == 0;
    else if (fine)
        fine = link(fresh, path) == 0 || errno == EEXIST; /* whoever was first has made it */
    int why = errno;
    if (!fine || !replace)
        unlink(fresh);
    return fine ? 0 : err_set(err, "write `%s`: %s", path, strerror(why));
}

static int key_get(const char *home, unsigned char key[SEALED_KEY], struct err *err) {
    char path[STATE_SEALED_PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/secret.key", home) >= (int)sizeof(path))
        return err_set(err, "the home's path is too long");
    for (int tries = 0; tries < 2; tries++) {
        cleanup_buf struct buf text;
        buf_init(&text, SEALED_KEY + 1);
        bool absent;
        if (read_whole(path, SEALED_KEY + 1, &text, &absent, err) == 0) {
            if (text.len != SEALED_KEY)
                return err_set(err, "`%s` is no key", path);
            memcpy(key, text.ptr, SEALED_KEY);
            OPENSSL_cleanse(text.ptr, text.cap);
            return 0;
        }
        if (!absent)
            return -1;
        rand_bytes(key, SEALED_KEY);
        if (state_make_dir(home, err) < 0 ||
            write_whole(path, slice_of((char *)key, SEALED_KEY), false, err) < 0)
            return -1;
    }
    return err_set(err, "`%s` does not stay", path);
}

static bool box_crypt(const unsigned char *key, const unsigned char *nonce, unsigned char *tag,
                      struct slice name, struct slice in, unsigned char *out, bool seal) {
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int len = 0, last = 0;
    bool fine = c && EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce, seal) == 1 &&
                (seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, SEALED_TAG, tag) == 1) &&
                EVP_CipherUpdate(c, NULL, &len, (const unsigned char *)name.ptr, (int)name.len) == 1 &&
                EVP_CipherUpdate(c, out, &len, (const unsigned char *)in.ptr, (int)in.len) == 1 &&
                EVP_CipherFinal_ex(c, out + len, &last) == 1 &&
                (!seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, SEALED_TAG, tag) == 1);
    EVP_CIPHER_CTX_free(c);
    return fine;
}

int state_sealed_write(const char *home, const char *dir, const char *name, struct slice text,
                       struct err *err) {
    char path[STATE_SEALED_PATH_MAX], folder[STATE_SEALED_PATH_MAX];
    unsigned char key[SEALED_KEY];
    if (!state_sealed_path(home, dir, name, path) || text.len > STATE_SEALED_MAX)
        return err_set(err, "`%s` cannot be kept under that name or is too large", name);
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (state_make_dir(folder, err) < 0 || key_get(home, key, err) < 0)
        return -1;
    size_t size = SEALED_HEAD + text.len;
    unsigned char *box = mem_zalloc(size);
    memcpy(box, SEALED_MAGIC, 8);
    rand_bytes(box + 8, SEALED_NONCE);
    bool fine =
        box_crypt(key, box + 8, box + 8 + SEALED_NONCE, slice_str(name), text, box + SEALED_HEAD, true);
    OPENSSL_cleanse(key, sizeof(key));
    int rc = fine ? write_whole(path, slice_of((char *)box, size), true, err)
                  : err_set(err, "`%s` cannot be sealed", name);
    free(box);
    return rc;
}

int state_sealed_read(const char *home, const char *dir, const char *name, struct buf *out, bool *ret_absent,
                      struct err *err) {
    char path[STATE_SEALED_PATH_MAX];
    unsigned char key[SEALED_KEY];
    bool absent = false;
    cleanup_buf struct buf box;
    buf_init(&box, SEALED_HEAD + STATE_SEALED_MAX + 1);
    if (!state_sealed_path(home, dir, name, path))
        return err_set(err, "nothing can be kept under the name `%s`", name);
    int rc = read_whole(path, SEALED_HEAD + STATE_SEALED_MAX + 1, &box, &absent, err);
    if (ret_absent)
        *ret_absent = absent;
    if (rc < 0 || key_get(home, key, err) < 0)
        return -1;
    if (box.len < SEALED_HEAD || memcmp(box.ptr, SEALED_MAGIC, 8) != 0)
        return err_set(err, "`%s` is not sealed", path);
    struct slice inside = slice_from(buf_slice(&box), SEALED_HEAD);
    unsigned char *at = (unsigned char *)box.ptr + 8;
    char *room = buf_reserve(out, inside.len + 1);
    bool fine =
        room && box_crypt(key, at, at + SEALED_NONCE, slice_str(name), inside, (unsigned char *)room, false);
    OPENSSL_cleanse(key, sizeof(key));
    if (!fine)
        return err_set(err, "`%s` does not open: it was changed, or sealed with another key", path);
    out->len += inside.len;
    return 0;
}

int state_sealed_remove(const char *home, const char *dir, const char *name, struct err *err) {
    char path[STATE_SEALED_PATH_MAX];
    if (!state_sealed_path(home, dir, name, path))
        return err_set(err, "nothing can be kept under the name `%s`", name);
    return unlink(path) == 0 ? 0 : err_set(err, "remove `%s`: %s", path, strerror(errno));
}
