#include "filter/source.h"

#include <stdlib.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/hex.h"
#include "base/mem.h"
#include "filter/chars.h"
#include "filter/limits.h"

static unsigned hex4(const char *p) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++)
        v = v * 16 + (unsigned)hex_value(p[i]);
    return v;
}

static size_t utf8_put(char *out, unsigned c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

/* One escape at p (validated by the tape): its length in *ret_used, the character in out. */
static inline size_t unescape(const char *p, size_t *ret_used, char out[4]) {
    static const char plain[128] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    *ret_used = 2;
    if (p[1] != 'u') {
        out[0] = plain[p[1] & 127];
        return 1;
    }
    unsigned c = hex4(p + 2);
    *ret_used = 6;
    if (c >= 0xD800 && c < 0xDC00) {
        c = 0x10000 + ((c - 0xD800) << 10) + (hex4(p + 8) - 0xDC00);
        *ret_used = 12;
    }
    return utf8_put(out, c);
}

/* The last step at or before `at`. */
static uint32_t step_before(const struct source_map *m, uint32_t at) {
    uint32_t low = 0, high = m->count;
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        if (m->steps[mid].at <= at)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void map_make(struct source_map *m);

static uint32_t map_offset(struct source_map *m, uint32_t at) {
    if (!m)
        return at;
    if (!m->steps)
        map_make(m);
    const struct source_step *s = &m->steps[step_before(m, at)];
    return s->escape ? s->from : s->from + (at - s->at);
}

uint32_t filter_source_offset(const struct source_layer *l, uint32_t i) {
    return map_offset(l->map, l->base + i);
}

void filter_source_place(const struct source_item *item, uint32_t *ret_start, uint32_t *ret_end) {
    *ret_start = filter_source_offset(item->outer, item->outer_start);
    *ret_end = filter_source_offset(item->outer, item->outer_end);
}

/* Where the next backslash is at or behind `at`, or `n`. */
static inline size_t next_slash(const char *raw, size_t at, size_t n) {
#if defined(__SSE2__)
    for (; at + 16 <= n; at += 16) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(raw + at));
        const int slash = _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
        if (slash)
            return at + (size_t)__builtin_ctz((unsigned)slash);
    }
#endif
    while (at < n && raw[at] != '\\')
        at++;
    return at;
}

static size_t count_escapes(const char *raw, size_t len) {
    size_t n = 0;
    for (size_t at = 0; (at = next_slash(raw, at, len)) < len; at += 2)
        n++;
    return n;
}

/* Bytes from `at` of the new text on are those of the layer outside from `first` on. A piece that lies over
 * several steps of that layer's own map takes them all over. */
static inline void map_piece(struct source_map *m, uint32_t at, uint32_t first, uint32_t len, bool escape) {
    const struct source_map *outer = m->outer;
    m->steps[m->count++] = (struct source_step){at, map_offset(m->outer, first), escape};
    if (escape || !outer)
        return;
    uint32_t low = 0, high = outer->count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (outer->steps[mid].at <= first)
            low = mid + 1;
        else
            high = mid;
    }
    /* the piece may begin inside an escaped character of the layer: then its first bytes came from there */
    if (low > 0 && outer->steps[low - 1].escape)
        m->steps[m->count - 1].escape = true;
    for (; low < outer->count && outer->steps[low].at < first + len; low++)
        m->steps[m->count++] = (struct source_step){at + outer->steps[low].at - first, outer->steps[low].from,
                                                    outer->steps[low].escape};
}

/* Maximum number of steps that a string of `len` bytes takes over from the outer map. */
static size_t outer_steps(struct source_map *outer, size_t len) {
    if (outer && !outer->steps)
        map_make(outer);
    return !outer ? 0 : outer->count < len ? outer->count : len;
}

/* Layers are at most FILTER_NESTING_MAX + 1 deep, and so is this. */
static void map_make(struct source_map *m) {
    const char *raw = m->raw.ptr;
    const size_t n = m->raw.len;
    const uint32_t first = m->outer_base + m->start;
    const size_t steps = 2 * count_escapes(raw, n) + 2 + outer_steps(m->outer, n);
    m->steps = arena_alloc(m->arena, sizeof(*m->steps) * steps);
    size_t len = 0;
    for (size_t i = 0; i < n;) {
        const size_t run = next_slash(raw, i, n) - i;
        char sign[4];
        size_t used;
        if (run)
            map_piece(m, (uint32_t)len, first + (uint32_t)i, (uint32_t)run, false);
        len += run;
        i += run;
        if (i == n)
            break;
        map_piece(m, (uint32_t)len, first + (uint32_t)i, 1, true);
        len += unescape(raw + i, &used, sign);
        i += used;
    }
    m->steps[m->count++] =
        (struct source_step){(uint32_t)len, map_offset(m->outer, first + (uint32_t)n), false};
}

/* Decodes a string that the tape has validated; `to` has room for as many bytes. */
static size_t decode(const char *raw, size_t n, char *to) {
    size_t i = 0, len = 0;
    while (i < n) {
#if defined(__SSE2__)
        if (n - i >= 16) {
            const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(raw + i));
            _mm_storeu_si128((__m128i *)(void *)(to + len), x);
            const unsigned slash = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
            const unsigned run = slash ? (unsigned)__builtin_ctz(slash) : 16;
            i += run;
            len += run;
            if (!slash)
                continue;
        }
#endif
        if (raw[i] != '\\') {
            to[len++] = raw[i++];
            continue;
        }
        size_t used;
        len += unescape(raw + i, &used, to + len);
        i += used;
    }
    return len;
}

struct source_layer filter_source_string(const struct source_layer *l, const struct tape *t, uint32_t node,
                                         struct arena *a) {
    const struct tape_node *n = tape_node(t, node);
    const char *raw = t->src.ptr + n->start;
    struct source_layer out = {.level = (uint8_t)(l->level + 1)};
    if (!(n->flags & TAPE_ESCAPED)) {
        out.text = slice_of(raw, n->len);
        out.map = l->map;
        out.base = l->base + n->start;
        return out;
    }
    char *text = arena_alloc(a, n->len + 1);
    out.text = slice_of(text, decode(raw, n->len, text));
    out.map = arena_new(a, struct source_map);
    *out.map = (struct source_map){
        .raw = slice_of(raw, n->len), .start = n->start, .outer = l->map, .outer_base = l->base, .arena = a};
    return out;
}

struct slice filter_source_escape(struct slice text, unsigned levels, struct arena *a) {
    for (; levels > 0; levels--) {
        char *out = arena_alloc(a, text.len * 6 + 1);
        size_t n = 0;
        for (size_t i = 0; i < text.len; i++) {
            const char c = text.ptr[i];
            static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
            const char *at = c ? strchr(from, c) : NULL;
            if (at) {
                out[n++] = '\\';
                out[n++] = to[at - from];
            } else if ((uint8_t)c < 0x20) {
                memcpy(out + n, "\\u00", 4);
                hex_put((const uint8_t *)&c, 1, out + n + 4);
                n += 6;
            } else {
                out[n++] = c;
            }
        }
        text = slice_of(out, n);
    }
    return text;
}

/* A text to be walked. */
struct work {
    struct source_layer layer;
    struct tape tape;
    struct work *next;
};

struct frame {
    uint32_t end; /* node index behind the container */
    bool object;
    uint32_t key; /* node of the current key; 0: a key follows */
    struct slice key_text;
    uint32_t array; /* the array that an object is an element of */
};

struct walk {
    const struct tape *t;
    const struct source_layer *l;
    struct arena *a;
    source_fn *each;
    void *ctx;
    struct work **tail; /* nested texts are walked after this one */
    struct frame stack[TAPE_DEPTH_MAX + 1];
    uint32_t depth;
};

bool filter_source_number_fits(struct slice text) {
    return text.len >= 7 && text.len <= 19 && ch_digit(text.ptr[0]);
}

static bool may_be_json(struct slice s) {
    s = slice_trim(s);
    return s.len >= 2 &&
           ((s.ptr[0] == '{' && s.ptr[s.len - 1] == '}') || (s.ptr[0] == '[' && s.ptr[s.len - 1] == ']'));
}

/* `key_of`: it is a key of that object. */
static bool walk_string(struct walk *w, uint32_t node, struct slice key, struct frame *key_of,
                        uint32_t array) {
    const struct tape_node *n = tape_node(w->t, node);
    struct source_item item = {.layer = filter_source_string(w->l, w->t, node, w->a),
                               .key = key,
                               .is_key = key_of != NULL,
                               .array = array};
    if (key_of)
        key_of->key_text = item.layer.text;
    item.outer = w->l;
    item.outer_start = n->start - 1;
    item.outer_end = n->start + n->len + 1;
    if (!key_of && item.layer.level <= FILTER_NESTING_MAX && may_be_json(item.layer.text)) {
        struct tape nested;
        tape_init(&nested);
        if (tape_parse(&nested, item.layer.text, NULL) == TAPE_OK) {
            struct work *work = arena_new(w->a, struct work);
            *work = (struct work){.layer = item.layer, .tape = nested};
            *w->tail = work;
            w->tail = &work->next;
            return true;
        }
        tape_free(&nested);
    }
    return w->each(w->ctx, &item);
}

static bool walk_number(struct walk *w, uint32_t node, struct slice key) {
    const struct tape_node *n = tape_node(w->t, node);
    struct source_item item = {.key = key, .is_number = true};
    item.layer.text = slice_of(w->t->src.ptr + n->start, n->len);
    item.layer.map = w->l->map;
    item.layer.base = w->l->base + n->start;
    item.layer.level = w->l->level;
    item.outer = w->l;
    item.outer_start = n->start;
    item.outer_end = n->start + n->len;
    return w->each(w->ctx, &item);
}

/* Handles one node; containers are pushed. */
static bool walk_node(struct walk *w, uint32_t node) {
    struct frame *f = w->depth ? &w->stack[w->depth - 1] : NULL;
    const struct tape_node *n = tape_node(w->t, node);
    if (f && f->object && !f->key) {
        f->key = node;
        return walk_string(w, node, (struct slice){0}, f, 0);
    }
    const struct slice key = f ? f->key_text : (struct slice){0};
    const uint32_t array = f && f->object ? f->array : 0;
    if (f && f->object)
        f->key = 0;
    switch ((enum tape_type)n->type) {
    case TAPE_STRING:
        return walk_string(w, node, key, NULL, array);
    case TAPE_NUMBER:
        return walk_number(w, node, key);
    case TAPE_ARRAY:
    case TAPE_OBJECT:
        w->stack[w->depth++] = (struct frame){.end = n->next,
                                              .object = n->type == TAPE_OBJECT,
                                              .key_text = key,
                                              .array = f && !f->object ? f->end : 0};
        return true;
    default:
        return true;
    }
}

static bool walk_layer(struct walk *w, uint32_t node) {
    const uint32_t end = tape_node(w->t, node)->next;
    for (uint32_t i = node; i < end; i++) {
        while (w->depth && i >= w->stack[w->depth - 1].end)
            w->depth--;
        if (!walk_node(w, i))
            return false;
    }
    return true;
}

static bool walk_all(struct walk *w, uint32_t node, struct work **queue) {
    if (!walk_layer(w, node))
        return false;
    for (const struct work *work = *queue; work; work = work->next) {
        struct walk inner = {
            .t = &work->tape, .l = &work->layer, .a = w->a, .each = w->each, .ctx = w->ctx, .tail = w->tail};
        if (!walk_layer(&inner, 0))
            return false;
        w->tail = inner.tail;
    }
    return true;
}

bool filter_source_walk(const struct tape *t, uint32_t node, struct arena *a, source_fn *each, void *ctx) {
    struct work *queue = NULL;
    const struct source_layer top = {.text = t->src};
    struct walk w = {.t = t, .l = &top, .a = a, .each = each, .ctx = ctx, .tail = &queue};
    const bool fine = walk_all(&w, node, &queue);
    for (struct work *work = queue; work; work = work->next)
        tape_free(&work->tape);
    return fine;
}
