#include "filter/box.h"

#include "crypto/aead.h"
#include "crypto/keyfile.h"

/* magic 8 | what crypto/aead.h makes of the plaintext
 * plaintext: per entry  id kind value raw origin* , each as length (4, little-endian) and bytes, with a head
 * of created_ms (8) level (1) number (1) origins (1) */
#define BOX_MAGIC "SPVAULT1"
#define BOX_HEAD (8 + CRYPTO_SEAL_HEAD)

static void put_u32(struct buf *b, uint32_t v) {
    const uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    buf_put(b, bytes, 4);
}

static void put_text(struct buf *b, struct slice s) {
    put_u32(b, (uint32_t)s.len);
    buf_put_slice(b, s);
}

/* Appends one entry; true if it fits. */
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

int filter_box_seal(const struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct buf *out,
                    struct err *err) {
    cleanup_wipe struct buf plain;
    buf_init(&plain, FILTER_VAULT_BYTES_MAX * 2u);
    if (!filter_memory_each(m, put_entry, &plain))
        return err_set(err, "the vault is too large to be stored");
    buf_put(out, BOX_MAGIC, 8);
    char *room = buf_reserve(out, CRYPTO_SEAL_HEAD + plain.len);
    if (!room)
        return err_set(err, "the vault is too large to be stored");
    crypto_seal(key, SLICE(""), buf_slice(&plain), room);
    out->len += CRYPTO_SEAL_HEAD + plain.len;
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
    cleanup_wipe struct buf plain;
    buf_init(&plain, FILTER_VALUE_MAX * 8u);
    char *room = put_entry(&plain, id, e) ? buf_reserve(out, CRYPTO_SEAL_HEAD + plain.len) : NULL;
    if (!room)
        return false;
    crypto_seal(key, bound, buf_slice(&plain), room);
    out->len += CRYPTO_SEAL_HEAD + plain.len;
    return true;
}

bool filter_box_open_entry(struct slice box, struct slice bound, const uint8_t key[FILTER_BOX_KEY],
                           struct arena *a, struct slice *ret_id, struct filter_entry *ret_entry) {
    if (box.len < CRYPTO_SEAL_HEAD)
        return false;
    const size_t len = box.len - CRYPTO_SEAL_HEAD;
    char *plain = arena_alloc(a, len + 1);
    if (!crypto_unseal(key, bound, box, plain))
        return false;
    struct reader r = {(const uint8_t *)plain, len, false};
    return get_entry(&r, ret_id, ret_entry) && r.left == 0;
}

int filter_box_open(struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct slice box,
                    struct err *err) {
    if (box.len < BOX_HEAD || memcmp(box.ptr, BOX_MAGIC, 8) != 0)
        return err_set(err, "this is not a vault");
    const size_t len = box.len - BOX_HEAD;
    cleanup_wipe struct buf plain;
    buf_init(&plain, len + 1);
    char *room = buf_reserve(&plain, len + 1);
    bool fine = crypto_unseal(key, SLICE(""), slice_from(box, 8), room);
    struct reader r = {(const uint8_t *)room, len, false};
    while (fine && r.left)
        fine = take_entry(&r, m);
    return fine
               ? 0
               : err_set(err, "the vault cannot be decrypted: it was changed, or encrypted with another key");
}
