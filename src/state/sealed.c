#include "state/sealed.h"

#include "base/mem.h"
#include "crypto/aead.h"
#include "crypto/keyfile.h"
#include "io/file.h"

#include <errno.h>
#include <stdio.h>

/* magic 8 | what crypto/aead.h makes of the text */
#define SEALED_MAGIC "SPSEAL01"
#define SEALED_HEAD (8 + CRYPTO_SEAL_HEAD)

bool state_sealed_path(const char *home, const char *dir, const char *name,
                       char ret_path[STATE_SEALED_PATH_MAX]) {
    bool plain = name[0] && name[0] != '.' && !strchr(name, '/');
    return plain &&
           snprintf(ret_path, STATE_SEALED_PATH_MAX, "%s/%s/%s", home, dir, name) < STATE_SEALED_PATH_MAX;
}

static int key_get(const char *home, unsigned char key[CRYPTO_SEAL_KEY], struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/secret.key", home) < 0)
        return err_set(err, "out of memory");
    return crypto_keyfile_load(path, key, CRYPTO_SEAL_KEY, err);
}

int state_sealed_write(const char *home, const char *dir, const char *name, struct slice text,
                       struct err *err) {
    char path[STATE_SEALED_PATH_MAX], folder[STATE_SEALED_PATH_MAX];
    unsigned char key[CRYPTO_SEAL_KEY];
    if (!state_sealed_path(home, dir, name, path) || text.len > STATE_SEALED_MAX)
        return err_set(err, "`%s` cannot be stored under that name or is too large", name);
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (io_make_dir(folder, err) < 0 || key_get(home, key, err) < 0)
        return -1;
    char *box = mem_alloc(SEALED_HEAD + text.len);
    memcpy(box, SEALED_MAGIC, 8);
    crypto_seal(key, slice_str(name), text, box + 8);
    explicit_bzero(key, sizeof(key));
    int rc = io_file_replace(path, slice_of(box, SEALED_HEAD + text.len), 0600, err);
    free(box);
    return rc;
}

static int unseal(const char *home, const char *name, const char *path, struct slice file, struct buf *out,
                  struct err *err) {
    unsigned char key[CRYPTO_SEAL_KEY];
    if (key_get(home, key, err) < 0)
        return -1;
    if (file.len < SEALED_HEAD || memcmp(file.ptr, SEALED_MAGIC, 8) != 0)
        return err_set(err, "`%s` is not encrypted", path);
    char *room = buf_reserve(out, file.len - SEALED_HEAD + 1);
    bool fine = room && crypto_unseal(key, slice_str(name), slice_from(file, 8), room);
    explicit_bzero(key, sizeof(key));
    if (!fine)
        return err_set(err, "`%s` cannot be decrypted: it was changed, or encrypted with another key", path);
    out->len += file.len - SEALED_HEAD;
    return 0;
}

int state_sealed_read(const char *home, const char *dir, const char *name, struct buf *out, bool *ret_absent,
                      struct err *err) {
    char path[STATE_SEALED_PATH_MAX];
    cleanup_buf struct buf box;
    buf_init(&box, STATE_SEALED_FILE_MAX);
    if (!state_sealed_path(home, dir, name, path))
        return err_set(err, "nothing can be stored under the name `%s`", name);
    if (io_file_read(path, &box, ret_absent, err) < 0)
        return -1;
    return unseal(home, name, path, buf_slice(&box), out, err);
}

int state_sealed_check(const char *home, const char *name, struct slice file, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, STATE_SEALED_MAX + 1);
    int rc = unseal(home, name, name, file, &text, err);
    if (text.ptr)
        explicit_bzero(text.ptr, text.cap);
    return rc;
}

int state_sealed_remove(const char *home, const char *dir, const char *name, struct err *err) {
    char path[STATE_SEALED_PATH_MAX];
    if (!state_sealed_path(home, dir, name, path))
        return err_set(err, "nothing can be stored under the name `%s`", name);
    return unlink(path) == 0 ? 0 : err_set(err, "remove `%s`: %s", path, strerror(errno));
}
