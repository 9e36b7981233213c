#include "era/request_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "call/core.h"
#include "crypto/aead.h"
#include "crypto/keyfile.h"
#include "era/limits.h"
#include "io/file.h"
#include "wire/base64.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct request_state {
    char *path; /* NULL: the key is valid until the process ends */
    uint64_t keep_ms;
    unsigned char keys[REQUEST_STATE_KEYS_MAX][CRYPTO_SEAL_KEY];
    size_t count;
    struct stat seen;    /* time stamp of the file that was read */
    struct stat refused; /* time stamp of an invalid file */
};

/* ---- the keys ---- */

static int read_keys(struct request_state *k, bool *ret_missing, struct err *err) {
    struct stat st;
    cleanup_wipe struct buf bytes;
    if (crypto_keyfile_read(k->path, &bytes, &st, ret_missing, err) < 0)
        return -1;
    if (!bytes.len || bytes.len % CRYPTO_SEAL_KEY || bytes.len > sizeof(k->keys))
        return err_set(err, "`%s` is damaged: it does not hold keys of %d bytes, at most %d of them", k->path,
                       CRYPTO_SEAL_KEY, REQUEST_STATE_KEYS_MAX);
    k->seen = st;
    k->count = bytes.len / CRYPTO_SEAL_KEY;
    memcpy(k->keys, bytes.ptr, bytes.len);
    return 0;
}

int request_state_init(struct core *core, const struct request_state_config *config, struct err *err) {
    request_state_free(core);
    struct request_state *k = core->request_state = mem_zalloc(sizeof(*k));
    rand_bytes(core->node, sizeof(core->node));
    rand_bytes(k->keys[0], CRYPTO_SEAL_KEY);
    k->count = 1;
    k->keep_ms = config->keep_ms ? config->keep_ms : PARK_MS;
    if (!config->key && !config->home)
        return 0;
    char path[4096];
    snprintf(path, sizeof(path), "%s%s", config->key ? config->key : config->home,
             config->key ? "" : "/request-state.key");
    k->path = mem_dup(path, strlen(path));
    bool missing;
    if (read_keys(k, &missing, err) == 0)
        return 0;
    if (!missing || crypto_keyfile_create(k->path, slice_of((char *)k->keys[0], CRYPTO_SEAL_KEY), err) < 0)
        return -1;
    return read_keys(k, &missing, err); /* another gate may have created it first */
}

void request_state_free(struct core *core) {
    struct request_state *k = steal(core->request_state);
    if (!k)
        return;
    free(k->path);
    explicit_bzero(k, sizeof(*k));
    free(k);
}

uint64_t request_state_ms(const struct core *core) { return core->request_state->keep_ms; }

/* The file may contain new keys; while it is invalid, the current keys stay in use. */
static struct request_state *fresh(const struct core *core) {
    struct request_state *k = core->request_state;
    struct stat st;
    struct err err = {0};
    bool missing;
    if (!k->path || stat(k->path, &st) < 0 || io_file_is_same(&st, &k->seen) ||
        io_file_is_same(&st, &k->refused))
        return k;
    if (read_keys(k, &missing, &err) < 0) {
        k->refused = st;
        log_warn("%s; the keys from before stay in force", err.text);
    } else {
        log_info("keys of requestState: %zu read from `%s`", k->count, k->path);
    }
    return k;
}

/* Keys after the first are older ones: they still decrypt states that clients hold. */
static bool key_is_over(const struct request_state *k, size_t i) {
    return i && clock_wall_ms() > (uint64_t)k->seen.st_mtim.tv_sec * 1000 + 999 + k->keep_ms;
}

/* ---- sealing ---- */

struct slice request_state_encrypt(const struct core *core, struct slice owner, struct slice text,
                                   struct arena *a) {
    size_t len = CRYPTO_SEAL_HEAD + text.len;
    char *box = arena_alloc(a, len);
    crypto_seal(fresh(core)->keys[0], owner, text, box);
    cleanup_buf struct buf out;
    buf_init(&out, len * 2 + 16);
    buf_put_str(&out, REQUEST_STATE_MARK);
    base64_put(&out, slice_of(box, len), BASE64_URL);
    return arena_dup(a, buf_slice(&out));
}

struct slice request_state_decrypt(const struct core *core, struct slice owner, struct slice sealed,
                                   struct arena *a) {
    if (!slice_starts(sealed, SLICE(REQUEST_STATE_MARK)) || sealed.len > REQUEST_STATE_MAX * 2)
        return (struct slice){0};
    sealed = slice_from(sealed, strlen(REQUEST_STATE_MARK));
    struct slice box;
    if (!base64_get(sealed, BASE64_URL, a, &box) || box.len < CRYPTO_SEAL_HEAD)
        return (struct slice){0};
    size_t len = box.len - CRYPTO_SEAL_HEAD;
    char *text = arena_alloc(a, len + 1);
    const struct request_state *k = fresh(core);
    for (size_t i = 0; i < k->count; i++)
        if (!key_is_over(k, i) && crypto_unseal(k->keys[i], owner, box, text))
            return slice_of(text, len);
    return (struct slice){0};
}
