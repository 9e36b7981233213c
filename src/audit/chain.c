#include "audit/chain.h"

#include "base/hex.h"
#include "base/mem.h"
#include "base/sha.h"
#include "io/file.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define HEAD_BYTES_MAX 4096
#define PROMISE_PATH "%s.head" /* beside the directory of the log */
#define CHAIN_KEY_NAME 17

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

int audit_chain_key_load(const char *home, struct crypto_signer **ret_key, struct err *err) {
    cleanup_free char *secret = NULL, *public = NULL;
    if (asprintf(&secret, "%s/audit.key", home) < 0 || asprintf(&public, "%s/audit.pub", home) < 0)
        return err_set(err, "out of memory");
    return crypto_signer_load(secret, public, ret_key, err);
}

int audit_chain_key_check(const char *home, struct err *err) {
    cleanup_free char *secret = NULL, *public = NULL;
    if (asprintf(&secret, "%s/audit.key", home) < 0 || asprintf(&public, "%s/audit.pub", home) < 0)
        return err_set(err, "out of memory");
    return crypto_signer_check(secret, public, err);
}

/* First bytes of the SHA-256 of the public key, in hex. */
static void key_name(const struct crypto_signer *key, char name[CHAIN_KEY_NAME]) {
    unsigned char raw[CRYPTO_SIGNATURE_KEY], digest[SHA_BYTES];
    struct slice bytes = slice_of((const char *)raw, sizeof(raw));
    crypto_signer_public(key, raw);
    sha_256(&bytes, 1, digest);
    hex_str(digest, (CHAIN_KEY_NAME - 1) / 2, name);
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

void audit_chain_sign(const struct crypto_signer *key, struct chain_point *point) {
    unsigned char bytes[POINT_BYTES];
    point_bytes(point, bytes);
    crypto_sign(key, slice_of((const char *)bytes, sizeof(bytes)), point->signature);
}

bool audit_chain_check(const struct crypto_signer *key, const struct chain_point *point) {
    unsigned char bytes[POINT_BYTES];
    point_bytes(point, bytes);
    return crypto_verify(key, slice_of((const char *)bytes, sizeof(bytes)), point->signature);
}

/* ---- the head file ---- */

static void head_hex(struct emit *e, const char *name, const unsigned char *bytes, size_t len) {
    char text[2 * CHAIN_SIGNATURE];
    hex_put(bytes, len, text);
    emit_key(e, name);
    emit_str(e, slice_of(text, 2 * len));
}

int audit_chain_head_write(const char *dir, const struct crypto_signer *key, const struct chain_point *point,
                           struct err *err) {
    struct chain_point old;
    /* Another instance may have signed a later point meanwhile. */
    if (audit_chain_head_read(dir, &old, NULL) == CHAIN_HEAD_READ &&
        memcmp(old.log_id, point->log_id, CHAIN_ID) == 0 && old.seq >= point->seq)
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
    key_name(key, name);
    emit_key(&e, "key");
    emit_cstr(&e, name);
    head_hex(&e, "signature", point->signature, CHAIN_SIGNATURE);
    emit_object_end(&e);
    buf_put_char(&text, '\n');
    cleanup_free char *path = NULL, *copy = NULL;
    if (asprintf(&path, "%s/head", dir) < 0 || asprintf(&copy, PROMISE_PATH, dir) < 0)
        return err_set(err, "out of memory");
    if (io_file_replace(path, buf_slice(&text), 0600, err) < 0)
        return -1;
    /* Without the copy only a later deletion of the whole log is not noticed. */
    io_file_post(copy, buf_slice(&text), 0600, NULL);
    return 0;
}

static bool head_bytes(const struct tape *t, const char *name, unsigned char *bytes, size_t len) {
    uint32_t node = tape_get_str(t, 0, name);
    if (!node || !tape_is(t, node, TAPE_STRING) || (tape_node(t, node)->flags & TAPE_ESCAPED))
        return false;
    return hex_get(slice_of(t->src.ptr + tape_node(t, node)->start, tape_node(t, node)->len), bytes, len);
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

static enum chain_head head_read(const char *path, struct chain_point *ret_point, struct err *err) {
    char text[HEAD_BYTES_MAX + 1];
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return CHAIN_HEAD_NONE;
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (got < 0)
        return err_set(err, "read `%s`: %s", path, strerror(errno)), CHAIN_HEAD_UNREAD;
    return audit_chain_head_parse(slice_of(text, (size_t)got), ret_point, NULL) < 0 ? CHAIN_HEAD_BAD
                                                                                    : CHAIN_HEAD_READ;
}

enum chain_head audit_chain_head_read(const char *dir, struct chain_point *ret_point, struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/head", dir) < 0)
        return err_set(err, "out of memory"), CHAIN_HEAD_UNREAD;
    return head_read(path, ret_point, err);
}

bool audit_chain_promise_read(const char *dir, struct chain_point *ret_point) {
    cleanup_free char *path = NULL;
    return asprintf(&path, PROMISE_PATH, dir) >= 0 && head_read(path, ret_point, NULL) == CHAIN_HEAD_READ;
}
