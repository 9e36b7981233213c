#include "audit/chain.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/sha.h"
#include "wire/base64.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define HEAD_BYTES_MAX 4096

static const char record_tag[16] = "sallyport-rec-1";
static const char point_tag[16] = "sallyport-cp-1";

/* ---- hashing ---- */

void audit_chain_extend(unsigned char hash[CHAIN_HASH], uint64_t seq, struct slice record) {
    unsigned char front[sizeof(record_tag) + CHAIN_HASH + sizeof(uint64_t)];
    uint64_t number = htole64(seq);
    memcpy(front, record_tag, sizeof(record_tag));
    memcpy(front + sizeof(record_tag), hash, CHAIN_HASH);
    memcpy(front + sizeof(record_tag) + CHAIN_HASH, &number, sizeof(number));
    const struct slice parts[] = {slice_of((const char *)front, sizeof(front)), record};
    sha_256(parts, ARRAY_LEN(parts), hash);
}

/* ---- keys ---- */

struct chain_key {
    EVP_PKEY *pkey;
};

static int key_write(const char *path, mode_t mode, EVP_PKEY *pkey, bool secret, struct err *err) {
    cleanup_free char *temp = NULL;
    if (asprintf(&temp, "%s.%d", path, (int)gettid()) < 0)
        return err_set(err, "out of memory");
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return err_set(err, "write `%s`: %s", temp, strerror(errno));
    }
    bool fine = secret ? PEM_write_PrivateKey(file, pkey, NULL, NULL, 0, NULL, NULL) == 1
                       : PEM_write_PUBKEY(file, pkey) == 1;
    fine = fine && fflush(file) == 0 && fsync(fd) == 0;
    fine = fclose(file) == 0 && fine;
    /* link, not rename: of two processes that start at once, the second takes the first one's key. */
    int rc = fine && (link(temp, path) == 0 || errno == EEXIST) ? 0 : -1;
    if (rc < 0)
        err_set(err, "write `%s`: %s", path, strerror(errno));
    unlink(temp);
    return rc;
}

/* What OpenSSL writes for a secret Ed25519 key, RFC 8410: these bytes and then the key's. Read here, because
 * its own reader tries every format that it knows, which takes longer than all the rest of a start. */
static const unsigned char secret_front[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                             0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
#define SECRET_BEGIN "-----BEGIN PRIVATE KEY-----\n"
#define SECRET_END "\n-----END PRIVATE KEY-----\n"
#define SECRET_TEXT 64 /* of both in base64 */

/* NULL: it looks otherwise, which does not make it wrong. */
static EVP_PKEY *key_take_usual(FILE *file) {
    char text[sizeof(SECRET_BEGIN SECRET_END) - 1 + SECRET_TEXT + 1];
    cleanup_arena struct arena a;
    struct slice der;
    EVP_PKEY *pkey = NULL;
    arena_init(&a);
    size_t len = fread(text, 1, sizeof(text), file);
    rewind(file);
    struct slice all = slice_of(text, len), body = slice_from(all, sizeof(SECRET_BEGIN) - 1);
    if (len == sizeof(text) - 1 && slice_starts(all, SLICE(SECRET_BEGIN)) &&
        slice_ends(all, SLICE(SECRET_END)) &&
        base64_get(slice_upto(body, SECRET_TEXT), BASE64_PADDED, &a, &der) &&
        slice_starts(der, slice_of((const char *)secret_front, sizeof(secret_front)))) {
        struct slice raw = slice_from(der, sizeof(secret_front));
        pkey =
            EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, (const unsigned char *)raw.ptr, raw.len);
        OPENSSL_cleanse((char *)(uintptr_t)der.ptr, der.len);
    }
    OPENSSL_cleanse(text, sizeof(text));
    return pkey;
}

static int key_read(const char *path, bool secret, EVP_PKEY **ret_pkey, struct err *err) {
    cleanup_file FILE *file = fopen(path, "re");
    if (!file)
        return err_set(err, "open `%s`: %s", path, strerror(errno));
    struct stat st;
    if (secret && (fstat(fileno(file), &st) < 0 || (st.st_mode & 077) != 0))
        return err_set(err, "`%s` may be read by others; make it 0600", path);
    EVP_PKEY *pkey = secret ? key_take_usual(file) : PEM_read_PUBKEY(file, NULL, NULL, NULL);
    if (!pkey && secret)
        pkey = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    if (!pkey || EVP_PKEY_base_id(pkey) != EVP_PKEY_ED25519) {
        EVP_PKEY_free(pkey);
        return err_set(err, "`%s` is no Ed25519 key", path);
    }
    *ret_pkey = pkey;
    return 0;
}

static struct chain_key *key_wrap(EVP_PKEY *take_pkey) {
    struct chain_key *key = mem_zalloc(sizeof(*key));
    key->pkey = take_pkey;
    return key;
}

int audit_chain_key_load(const char *home, struct chain_key **ret_key, struct err *err) {
    cleanup_free char *secret = NULL, *public = NULL;
    if (asprintf(&secret, "%s/audit.key", home) < 0 || asprintf(&public, "%s/audit.pub", home) < 0)
        return err_set(err, "out of memory");
    if (access(secret, F_OK) < 0) {
        EVP_PKEY *fresh = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
        CHECK(fresh);
        int rc = key_write(secret, 0600, fresh, true, err);
        EVP_PKEY_free(fresh);
        if (rc < 0)
            return -1;
    }
    EVP_PKEY *pkey = NULL;
    if (key_read(secret, true, &pkey, err) < 0)
        return -1;
    if (access(public, F_OK) < 0 && key_write(public, 0644, pkey, false, err) < 0) {
        EVP_PKEY_free(pkey);
        return -1;
    }
    *ret_key = key_wrap(pkey);
    return 0;
}

int audit_chain_key_read_public(const char *path, struct chain_key **ret_key, struct err *err) {
    EVP_PKEY *pkey = NULL;
    if (key_read(path, false, &pkey, err) < 0)
        return -1;
    *ret_key = key_wrap(pkey);
    return 0;
}

void audit_chain_key_free(struct chain_key *key) {
    if (!key)
        return;
    EVP_PKEY_free(key->pkey);
    free(key);
}

void audit_chain_key_name(const struct chain_key *key, char name[CHAIN_KEY_NAME]) {
    unsigned char raw[32], digest[EVP_MAX_MD_SIZE];
    size_t len = sizeof(raw);
    CHECK(EVP_PKEY_get_raw_public_key(key->pkey, raw, &len) == 1);
    CHECK(EVP_Digest(raw, len, digest, NULL, EVP_sha256(), NULL) == 1);
    audit_chain_hex(digest, (CHAIN_KEY_NAME - 1) / 2, name);
}

/* ---- points ---- */

#define POINT_BYTES (sizeof(point_tag) + CHAIN_ID + CHAIN_HASH + 2 * sizeof(uint64_t))

static void point_bytes(const struct chain_point *p, unsigned char bytes[POINT_BYTES]) {
    uint64_t seq = htole64(p->seq), time_ms = htole64(p->time_ms);
    memcpy(bytes, point_tag, sizeof(point_tag));
    bytes += sizeof(point_tag);
    memcpy(bytes, p->log_id, CHAIN_ID);
    memcpy(bytes + CHAIN_ID, p->hash, CHAIN_HASH);
    memcpy(bytes + CHAIN_ID + CHAIN_HASH, &seq, sizeof(seq));
    memcpy(bytes + CHAIN_ID + CHAIN_HASH + sizeof(seq), &time_ms, sizeof(time_ms));
}

void audit_chain_sign(const struct chain_key *key, struct chain_point *point) {
    unsigned char bytes[POINT_BYTES];
    size_t len = CHAIN_SIGNATURE;
    point_bytes(point, bytes);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CHECK(ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
          EVP_DigestSign(ctx, point->signature, &len, bytes, sizeof(bytes)) == 1 && len == CHAIN_SIGNATURE);
    EVP_MD_CTX_free(ctx);
}

bool audit_chain_check(const struct chain_key *key, const struct chain_point *point) {
    unsigned char bytes[POINT_BYTES];
    point_bytes(point, bytes);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CHECK(ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->pkey) == 1);
    bool good = EVP_DigestVerify(ctx, point->signature, CHAIN_SIGNATURE, bytes, sizeof(bytes)) == 1;
    EVP_MD_CTX_free(ctx);
    return good;
}

/* ---- the head file ---- */

static void head_hex(struct emit *e, const char *name, const unsigned char *bytes, size_t len) {
    char text[2 * CHAIN_SIGNATURE + 1];
    audit_chain_hex(bytes, len, text);
    emit_key(e, name);
    emit_cstr(e, text);
}

static int head_store(const char *temp, const char *path, struct slice text) {
    cleanup_fd int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, text.ptr, text.len) != (ssize_t)text.len || fdatasync(fd) < 0 ||
        rename(temp, path) < 0)
        return -1;
    return 0;
}

int audit_chain_head_write(const char *dir, const struct chain_key *key, const struct chain_point *point,
                           struct err *err) {
    struct chain_point old;
    /* Another instance may have signed a later one meanwhile. */
    if (audit_chain_head_read(dir, &old, NULL) == 1 && memcmp(old.log_id, point->log_id, CHAIN_ID) == 0 &&
        old.seq >= point->seq)
        return 0;
    char name[CHAIN_KEY_NAME];
    cleanup_buf struct buf text;
    buf_init(&text, HEAD_BYTES_MAX);
    struct emit e;
    emit_init(&e, &text);
    emit_object(&e);
    head_hex(&e, "log", point->log_id, CHAIN_ID);
    emit_key(&e, "seq");
    emit_int(&e, (int64_t)point->seq);
    head_hex(&e, "hash", point->hash, CHAIN_HASH);
    emit_key(&e, "time_ms");
    emit_int(&e, (int64_t)point->time_ms);
    audit_chain_key_name(key, name);
    emit_key(&e, "key");
    emit_cstr(&e, name);
    head_hex(&e, "signature", point->signature, CHAIN_SIGNATURE);
    emit_object_end(&e);
    buf_put_char(&text, '\n');
    cleanup_free char *path = NULL, *temp = NULL;
    if (asprintf(&path, "%s/head", dir) < 0 || asprintf(&temp, "%s/head.%d", dir, (int)gettid()) < 0)
        return err_set(err, "out of memory");
    if (head_store(temp, path, buf_slice(&text)) < 0) {
        err_set(err, "write `%s`: %s", path, strerror(errno));
        unlink(temp);
        return -1;
    }
    return 0;
}

static bool head_bytes(const struct tape *t, const char *name, unsigned char *bytes, size_t len) {
    uint32_t node = tape_get_str(t, 0, name);
    if (!node || !tape_is(t, node, TAPE_STRING) || (tape_node(t, node)->flags & TAPE_ESCAPED))
        return false;
    return audit_chain_unhex(slice_of(t->src.ptr + tape_node(t, node)->start, tape_node(t, node)->len), bytes,
                             len);
}

static bool head_number(const struct tape *t, const char *name, uint64_t *ret_value) {
    uint32_t node = tape_get_str(t, 0, name);
    int64_t value;
    if (!node || !tape_int(t, node, &value) || value < 0)
        return false;
    *ret_value = (uint64_t)value;
    return true;
}

int audit_chain_head_parse(struct slice text, struct chain_point *ret_point, struct err *err) {
    cleanup_tape struct tape t;
    tape_init(&t);
    struct chain_point p;
    if (text.len > HEAD_BYTES_MAX || tape_parse(&t, text, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT) ||
        !head_bytes(&t, "log", p.log_id, CHAIN_ID) || !head_bytes(&t, "hash", p.hash, CHAIN_HASH) ||
        !head_bytes(&t, "signature", p.signature, CHAIN_SIGNATURE) || !head_number(&t, "seq", &p.seq) ||
        !head_number(&t, "time_ms", &p.time_ms))
        return err_set(err, "not a signed head");
    *ret_point = p;
    return 0;
}

enum chain_head audit_chain_head_read(const char *dir, struct chain_point *ret_point, struct err *err) {
    cleanup_free char *path = NULL;
    char text[HEAD_BYTES_MAX + 1];
    if (asprintf(&path, "%s/head", dir) < 0)
        return err_set(err, "out of memory"), CHAIN_HEAD_UNREAD;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return CHAIN_HEAD_NONE;
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (got < 0)
        return err_set(err, "read `%s`: %s", path, strerror(errno)), CHAIN_HEAD_UNREAD;
    return audit_chain_head_parse(slice_of(text, (size_t)got), ret_point, NULL) < 0 ? CHAIN_HEAD_BAD
                                                                                    : CHAIN_HEAD_READ;
}

/* ---- hex ---- */

void audit_chain_hex(const unsigned char *bytes, size_t len, char *text) {
    for (size_t i = 0; i < len; i++) {
        *text++ = "0123456789abcdef"[bytes[i] >> 4];
        *text++ = "0123456789abcdef"[bytes[i] & 15];
    }
    *text = '\0';
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool audit_chain_unhex(struct slice text, unsigned char *bytes, size_t len) {
    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(text.ptr[2 * i]), low = hex_digit(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
