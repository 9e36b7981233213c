#include "era/request_state.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "era/limits.h"
#include "session/session.h"
#include "wire/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_LEN 32
#define NONCE_LEN 12
#define TAG_LEN 16

struct request_state {
    char *path;   /* NULL: the key lives as long as the process */
    bool in_home; /* whoever put another file in our own directory is not followed */
    uint64_t keep_ms;
    unsigned char keys[REQUEST_STATE_KEYS_MAX][KEY_LEN];
    size_t count;
    struct stat seen;    /* of the file that they were read from */
    struct stat refused; /* of one that was no good */
};

/* ---- the keys ---- */

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* -1 with errno ENOENT when there is none. */
static int read_keys(struct request_state *k, struct err *err) {
    unsigned char keys[REQUEST_STATE_KEYS_MAX * KEY_LEN + 1];
    struct stat st;
    int fd = open(k->path, O_RDONLY | O_CLOEXEC | (k->in_home ? O_NOFOLLOW : 0));
    if (fd < 0) {
        int why = errno;
        err_set(err, "cannot read `%s`: %s", k->path, strerror(why));
        errno = why;
        return -1;
    }
    bool known = fstat(fd, &st) == 0;
    ssize_t n = read(fd, keys, sizeof(keys));
    close(fd);
    errno = 0;
    if (!known || n <= 0 || n % KEY_LEN || n > REQUEST_STATE_KEYS_MAX * KEY_LEN)
        return err_set(err, "`%s` does not hold keys of %d bytes, at most %d of them", k->path, KEY_LEN,
                       REQUEST_STATE_KEYS_MAX);
    if (st.st_mode & (S_IROTH | S_IWOTH))
        return err_set(err, "`%s` can be read or written by everybody", k->path);
    k->seen = st;
    k->count = (size_t)n / KEY_LEN;
    memcpy(k->keys, keys, (size_t)n);
    explicit_bzero(keys, sizeof(keys));
    return 0;
}

/* Written beside and linked into place, so that two gates that start together end up with one key. */
static int make_key(const char *path, struct err *err) {
    unsigned char key[KEY_LEN];
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

int request_state_init(struct core *core, const struct request_state_config *config, struct err *err) {
    request_state_free(core);
    struct request_state *k = core->request_state = mem_zalloc(sizeof(*k));
    rand_bytes(core->node, sizeof(core->node));
    rand_bytes(k->keys[0], KEY_LEN);
    k->count = 1;
    k->keep_ms = config->keep_ms ? config->keep_ms : PARK_MS;
    k->in_home = !config->key;
    if (!config->key && !config->home)
        return 0;
    char path[4096];
    snprintf(path, sizeof(path), "%s%s", config->key ? config->key : config->home,
             config->key ? "" : "/request-state.key");
    k->path = mem_dup(path, strlen(path));
    if (read_keys(k, err) == 0)
        return 0;
    if (errno != ENOENT || make_key(k->path, err) < 0)
        return -1;
    return read_keys(k, err);
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

/* Other keys may have been put there since; while those are no good, the ones we have stay. */
static struct request_state *fresh(const struct core *core) {
    struct request_state *k = core->request_state;
    struct stat st;
    struct err err = {0};
    if (!k->path || stat(k->path, &st) < 0 || same_file(&st, &k->seen) || same_file(&st, &k->refused))
        return k;
    if (read_keys(k, &err) < 0) {
        k->refused = st;
        log_warn("%s; the keys from before stay in force", err.text);
    } else {
        log_info("keys of requestState: %zu read from `%s`", k->count, k->path);
    }
    return k;
}

/* All but the first are those from before: good for what may still be on its way. */
static bool key_is_over(const struct request_state *k, size_t i) {
    return i && clock_wall_ms() > (uint64_t)k->seen.st_mtim.tv_sec * 1000 + 999 + k->keep_ms;
}

/* ---- sealing ---- */

struct slice request_state_encrypt(const struct core *core, struct slice owner, struct slice text,
                                   struct arena *a) {
    size_t len = NONCE_LEN + text.len + TAG_LEN;
    unsigned char *box = arena_alloc(a, len);
    int n, end;
    rand_bytes(box, NONCE_LEN);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    CHECK(ctx && EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, fresh(core)->keys[0], box) == 1 &&
          EVP_EncryptUpdate(ctx, NULL, &n, (const unsigned char *)owner.ptr, (int)owner.len) == 1 &&
          EVP_EncryptUpdate(ctx, box + NONCE_LEN, &n, (const unsigned char *)text.ptr, (int)text.len) == 1 &&
          EVP_EncryptFinal_ex(ctx, box + NONCE_LEN + n, &end) == 1 &&
          EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_LEN, box + NONCE_LEN + text.len) == 1);
    EVP_CIPHER_CTX_free(ctx);
    struct buf out;
    buf_init(&out, len * 2 + 16);
    buf_put_str(&out, REQUEST_STATE_MARK);
    base64_put(&out, slice_of((char *)box, len), BASE64_URL);
    struct slice sealed = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return sealed;
}

static bool open_with(const unsigned char key[KEY_LEN], struct slice owner, struct slice box,
                      unsigned char *text) {
    const unsigned char *at = (const unsigned char *)box.ptr;
    int n = 0, end = 0;
    size_t inner = box.len - NONCE_LEN - TAG_LEN;
    unsigned char tag[TAG_LEN];
    memcpy(tag, at + box.len - TAG_LEN, TAG_LEN);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    CHECK(ctx);
    bool good = EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, at) == 1 &&
                EVP_DecryptUpdate(ctx, NULL, &n, (const unsigned char *)owner.ptr, (int)owner.len) == 1 &&
                EVP_DecryptUpdate(ctx, text, &n, at + NONCE_LEN, (int)inner) == 1 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_LEN, tag) == 1 &&
                EVP_DecryptFinal_ex(ctx, text + n, &end) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

struct slice request_state_decrypt(const struct core *core, struct slice owner, struct slice sealed,
                                   struct arena *a) {
    if (!slice_starts(sealed, SLICE(REQUEST_STATE_MARK)) || sealed.len > REQUEST_STATE_MAX * 2)
        return (struct slice){0};
    sealed = slice_from(sealed, strlen(REQUEST_STATE_MARK));
    struct slice box;
    if (!base64_get(sealed, BASE64_URL, a, &box) || box.len < NONCE_LEN + TAG_LEN)
        return (struct slice){0};
    size_t inner = box.len - NONCE_LEN - TAG_LEN;
    unsigned char *text = arena_alloc(a, inner + 1);
    const struct request_state *k = fresh(core);
    for (size_t i = 0; i < k->count; i++)
        if (!key_is_over(k, i) && open_with(k->keys[i], owner, box, text))
            return slice_of((char *)text, inner);
    return (struct slice){0};
}
