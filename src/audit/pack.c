#include "audit/pack.h"

#include "audit/segment.h"
#include "base/check.h"
#include "base/mem.h"

#include <endian.h>

#define PACK_MASK 3
#define PACK_LENGTH_SHIFT_MAX 14 /* of a text's length: at most three bytes */
/* Their bits are inverted: in blocks older than these texts the bits mean "unchanged". */
#define PACK_LATER_TEXTS ((1u << AUDIT_TEXTS) - (1u << AUDIT_TEXTS_OLD))

_Static_assert(AUDIT_TEXTS <= PACK_MASK * 8, "a bit for every text");
_Static_assert(AUDIT_ARGS_MAX < 1u << (PACK_LENGTH_SHIFT_MAX + 7), "three bytes are enough");

static const char pack_mark[PACK_MARK] = "\xff\xff\xff\xff"; /* no plain frame has that length */

/* The texts of the last record of a kind. */
struct before {
    struct slice text[AUDIT_TEXTS];
};

static struct before *before_of(struct before all[AUDIT_KIND_EVENT], char kind) {
    return kind >= AUDIT_KIND_DECISION && kind <= AUDIT_KIND_EVENT ? &all[kind - AUDIT_KIND_DECISION] : NULL;
}

/* The position after the kind and the numbers, or NULL when they do not end before `end`. */
static const char *skip_numbers(const char *at, const char *end) {
    for (size_t left = 1 + AUDIT_NUMBERS; left > 0; at++) {
        if (at == end)
            return NULL;
        left -= (*at & 0x80) == 0;
    }
    return at;
}

static bool take_length(const char **at, const char *end, size_t *ret_len) {
    size_t len = 0;
    for (unsigned shift = 0; *at < end && shift <= PACK_LENGTH_SHIFT_MAX; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        len |= (size_t)(byte & 0x7f) << shift;
        *ret_len = len;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Reads a text after its length; advances *at. Nearly all texts are short. */
static inline bool take_text(const char **at, const char *end, struct slice *ret_text) {
    size_t len = *at < end ? (unsigned char)**at : 0x80;
    if (len < 0x80)
        ++*at;
    else if (!take_length(at, end, &len))
        return false;
    if (len > (size_t)(end - *at))
        return false;
    *ret_text = slice_of(*at, len);
    *at += len;
    return true;
}

static void put_mask(char *to, uint32_t mask) {
    mask ^= PACK_LATER_TEXTS;
    for (size_t i = 0; i < PACK_MASK; i++)
        to[i] = (char)(mask >> (8 * i));
}

/* ---- packing ---- */

void audit_pack_begin(struct pack *p, char *to) {
    static const char nothing[AUDIT_TEXTS_OLD]; /* each of them empty */
    p->start = to;
    for (size_t i = 0; i < ARRAY_LEN(p->before); i++)
        p->before[i] = slice_of(nothing, sizeof(nothing));
    memcpy(to, pack_mark, PACK_MARK);
    p->to = to + PACK_MARK;
}

/* The number of equal bytes at the front. */
static size_t common_len(struct slice a, struct slice b) {
    size_t max = a.len < b.len ? a.len : b.len, at = 0;
    uint64_t x, y;
    const size_t step = 4 * sizeof(x);
    while (max - at >= step && memcmp(a.ptr + at, b.ptr + at, step) == 0)
        at += step;
    for (; max - at >= sizeof(x); at += sizeof(x)) {
        memcpy(&x, a.ptr + at, sizeof(x));
        memcpy(&y, b.ptr + at, sizeof(y));
        if (x != y)
            return at + (size_t)__builtin_ctzll(le64toh(x ^ y)) / 8;
    }
    while (at < max && a.ptr[at] == b.ptr[at])
        at++;
    return at;
}

/* A text is unchanged if it has the same bytes, length included, at the same place in both records. So most
 * of a record is one comparison, and only what differs is examined separately. */
static uint32_t pack_texts(struct pack *p, struct slice texts, struct slice before) {
    const char *at = texts.ptr, *end = at + texts.len, *old = before.ptr, *old_end = old + before.len;
    const char *same = at + common_len(texts, before);
    uint32_t mask = 0;
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        const char *start = at;
        struct slice text;
        if (take_text(&at, same, &text)) {
            mask |= 1u << i;
            old += at - start;
            continue;
        }
        at = start;
        bool lacks = i >= AUDIT_TEXTS_OLD && at == end, lacked = i >= AUDIT_TEXTS_OLD && old == old_end;
        if (lacks && lacked) {
            mask |= 1u << i;
            continue;
        }
        CHECK((lacked || take_text(&old, old_end, &text)) && (lacks || take_text(&at, end, &text)));
        if (lacks)
            *p->to++ = 0;
        memcpy(p->to, start, (size_t)(at - start));
        p->to += at - start;
        same = at + common_len(slice_of(at, (size_t)(end - at)), slice_of(old, (size_t)(old_end - old)));
    }
    CHECK(at == end);
    return mask;
}

void audit_pack_add(struct pack *p, const unsigned char *tag, struct slice record) {
    const char *at = record.ptr, *end = at + record.len, *texts = skip_numbers(at, end);
    CHECK(texts && *at >= AUDIT_KIND_DECISION && *at <= AUDIT_KIND_EVENT);
    struct slice *before = &p->before[*at - AUDIT_KIND_DECISION],
                 now = slice_of(texts, (size_t)(end - texts));
    memcpy(p->to, tag, SEGMENT_TAG);
    char *mask_at = p->to + SEGMENT_TAG;
    memcpy(mask_at + PACK_MASK, at, (size_t)(texts - at));
    p->to = mask_at + PACK_MASK + (texts - at);
    put_mask(mask_at, pack_texts(p, now, *before));
    *before = now;
}

/* ---- unpacking ---- */

struct unpack {
    const char *at, *end; /* packed */
    char *to, *limit;     /* plain */
    struct before all[AUDIT_KIND_EVENT];
};

static char *put_bytes(char *to, const char *limit, const char *bytes, size_t len) {
    if (!to || len > (size_t)(limit - to))
        return NULL;
    if (len)
        memcpy(to, bytes, len);
    return to + len;
}

static char *put_text(char *to, const char *limit, struct slice text, struct slice *ret_text) {
    char length[PACK_LENGTH_SHIFT_MAX / 7 + 1];
    size_t n = 0, rest = text.len;
    for (; rest >= 0x80; rest >>= 7)
        length[n++] = (char)(rest | 0x80);
    length[n++] = (char)rest;
    to = put_bytes(to, limit, length, n);
    *ret_text = slice_of(to, text.len);
    return put_bytes(to, limit, text.ptr, text.len);
}

static bool unpack_frame(struct unpack *u) {
    if ((size_t)(u->end - u->at) < SEGMENT_TAG + PACK_MASK || u->limit - u->to < SEGMENT_FRAME_HEAD)
        return false;
    const unsigned char *tag = (const unsigned char *)u->at, *bits = tag + SEGMENT_TAG;
    uint32_t mask = (bits[0] | (uint32_t)bits[1] << 8 | (uint32_t)bits[2] << 16) ^ PACK_LATER_TEXTS;
    const char *at = u->at + SEGMENT_TAG + PACK_MASK, *texts = skip_numbers(at, u->end);
    struct before *before = texts && mask >> AUDIT_TEXTS == 0 ? before_of(u->all, *at) : NULL;
    if (!before)
        return false;
    char *frame = u->to + SEGMENT_FRAME_HEAD, *to = put_bytes(frame, u->limit, at, (size_t)(texts - at));
    char *end = NULL; /* behind the last text that is written */
    at = texts;
    for (size_t i = 0; i < AUDIT_TEXTS && to; i++) {
        struct slice text = before->text[i];
        if (!(mask >> i & 1) && (!take_text(&at, u->end, &text) || slice_eq(text, before->text[i])))
            return false;
        to = put_text(to, u->limit, text, &before->text[i]);
        if (i < AUDIT_TEXTS_OLD || text.len)
            end = to;
    }
    if (!to)
        return false;
    audit_segment_frame_head(u->to, (size_t)(end - frame), tag);
    u->to = end;
    u->at = at;
    return true;
}

struct slice audit_unpack(struct slice body, char **room) {
    if (!slice_starts(body, slice_of(pack_mark, PACK_MARK)))
        return body;
    if (!*room)
        *room = mem_alloc(AUDIT_BLOCK_BYTES + SEGMENT_FRAME_HEAD);
    struct unpack u = {.at = body.ptr + PACK_MARK,
                       .end = body.ptr + body.len,
                       .to = *room,
                       .limit = *room + AUDIT_BLOCK_BYTES};
    while (u.at < u.end && unpack_frame(&u))
        ;
    size_t len = (size_t)(u.to - *room);
    if (u.at < u.end) {
        memset(u.to, 0xff, SEGMENT_FRAME_HEAD);
        len += SEGMENT_FRAME_HEAD;
    }
    return slice_of(*room, len);
}
