#include "filter/box.h"

#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"

/* magic 8 | nonce 12 | tag 16 | ciphertext
 * plaintext: per entry  id kind value raw origin* , each as length (4, little-endian) and bytes, with a head
 * of created_ms (8) level (1) number (1) origins (1) */
#define BOX_MAGIC "SPVAULT1"
#define BOX_HEAD (8 + 12 + 16)

static void put_u32(struct buf *b, uint32_t v) {
    const uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    buf_put(b, bytes, 4);
}

static void put_text(struct buf *b, struct slice s) {
    put_u32(b, (uint32_t)s.len);
    buf_put_slice(b, s);
}

/* One entry; true when it fits. */
static bool put_entry(void *ctx, struct slice id, const struct filter_entry *e) {
    struct buf *b = ctx;
    put_u32(b, (uint32_t)e->created_ms);
    put_u32(b, (uint32_t)(e->created_ms >> 32));
    const uint8_t marks[3] = {e->level, e->number, e->origin_count};
    buf_put(b, marks, 3);
    put_text(b, id);
    put_text(b, e->kind);
    put_text(b, e->value);
    put_text(b, e->raw);
    for (uint8_t i = 0; i < e->origin_count; i++)
        put_text(b, e->origins[i]);
    return !b->full;
}

static bool box_crypt(const uint8_t *key, const uint8_t *nonce, uint8_t *tag, struct slice bound,
                      struct slice in, char *out, bool seal) {
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int len = 0, last = 0;
    bool fine = c && in.len < (1u << 30) && bound.len < (1u << 20) &&
                EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce, seal) == 1 &&
                EVP_CipherUpdate(c, NULL, &len, (const uint8_t *)bound.ptr, (int)bound.len) == 1 &&
                (seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, 16, tag) == 1) &&
                EVP_CipherUpdate(c, (uint8_t *)out, &len, (const uint8_t *)in.ptr, (int)in.len) == 1 &&
                EVP_CipherFinal_ex(c, (uint8_t *)out + len, &last) == 1 &&
                (!seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, 16, tag) == 1);
    EVP_CIPHER_CTX_free(c);
    return fine;
}

static void wipe(struct buf *b) {
    if (b->ptr)
        OPENSSL_cleanse(b->ptr, b->cap);
    buf_free(b);
}

int filter_box_seal(const struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct buf *out,
                    struct err *err) {
    struct buf plain;
    buf_init(&plain, FILTER_VAULT_BYTES_MAX * 2u);
    if (!filter_memory_each(m, put_entry, &plain)) {
        wipe(&plain);
        return err_set(err, "the vault is too large to be kept");
    }
    uint8_t nonce[12], tag[16];
    rand_bytes(nonce, sizeof(nonce));
    buf_put(out, BOX_MAGIC, 8);
    buf_put(out, nonce, 12);
    const size_t tag_at = out->len;
    char *room = buf_reserve(out, 16 + plain.len + 16);
    if (!room || !box_crypt(key, nonce, tag, SLICE(""), buf_slice(&plain), room + 16, true)) {
        wipe(&plain);
        return err_set(err, "the vault can not be sealed");
    }
    memcpy(out->ptr + tag_at, tag, 16);
    out->len += 16 + plain.len;
    wipe(&plain);
    return 0;
}

struct reader {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static uint32_t get_u32(struct reader *r) {
    if (r->left < 4) {
        r->bad = true;
        return 0;
    }
    const uint8_t *p = r->at;
    r->at += 4;
    r->left -= 4;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static struct slice get_text(struct reader *r) {
    const uint32_t len = get_u32(r);
    if (r->bad || len > r->left) {
        r->bad = true;
        return (struct slice){0};
    }
    const struct slice s = {(const char *)r->at, len};
    r->at += len;
    r->left -= len;
    return s;
}

static bool get_entry(struct reader *r, struct slice *ret_id, struct filter_entry *ret_entry) {
    struct filter_entry e = {0};
    e.created_ms = get_u32(r);
    e.created_ms |= (uint64_t)get_u32(r) << 32;
    if (r->bad || r->left < 3)
        return false;
    e.level = r->at[0];
    e.number = r->at[1] != 0;
    e.origin_count = r->at[2];
    r->at += 3;
    r->left -= 3;
    *ret_id = get_text(r);
    e.kind = get_text(r);
    e.value = get_text(r);
    e.raw = get_text(r);
    if (e.origin_count > FILTER_ORIGINS_MAX)
        return false;
    for (uint8_t i = 0; i < e.origin_count; i++)
        e.origins[i] = get_text(r);
    *ret_entry = e;
    return !r->bad && ret_id->len < FILTER_TOKEN_TEXT_MAX;
}

static bool take_entry(struct reader *r, struct filter_memory *m) {
    struct filter_entry e;
    struct slice id;
    const struct filter_vault v = filter_memory_vault(m);
    return get_entry(r, &id, &e) && v.ops->put(v.ctx, id, &e) <= FILTER_PUT_SAME;
}

bool filter_box_seal_entry(struct slice id, const struct filter_entry *e, struct slice bound,
                           const uint8_t key[FILTER_BOX_KEY], struct buf *out) {
    struct buf plain;
    uint8_t nonce[12], tag[16];
    buf_init(&plain, FILTER_VALUE_MAX * 8u);
    rand_bytes(nonce, sizeof(nonce));
    bool fine = put_entry(&plain, id, e);
    buf_put(out, nonce, 12);
    char *room = fine ? buf_reserve(out, 16 + plain.len) : NULL;
    fine = room && box_crypt(key, nonce, tag, bound, buf_slice(&plain), room + 16, true);
    if (fine) {
        memcpy(room, tag, 16);
        out->len += 16 + plain.len;
    }
    wipe(&plain);
    return fine;
}

bool filter_box_open_entry(struct slice box, struct slice bound, const uint8_t key[FILTER_BOX_KEY],
                           struct arena *a, struct slice *ret_id, struct filter_entry *ret_entry) {
    uint8_t tag[16];
    if (box.len < 12 + 16)
        return false;
    memcpy(tag, box.ptr + 12, 16);
    const struct slice sealed = slice_from(box, 12 + 16);
    char *plain = arena_alloc(a, sealed.len + 16);
    if (!box_crypt(key, (const uint8_t *)box.ptr, tag, bound, sealed, plain, false))
        return false;
    struct reader r = {(const uint8_t *)plain, sealed.len, false};
    return get_entry(&r, ret_id, ret_entry) && r.left == 0;
}

int filter_box_open(struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct slice box,
                    struct err *err) {
    uint8_t tag[16];
    if (box.len < BOX_HEAD || memcmp(box.ptr, BOX_MAGIC, 8) != 0)
        return err_set(err, "this is no vault");
    const size_t len = box.len - BOX_HEAD;
    char *plain = mem_alloc(len + 16);
    memcpy(tag, box.ptr + 20, 16);
    bool fine =
        box_crypt(key, (const uint8_t *)box.ptr + 8, tag, SLICE(""), slice_from(box, BOX_HEAD), plain, false);
    struct reader r = {(const uint8_t *)plain, len, false};
    while (fine && r.left)
        fine = take_entry(&r, m);
    OPENSSL_cleanse(plain, len + 16);
    free(plain);
    return fine ? 0 : err_set(err, "the vault does not open: it was changed, or sealed with another key");
}
