#include "filter/source.h"

#include <stdlib.h>

#include "base/mem.h"
#include "filter/chars.h"
#include "filter/limits.h"

static unsigned hex4(const char *p) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++)
        v = v * 16 + (unsigned)ch_hexval(p[i]);
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

/* One escape at p (the tape has checked it): its bytes in *ret_used, the character's in out. */
static size_t unescape(const char *p, size_t *ret_used, char out[4]) {
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

struct source_layer filter_source_string(const struct source_layer *l, const struct tape *t, uint32_t node,
                                         struct arena *a) {
    const struct tape_node *n = tape_node(t, node);
    const char *raw = t->src.ptr + n->start;
    struct source_layer out = {.level = (uint8_t)(l->level + 1)};
    if (!(n->flags & TAPE_ESCAPED)) {
        out.text = slice_of(raw, n->len);
        out.map = l->map ? l->map + n->start : NULL;
        out.base = l->map ? 0 : l->base + n->start;
        return out;
    }
    char *text = arena_alloc(a, n->len + 1);
    uint32_t *map = arena_alloc(a, ((size_t)n->len + 1) * sizeof(uint32_t));
    size_t len = 0;
    for (size_t i = 0; i < n->len;) {
        const char *slash = memchr(raw + i, '\\', n->len - i);
        const size_t run = slash ? (size_t)(slash - raw) - i : n->len - i;
        memcpy(text + len, raw + i, run);
        for (size_t k = 0; k < run; k++)
            map[len + k] = source_offset(l, n->start + (uint32_t)(i + k));
        len += run;
        i += run;
        if (!slash)
            break;
        const uint32_t at = source_offset(l, n->start + (uint32_t)i);
        size_t used;
        const size_t put = unescape(raw + i, &used, text + len);
        for (size_t k = 0; k < put; k++)
            map[len++] = at;
        i += used;
    }
    map[len] = source_offset(l, n->start + n->len);
    out.text = slice_of(text, len);
    out.map = map;
    return out;
}

struct slice filter_source_escape(struct slice text, unsigned levels, struct arena *a) {
    static const char hex[] = "0123456789abcdef";
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
                out[n + 4] = hex[(uint8_t)c >> 4];
                out[n + 5] = hex[c & 15];
                n += 6;
            } else {
                out[n++] = c;
            }
        }
        text = slice_of(out, n);
    }
    return text;
}

void filter_source_edits_free(struct source_edits *e) {
    free(e->at);
    *e = (struct source_edits){0};
}

void filter_source_edit_add(struct source_edits *e, uint32_t start, uint32_t end, struct slice text) {
    if (e->count == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 16;
        e->at = mem_realloc(e->at, e->cap * sizeof(*e->at));
    }
    e->at[e->count++] = (struct source_edit){start, end, text};
}

static int edit_order(const void *a, const void *b) {
    const struct source_edit *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end != y->end ? (x->end > y->end ? -1 : 1) : 0;
}

bool filter_source_apply(struct slice src, struct source_edits *e, struct buf *out) {
    bool sorted = true;
    for (size_t i = 1; i < e->count && sorted; i++)
        sorted = e->at[i - 1].end <= e->at[i].start;
    if (!sorted)
        qsort(e->at, e->count, sizeof(*e->at), edit_order);
    size_t at = 0;
    for (size_t i = 0; i < e->count; i++) {
        if (e->at[i].start < at)
            continue; /* inside one that is applied already */
        buf_put(out, src.ptr + at, e->at[i].start - at);
        buf_put_slice(out, e->at[i].text);
        at = e->at[i].end;
    }
    buf_put(out, src.ptr + at, src.len - at);
    return !out->full;
}

/* A text that waits to be walked. */
struct work {
    struct source_layer layer;
    struct work *next;
};

struct frame {
    uint32_t end; /* node index behind the container */
    bool object;
    uint32_t key; /* node of the current key; 0: a key comes next */
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

static bool may_be_json(struct slice s) {
    s = slice_trim(s);
    return s.len >= 2 &&
           ((s.ptr[0] == '{' && s.ptr[s.len - 1] == '}') || (s.ptr[0] == '[' && s.ptr[s.len - 1] == ']'));
}

static bool walk_string(struct walk *w, uint32_t node, struct slice key, bool is_key, uint32_t array) {
    const struct tape_node *n = tape_node(w->t, node);
    struct source_item item = {
        .layer = filter_source_string(w->l, w->t, node, w->a), .key = key, .is_key = is_key, .array = array};
    item.outer_start = source_offset(w->l, n->start - 1);
    item.outer_end = source_offset(w->l, n->start + n->len + 1);
    if (!is_key && item.layer.level <= FILTER_NESTING_MAX && may_be_json(item.layer.text)) {
        cleanup_tape struct tape nested;
        tape_init(&nested);
        if (tape_parse(&nested, item.layer.text, NULL) == TAPE_OK) {
            struct work *work = arena_new(w->a, struct work);
            work->layer = item.layer;
            *w->tail = work;
            w->tail = &work->next;
            return true;
        }
    }
    return w->each(w->ctx, &item);
}

static bool walk_number(struct walk *w, uint32_t node, struct slice key) {
    const struct tape_node *n = tape_node(w->t, node);
    struct source_item item = {.key = key, .is_number = true};
    item.layer.text = slice_of(w->t->src.ptr + n->start, n->len);
    item.layer.map = w->l->map ? w->l->map + n->start : NULL;
    item.layer.base = w->l->map ? 0 : w->l->base + n->start;
    item.layer.level = w->l->level;
    item.outer_start = source_offset(w->l, n->start);
    item.outer_end = source_offset(w->l, n->start + n->len);
    return w->each(w->ctx, &item);
}

/* Handles one node; containers are pushed. */
static bool walk_node(struct walk *w, uint32_t node) {
    struct frame *f = w->depth ? &w->stack[w->depth - 1] : NULL;
    const struct tape_node *n = tape_node(w->t, node);
    if (f && f->object && !f->key) {
        f->key = node;
        f->key_text = filter_source_string(w->l, w->t, node, w->a).text;
        return walk_string(w, node, (struct slice){0}, true, 0);
    }
    const struct slice key = f ? f->key_text : (struct slice){0};
    const uint32_t array = f && f->object ? f->array : 0;
    if (f && f->object)
        f->key = 0;
    switch ((enum tape_type)n->type) {
    case TAPE_STRING:
        return walk_string(w, node, key, false, array);
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

bool filter_source_walk(const struct tape *t, uint32_t node, struct arena *a, source_fn *each, void *ctx) {
    struct work *queue = NULL;
    const struct source_layer top = {.text = t->src};
    struct walk w = {.t = t, .l = &top, .a = a, .each = each, .ctx = ctx, .tail = &queue};
    if (!walk_layer(&w, node))
        return false;
    for (struct work *work = queue; work; work = work->next) {
        cleanup_tape struct tape nested;
        tape_init(&nested);
        if (tape_parse(&nested, work->layer.text, NULL) != TAPE_OK)
            return false;
        struct walk inner = {
            .t = &nested, .l = &work->layer, .a = a, .each = each, .ctx = ctx, .tail = w.tail};
        if (!walk_layer(&inner, 0))
            return false;
        w.tail = inner.tail;
    }
    return true;
}
