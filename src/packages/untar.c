#include "packages/untar.h"

#include "packages/inflate.h"

#include <stdio.h>

#define BLOCK 512
#define GZIP_HEAD 10
#define GZIP_TAIL 8
#define PAX_MAX 65536 /* bytes of one extended header */

enum part { PART_HEAD, PART_FILE, PART_NAME, PART_PAX, PART_SKIP, PART_PADDING, PART_END };

/* The tar archive comes in pieces of any size. */
struct untar {
    struct pack_unpack *to;
    struct slice prefix;
    enum part part;
    unsigned char head[BLOCK];
    size_t head_len;
    uint64_t left;      /* of the part */
    size_t padding;     /* behind it */
    char name[PAX_MAX]; /* the part of a long name or extended header that was received */
    size_t name_len;
    char path[PACK_PATH_MAX]; /* the name from it, for the next file; "" for none */
    uint32_t crc;
    uint64_t total;
    bool has_package;
};

static bool octal(const unsigned char *at, size_t len, uint64_t *ret_value) {
    uint64_t value = 0;
    bool digits = false;
    for (size_t i = 0; i < len && at[i]; i++) {
        if (at[i] == ' ')
            continue;
        if (at[i] < '0' || at[i] > '7' || value >> 60)
            return false;
        value = value << 3 | (uint64_t)(at[i] - '0');
        digits = true;
    }
    *ret_value = value;
    return digits;
}

static bool head_is_good(const struct untar *t) {
    uint64_t stored_sum, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : t->head[i];
    return octal(t->head + 148, 8, &stored_sum) && stored_sum == sum;
}

/* ---- names ---- */

/* PREFIX/the path without its first directory. */
static int place_of(struct untar *t, char ret_path[2 * PACK_PATH_MAX], struct err *err) {
    char path[PACK_PATH_MAX + 256];
    const char *ustar =
        memcmp(t->head + 257, "ustar", 5) == 0 && t->head[345] ? (const char *)t->head + 345 : "";
    if (*t->path)
        snprintf(path, sizeof(path), "%s", t->path);
    else
        snprintf(path, sizeof(path), "%.155s%s%.100s", ustar, *ustar ? "/" : "", (const char *)t->head);
    *t->path = '\0';
    struct slice rest = slice_str(path), top;
    while (slice_starts(rest, SLICE("./")))
        rest = slice_from(rest, 2);
    if (!slice_cut(&rest, '/', &top) || slice_is(top, "..") || !top.len)
        return err_set(err, "the path `%.200s` leads elsewhere", path);
    if (pack_unpack_check(rest, err) < 0)
        return -1;
    t->has_package |= slice_is(rest, "package.json");
    const int len = snprintf(ret_path, PACK_PATH_MAX, "%.*s/%.*s", SLICE_FMT(t->prefix), SLICE_FMT(rest));
    return len >= PACK_PATH_MAX ? err_set(err, "a file's path is too long") : 0;
}

/* "27 path=package/a/long/name\n"; other keys change nothing here. */
static int read_pax(struct untar *t, struct err *err) {
    for (struct slice rest = slice_of(t->name, t->name_len); rest.len;) {
        const ptrdiff_t space = slice_find(rest, ' ');
        uint64_t len = 0;
        if (space < 1 || !slice_to_u64(slice_upto(rest, (size_t)space), &len) || len > rest.len ||
            len < (uint64_t)space + 2)
            return err_set(err, "an extended header is damaged");
        struct slice line = slice_from(slice_upto(rest, (size_t)len - 1), (size_t)space + 1);
        rest = slice_from(rest, (size_t)len);
        if (slice_starts(line, SLICE("size=")))
            return err_set(err, "a file is too large for its header");
        if (slice_starts(line, SLICE("path=")))
            snprintf(t->path, sizeof(t->path), "%.*s", SLICE_FMT(slice_from(line, 5)));
    }
    return 0;
}

/* ---- parts ---- */

static int begin_entry(struct untar *t, struct err *err) {
    uint64_t size;
    char path[2 * PACK_PATH_MAX];
    const char kind = (char)t->head[156];
    static const unsigned char none[BLOCK];
    if (memcmp(t->head, none, BLOCK) == 0) {
        t->part = PART_END;
        return 0;
    }
    if (!head_is_good(t) || !octal(t->head + 124, 12, &size))
        return err_set(err, "a header is damaged");
    t->left = size;
    t->padding = (size_t)(-size % BLOCK);
    if (kind == '0' || kind == '\0') {
        t->part = PART_FILE;
        return place_of(t, path, err) < 0 || pack_unpack_claim(t->to, size, err) < 0
                   ? -1
                   : pack_unpack_open(t->to, slice_str(path), err);
    }
    if (kind == 'x' || kind == 'L') {
        t->part = kind == 'x' ? PART_PAX : PART_NAME;
        t->name_len = 0;
        return size < PAX_MAX ? 0 : err_set(err, "an extended header is too large");
    }
    t->part = PART_SKIP; /* directories are created for files; global headers (`g`) are not used */
    if (kind != '5' && kind != 'g')
        return err_set(err, "it has a link or a device");
    return size < PAX_MAX ? 0 : err_set(err, "a header is damaged");
}

static int end_part(struct untar *t, struct err *err) {
    int done = 0;
    if (t->part == PART_FILE)
        done = pack_unpack_close(t->to, err);
    else if (t->part == PART_PAX)
        done = read_pax(t, err);
    else if (t->part == PART_NAME)
        snprintf(t->path, sizeof(t->path), "%.*s", (int)strnlen(t->name, t->name_len), t->name);
    t->part = PART_PADDING;
    t->left = t->padding;
    return done;
}

static int take_part(struct untar *t, struct slice bytes, struct err *err) {
    if (t->part == PART_FILE)
        return pack_unpack_put(t->to, bytes, err);
    if (t->part == PART_NAME || t->part == PART_PAX) {
        memcpy(t->name + t->name_len, bytes.ptr, bytes.len); /* begin_entry has seen that it fits */
        t->name_len += bytes.len;
    }
    return 0;
}

static int on_bytes(void *owner, struct slice bytes, struct err *err) {
    struct untar *t = owner;
    t->crc = pack_inflate_crc(t->crc, bytes);
    t->total += bytes.len;
    if (t->total > PACK_UNPACKED_BYTES_MAX + (uint64_t)PACK_FILES_MAX * 2 * BLOCK)
        return err_set(err, "unpacked it has more than %llu MB", PACK_UNPACKED_BYTES_MAX >> 20);
    while (t->part != PART_END && (bytes.len || (t->part != PART_HEAD && !t->left))) {
        if (t->part == PART_HEAD) {
            const size_t room = BLOCK - t->head_len, take = bytes.len < room ? bytes.len : room;
            memcpy(t->head + t->head_len, bytes.ptr, take);
            t->head_len += take;
            bytes = slice_from(bytes, take);
            if (t->head_len < BLOCK)
                return 0;
            t->head_len = 0;
            if (begin_entry(t, err) < 0)
                return -1;
            continue;
        }
        const struct slice piece = slice_upto(bytes, t->left < SIZE_MAX ? (size_t)t->left : SIZE_MAX);
        if (take_part(t, piece, err) < 0)
            return -1;
        t->left -= piece.len;
        bytes = slice_from(bytes, piece.len);
        if (t->left)
            return 0;
        if (t->part == PART_PADDING)
            t->part = PART_HEAD;
        else if (end_part(t, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- gzip ---- */

static uint32_t little(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Bytes of the header, or 0: magic, method, flags; then what the flags say. */
static size_t gzip_head(struct slice in) {
    enum { HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 };
    if (in.len < GZIP_HEAD || memcmp(in.ptr, "\x1f\x8b\x08", 3) != 0 || in.ptr[3] & RESERVED)
        return 0;
    const int flags = in.ptr[3];
    size_t at = GZIP_HEAD;
    if (flags & EXTRA) {
        if (in.len < at + 2)
            return 0;
        at += 2 + (size_t)((unsigned char)in.ptr[at] | (unsigned char)in.ptr[at + 1] << 8);
    }
    for (int texts = !!(flags & NAME) + !!(flags & COMMENT); texts; texts--) {
        const ptrdiff_t end = slice_find(slice_from(in, at), '\0');
        if (end < 0)
            return 0;
        at += (size_t)end + 1;
    }
    return at + (flags & HEADER_CRC ? 2 : 0);
}

int pack_untar_npm(struct slice archive, struct slice prefix, struct pack_unpack *to, struct err *err) {
    static struct untar t; /* large; one archive at a time */
    t = (struct untar){.to = to, .prefix = prefix};
    const struct pack_inflate_sink sink = {on_bytes, &t};
    const size_t head = gzip_head(archive);
    size_t used = 0;
    if (!head)
        return err_set(err, "it is not compressed by gzip");
    if (pack_inflate(slice_from(archive, head), &sink, &used, err) < 0)
        return -1;
    const struct slice tail = slice_from(archive, head + used);
    if (tail.len < GZIP_TAIL || little(tail.ptr) != t.crc || little(tail.ptr + 4) != (uint32_t)t.total)
        return err_set(err, "its checksum or size is wrong");
    if (t.part != PART_END && (t.part != PART_HEAD || t.head_len))
        return err_set(err, "it ends too early");
    return t.has_package ? 0 : err_set(err, "it is not a package: it has no package.json");
}
