#include "runner/shape.h"

#include "base/check.h"
#include "wire/emit.h"

#include <stdio.h>

/* How much of each part is kept. One number decides both, so the search for the best cut has one
 * dimension: strings keep `grain` bytes, containers one member per SHAPE_MEMBER bytes of it. */
#define SHAPE_MEMBER 16
#define SHAPE_GRAIN_MIN 16
#define SHAPE_PREVIEW_SHARE 4 /* share of the room if not even the skeleton fits */

struct shape_level {
    uint32_t node; /* the container */
    uint32_t at;   /* its next member */
    uint32_t done; /* members written */
    bool is_object;
};

struct shape {
    const struct tape *t;
    struct emit e;
    struct buf *out;
    size_t grain;
    bool cut;
    struct shape_level stack[TAPE_DEPTH_MAX + 1];
    uint32_t depth;
};

struct slice shape_text(struct slice text, size_t max) {
    if (text.len <= max)
        return text;
    size_t len = max;
    while (len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len--;
    return slice_upto(text, len);
}

static void put_string(struct shape *s, uint32_t node) {
    const struct tape_node *n = tape_node(s->t, node);
    if (n->len <= s->grain) {
        emit_raw(&s->e, tape_raw(s->t, node));
        return;
    }
    struct arena a;
    arena_init(&a);
    struct slice text = tape_text(s->t, node, &a), kept = shape_text(text, s->grain);
    emit_str(&s->e, arena_printf(&a, "%.*s... [%zu more bytes]", SLICE_FMT(kept), text.len - kept.len));
    arena_free(&a);
    s->cut = true;
}

static void open_container(struct shape *s, uint32_t node) {
    bool is_object = tape_is(s->t, node, TAPE_OBJECT);
    CHECK(s->depth < TAPE_DEPTH_MAX + 1);
    s->stack[s->depth++] = (struct shape_level){.node = node, .at = node + 1, .is_object = is_object};
    if (is_object)
        emit_object(&s->e);
    else
        emit_array(&s->e);
}

static void put_node(struct shape *s, uint32_t node) {
    switch (tape_type(s->t, node)) {
    case TAPE_STRING:
        put_string(s, node);
        break;
    case TAPE_ARRAY:
    case TAPE_OBJECT:
        open_container(s, node);
        break;
    default:
        emit_raw(&s->e, tape_raw(s->t, node));
    }
}

static void close_container(struct shape *s, const struct shape_level *level) {
    uint32_t missing = tape_node(s->t, level->node)->count - level->done;
    char text[48];
    snprintf(text, sizeof(text), "... [%u more]", missing);
    if (missing && level->is_object)
        emit_key(&s->e, "--- TRUNCATED ---");
    if (missing) {
        emit_cstr(&s->e, text);
        s->cut = true;
    }
    if (level->is_object)
        emit_object_end(&s->e);
    else
        emit_array_end(&s->e);
}

/* One attempt; false if the room was too small. */
static bool shape_try(struct shape *s, uint32_t node, size_t grain) {
    s->grain = grain;
    s->cut = false;
    s->depth = 0;
    emit_init(&s->e, s->out);
    size_t members_max = grain / SHAPE_MEMBER ? grain / SHAPE_MEMBER : 1;
    put_node(s, node);
    while (s->depth && !s->out->full) {
        struct shape_level *level = &s->stack[s->depth - 1];
        if (level->at >= tape_node(s->t, level->node)->next || level->done >= members_max) {
            struct shape_level over = *level;
            s->depth--;
            close_container(s, &over);
            continue;
        }
        uint32_t value = level->at;
        if (level->is_object) {
            struct arena a;
            arena_init(&a);
            emit_key_slice(&s->e, tape_text(s->t, level->at, &a));
            arena_free(&a);
            value++;
        }
        level->at = tape_node(s->t, value)->next;
        level->done++;
        put_node(s, value); /* may reallocate the stack: `level` is not used any more */
    }
    return !s->out->full;
}

/* Nothing of its structure fits: writes the beginning of its text, as a string. */
static void put_preview(const struct tape *t, uint32_t node, size_t max, struct buf *out) {
    struct slice raw = tape_raw(t, node);
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "--- TRUNCATED ---");
    emit_int(&e, (int64_t)raw.len);
    emit_key(&e, "preview");
    emit_str(&e, shape_text(raw, max / SHAPE_PREVIEW_SHARE));
    emit_object_end(&e);
}

void shape_value(const struct tape *t, uint32_t node, size_t max, struct buf *out, bool *ret_cut) {
    struct slice raw = tape_raw(t, node);
    *ret_cut = false;
    if (raw.len <= max) {
        buf_put_slice(out, raw);
        return;
    }
    struct buf tried;
    buf_init(&tried, max);
    struct shape s = {.t = t, .out = &tried};
    size_t low = 0, high = max * SHAPE_MEMBER; /* low fits (0: nothing yet), high does not */
    if (shape_try(&s, node, SHAPE_GRAIN_MIN))
        low = SHAPE_GRAIN_MIN;
    while (low && high - low > 1 + low / 64) {
        size_t middle = low + (high - low) / 2;
        buf_reset(&tried);
        if (shape_try(&s, node, middle))
            low = middle;
        else
            high = middle;
    }
    buf_reset(&tried);
    if (low && shape_try(&s, node, low)) {
        buf_put_slice(out, buf_slice(&tried));
        *ret_cut = s.cut;
    } else {
        put_preview(t, node, max, out);
        *ret_cut = true;
    }
    buf_free(&tried);
}
