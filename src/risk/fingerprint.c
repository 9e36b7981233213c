#include "risk/fingerprint.h"

#include "base/hex.h"
#include "base/openssl.h"
#include "wire/canon.h"
#include "wire/emit.h"

#include <stdlib.h>

bool risk_definition_text(const struct tape *t, uint32_t tool, struct arena *a, struct buf *out) {
    /* No client shows `_meta` to a model, and servers put changing values there. */
    static const char *const skip[] = {"_meta", NULL};
    return tape_is(t, tool, TAPE_OBJECT) && canon_write_without(t, tool, skip, a, out);
}

static int by_bytes(const void *a, const void *b) {
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static void put_sorted(struct emit *e, struct slice *names, size_t count) {
    qsort(names, count, sizeof *names, by_bytes);
    emit_array(e);
    for (size_t i = 0; i < count; i++)
        emit_str(e, names[i]);
    emit_array_end(e);
}

static void put_shape(const struct tape *t, uint32_t tool, struct arena *a, struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_array(&e);
    emit_str(&e, tape_text_of(t, tool, "name", a));
    uint32_t props = tape_path(t, tool, "inputSchema", "properties", NULL);
    uint32_t required = tape_path(t, tool, "inputSchema", "required", NULL);
    size_t count = 0;
    size_t max = props && tape_is(t, props, TAPE_OBJECT) ? tape_node(t, props)->count : 0;
    struct slice *names = arena_array(a, struct slice, max + 1);
    if (max)
        TAPE_FOR_MEMBER(t, props, key)
    names[count++] = tape_text(t, key, a);
    put_sorted(&e, names, count);
    count = 0;
    max = required && tape_is(t, required, TAPE_ARRAY) ? tape_node(t, required)->count : 0;
    names = arena_array(a, struct slice, max + 1);
    if (max)
        TAPE_FOR_ELEM(t, required, i)
    if (tape_is(t, i, TAPE_STRING))
        names[count++] = tape_text(t, i, a);
    put_sorted(&e, names, count);
    emit_array_end(&e);
}

bool risk_fingerprint_of(const struct tape *t, uint32_t tool, struct arena *a,
                         struct risk_fingerprint *ret_print) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_DEFINITION_BYTES_MAX);
    if (!risk_definition_text(t, tool, a, &text))
        return false;
    struct risk_fingerprint print;
    SHA256((const unsigned char *)text.ptr, text.len, print.full);
    buf_reset(&text);
    put_shape(t, tool, a, &text);
    if (text.full)
        return false;
    SHA256((const unsigned char *)text.ptr, text.len, print.shape);
    *ret_print = print;
    return true;
}

void risk_fingerprint_text(const uint8_t hash[RISK_HASH_BYTES], struct buf *out) {
    char hex[2 * RISK_HASH_BYTES];
    hex_put(hash, RISK_HASH_BYTES, hex);
    buf_put_str(out, "sha256:");
    buf_put(out, hex, sizeof hex);
}

bool risk_fingerprint_parse(struct slice text, uint8_t ret_hash[RISK_HASH_BYTES]) {
    uint8_t hash[RISK_HASH_BYTES];
    if (!slice_starts(text, SLICE("sha256:")) || !hex_get(slice_from(text, 7), hash, sizeof hash))
        return false;
    memcpy(ret_hash, hash, sizeof hash);
    return true;
}
