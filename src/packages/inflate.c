#include "packages/inflate.h"

#include "base/mem.h"

#define CODE_BITS 15 /* of the longest code */
#define TABLE (1u << CODE_BITS)
#define LITERALS 288
#define DISTANCES 32
#define WINDOW 32768u
#define END_OF_BLOCK 256

struct inflate {
    const unsigned char *at, *end;
    uint64_t held; /* bits that were read and not used */
    unsigned held_count;
    unsigned padding; /* of these, bits after the end of the input */
    uint16_t literals[TABLE];
    uint16_t distances[TABLE];
    unsigned char out[2 * WINDOW];
    size_t out_len;
    uint64_t written; /* handed over, and in out */
    const struct pack_inflate_sink *sink;
};

static const uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                       31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                       2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                         33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                         1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_extra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                         6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

static int broken(struct err *err, const char *what) { return err_set(err, "damaged data: %s", what); }

/* ---- bits ---- */

static void fill(struct inflate *f) {
    for (; f->held_count <= 56; f->held_count += 8) {
        if (f->at < f->end)
            f->held |= (uint64_t)*f->at++ << f->held_count;
        else
            f->padding += 8;
    }
}

/* Zeros follow the end of the input; a stream that used some of them is too short. */
static bool overran(const struct inflate *f) { return f->padding > f->held_count; }

static unsigned take(struct inflate *f, unsigned n) {
    if (f->held_count < n)
        fill(f);
    const unsigned value = (unsigned)(f->held & ((1ull << n) - 1));
    f->held >>= n;
    f->held_count -= n;
    return value;
}

/* ---- codes ---- */

/* Every pattern of CODE_BITS bits that begins with a code leads to symbol << 4 | length; 0 where no code
 * does. A set with too many codes is refused, and one with too few unless it is a single one. */
static int make_table(const uint8_t *lengths, unsigned count, uint16_t table[TABLE], struct err *err) {
    unsigned counts[CODE_BITS + 1] = {0}, next[CODE_BITS + 2] = {0}, used = 0;
    for (unsigned i = 0; i < count; i++)
        counts[lengths[i]]++, used += lengths[i] > 0;
    counts[0] = 0;
    int left = 1;
    for (unsigned bits = 1; bits <= CODE_BITS; bits++) {
        left = 2 * left - (int)counts[bits];
        if (left < 0)
            return broken(err, "too many codes");
        next[bits + 1] = (next[bits] + counts[bits]) << 1;
    }
    if (left > 0 && (used > 1 || (used == 1 && counts[1] != 1)))
        return broken(err, "codes are missing");
    memset(table, 0, TABLE * sizeof(*table));
    for (unsigned symbol = 0; symbol < count; symbol++) {
        const unsigned bits = lengths[symbol];
        if (!bits)
            continue;
        unsigned code = next[bits]++, turned = 0;
        for (unsigned i = 0; i < bits; i++)
            turned |= (code >> i & 1) << (bits - 1 - i);
        for (unsigned at = turned; at < TABLE; at += 1u << bits)
            table[at] = (uint16_t)(symbol << 4 | bits);
    }
    return 0;
}

/* The next symbol, or -1 when the bits are not a code. */
static int decode(struct inflate *f, const uint16_t table[TABLE]) {
    if (f->held_count < CODE_BITS)
        fill(f);
    const uint16_t entry = table[f->held & (TABLE - 1)];
    const unsigned bits = entry & 15u;
    f->held >>= bits;
    f->held_count -= bits;
    return bits ? entry >> 4 : -1;
}

static int fixed_tables(struct inflate *f, struct err *err) {
    uint8_t lengths[LITERALS];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    uint8_t distances[DISTANCES];
    memset(distances, 5, sizeof(distances));
    return make_table(lengths, LITERALS, f->literals, err) < 0 ||
                   make_table(distances, DISTANCES, f->distances, err) < 0
               ? -1
               : 0;
}

/* The lengths of both sets, written with a third set of codes: 16 to 18 repeat. */
static int read_lengths(struct inflate *f, uint8_t *lengths, unsigned count, struct err *err) {
    for (unsigned i = 0; i < count;) {
        const int symbol = decode(f, f->distances);
        if (symbol < 0 || overran(f))
            return broken(err, "no such code");
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0)
            return broken(err, "nothing to repeat");
        const uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
        unsigned times = symbol == 16 ? 3 + take(f, 2) : symbol == 17 ? 3 + take(f, 3) : 11 + take(f, 7);
        if (times > count - i)
            return broken(err, "too many codes");
        while (times--)
            lengths[i++] = value;
    }
    return 0;
}

static int own_tables(struct inflate *f, struct err *err) {
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const unsigned literals = 257 + take(f, 5), distances = 1 + take(f, 5), kinds = 4 + take(f, 4);
    uint8_t lengths[LITERALS + DISTANCES] = {0}, first[ARRAY_LEN(order)] = {0};
    if (literals > 286 || distances > 30)
        return broken(err, "too many codes");
    for (unsigned i = 0; i < kinds; i++)
        first[order[i]] = (uint8_t)take(f, 3);
    if (make_table(first, ARRAY_LEN(order), f->distances, err) < 0 ||
        read_lengths(f, lengths, literals + distances, err) < 0)
        return -1;
    if (!lengths[END_OF_BLOCK])
        return broken(err, "a block without an end");
    if (make_table(lengths, literals, f->literals, err) < 0)
        return -1;
    return make_table(lengths + literals, distances, f->distances, err);
}

/* ---- output ---- */

/* The last WINDOW bytes stay: what follows may refer to them. */
static int hand_over(struct inflate *f, bool all, struct err *err) {
    const size_t len = all ? f->out_len : WINDOW;
    if (len && f->sink->put(f->sink->owner, slice_of((const char *)f->out, len), err) < 0)
        return -1;
    memmove(f->out, f->out + len, f->out_len - len);
    f->out_len -= len;
    return 0;
}

static int put_byte(struct inflate *f, unsigned char byte, struct err *err) {
    if (f->out_len == sizeof(f->out) && hand_over(f, false, err) < 0)
        return -1;
    f->out[f->out_len++] = byte;
    f->written++;
    return 0;
}

static int repeat(struct inflate *f, unsigned length, unsigned distance, struct err *err) {
    if (distance > f->written)
        return broken(err, "a reference to before the start");
    for (; length; length--) {
        if (f->out_len == sizeof(f->out) && hand_over(f, false, err) < 0)
            return -1;
        f->out[f->out_len] = f->out[f->out_len - distance];
        f->out_len++;
        f->written++;
    }
    return 0;
}

/* ---- blocks ---- */

static int coded_block(struct inflate *f, struct err *err) {
    for (;;) {
        const int symbol = decode(f, f->literals);
        if (symbol < 0 || overran(f))
            return broken(err, symbol < 0 ? "no such code" : "it ends too early");
        if (symbol == END_OF_BLOCK)
            return 0;
        if (symbol < END_OF_BLOCK) {
            if (put_byte(f, (unsigned char)symbol, err) < 0)
                return -1;
            continue;
        }
        const unsigned which = (unsigned)symbol - END_OF_BLOCK - 1;
        if (which >= ARRAY_LEN(length_base))
            return broken(err, "no such length");
        const unsigned length = length_base[which] + take(f, length_extra[which]);
        const int far = decode(f, f->distances);
        if (far < 0 || (size_t)far >= ARRAY_LEN(distance_base))
            return broken(err, "no such distance");
        const unsigned distance = distance_base[far] + take(f, distance_extra[far]);
        if (overran(f))
            return broken(err, "it ends too early");
        if (repeat(f, length, distance, err) < 0)
            return -1;
    }
}

static int stored_block(struct inflate *f, struct err *err) {
    take(f, f->held_count % 8);
    unsigned length = take(f, 16), inverse = take(f, 16);
    if (overran(f) || length != (inverse ^ 0xffff))
        return broken(err, "a wrong length");
    for (; length; length--)
        if (put_byte(f, (unsigned char)take(f, 8), err) < 0)
            return -1;
    return overran(f) ? broken(err, "it ends too early") : 0;
}

static int run(struct inflate *f, struct err *err) {
    for (bool last = false; !last;) {
        last = take(f, 1);
        const unsigned kind = take(f, 2);
        if (kind == 3 || overran(f))
            return broken(err, kind == 3 ? "no such block" : "it ends too early");
        if (kind == 0) {
            if (stored_block(f, err) < 0)
                return -1;
            continue;
        }
        if ((kind == 1 ? fixed_tables(f, err) : own_tables(f, err)) < 0 || coded_block(f, err) < 0)
            return -1;
    }
    return hand_over(f, true, err);
}

int pack_inflate(struct slice in, const struct pack_inflate_sink *sink, size_t *ret_used, struct err *err) {
    cleanup_free struct inflate *f = mem_zalloc(sizeof(*f));
    f->at = (const unsigned char *)in.ptr;
    f->end = f->at + in.len;
    f->sink = sink;
    if (run(f, err) < 0)
        return -1;
    *ret_used = in.len - (size_t)(f->end - f->at) - (f->held_count - f->padding) / 8;
    return 0;
}

uint32_t pack_inflate_crc(uint32_t before, struct slice bytes) {
    static uint32_t table[256];
    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        table[i] = value;
    }
    uint32_t crc = ~before;
    for (size_t i = 0; i < bytes.len; i++)
        crc = table[(crc ^ (unsigned char)bytes.ptr[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}
