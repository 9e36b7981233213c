#include "risk/diff.h"

#include "base/check.h"
#include "base/glyph.h"
#include "risk/limits.h"
#include "wire/canon.h"

#define SHOWN_BYTES_MAX 300 /* bytes shown of a value */
#define MEMBERS_MAX 4096    /* a larger object is compared as a whole */

/* A pair of values still to be compared; 0 stands for absent. */
struct pair {
    uint32_t old_node, new_node;
    struct slice path;
    struct pair *next;
};

struct work {
    const struct tape *old_t, *new_t;
    struct pair *todo;
    struct arena *a;
    struct buf *out;
    size_t lines;
};

static struct slice shown(const struct work *w, const struct tape *t, uint32_t node) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_DEFINITION_BYTES_MAX);
    canon_write(t, node, w->a, &text);
    return glyph_printable(buf_slice(&text), SHOWN_BYTES_MAX, w->a);
}

static void report_change(struct work *w, char sign, struct slice path, struct slice old_text,
                          struct slice new_text) {
    if (w->lines++ >= RISK_DIFF_LINES_MAX)
        return;
    path = glyph_printable(path, SHOWN_BYTES_MAX, w->a);
    buf_printf(w->out, "%c %.*s: ", sign, SLICE_FMT(path));
    buf_put_slice(w->out, old_text);
    if (sign == '~')
        buf_put_str(w->out, " -> ");
    buf_put_slice(w->out, new_text);
    buf_put_char(w->out, '\n');
}

static void push(struct work *w, struct pair *parent, struct slice key, uint32_t old_node,
                 uint32_t new_node) {
    struct pair *p = arena_new(w->a, struct pair);
    p->path =
        parent->path.len ? arena_printf(w->a, "%.*s.%.*s", SLICE_FMT(parent->path), SLICE_FMT(key)) : key;
    p->old_node = old_node;
    p->new_node = new_node;
    p->next = w->todo;
    w->todo = p;
}

static void push_members(struct work *w, struct pair *p) {
    bool root = !p->path.len;
    TAPE_FOR_MEMBER(w->new_t, p->new_node, key) {
        struct slice name = tape_text(w->new_t, key, w->a);
        if (!root || !slice_is(name, "_meta"))
            push(w, p, name, tape_get(w->old_t, p->old_node, name), key + 1);
    }
    TAPE_FOR_MEMBER(w->old_t, p->old_node, key) {
        struct slice name = tape_text(w->old_t, key, w->a);
        if ((!root || !slice_is(name, "_meta")) && !tape_get(w->new_t, p->new_node, name))
            push(w, p, name, key + 1, 0);
    }
}

static void push_elements(struct work *w, struct pair *p) {
    uint32_t o = p->old_node + 1, n = p->new_node + 1, index = 0;
    uint32_t o_end = tape_node(w->old_t, p->old_node)->next, n_end = tape_node(w->new_t, p->new_node)->next;
    while (o < o_end || n < n_end) {
        push(w, p, arena_printf(w->a, "%u", index++), o < o_end ? o : 0, n < n_end ? n : 0);
        o = o < o_end ? tape_node(w->old_t, o)->next : o;
        n = n < n_end ? tape_node(w->new_t, n)->next : n;
    }
}

static void compare(struct work *w, struct pair *p) {
    if (!p->old_node && p->path.len) {
        report_change(w, '+', p->path, (struct slice){0}, shown(w, w->new_t, p->new_node));
        return;
    }
    if (!p->new_node && p->path.len) {
        report_change(w, '-', p->path, shown(w, w->old_t, p->old_node), (struct slice){0});
        return;
    }
    enum tape_type type = tape_type(w->new_t, p->new_node);
    bool small = tape_node(w->new_t, p->new_node)->count <= MEMBERS_MAX &&
                 tape_node(w->old_t, p->old_node)->count <= MEMBERS_MAX;
    if (tape_type(w->old_t, p->old_node) == type && type == TAPE_OBJECT && small) {
        push_members(w, p);
        return;
    }
    if (tape_type(w->old_t, p->old_node) == type && type == TAPE_ARRAY) {
        push_elements(w, p);
        return;
    }
    cleanup_buf struct buf before, now;
    buf_init(&before, RISK_DEFINITION_BYTES_MAX);
    buf_init(&now, RISK_DEFINITION_BYTES_MAX);
    canon_write(w->old_t, p->old_node, w->a, &before);
    canon_write(w->new_t, p->new_node, w->a, &now);
    if (!slice_eq(buf_slice(&before), buf_slice(&now)))
        report_change(w, '~', p->path, glyph_printable(buf_slice(&before), SHOWN_BYTES_MAX, w->a),
                      glyph_printable(buf_slice(&now), SHOWN_BYTES_MAX, w->a));
}

void risk_diff(const struct tape *old_t, uint32_t old_node, const struct tape *new_t, uint32_t new_node,
               struct arena *a, struct buf *out) {
    struct work w = {old_t, new_t, NULL, a, out, 0};
    struct pair root = {old_node, new_node, {0}, NULL};
    compare(&w, &root);
    while (w.todo) {
        struct pair *p = w.todo;
        w.todo = p->next;
        compare(&w, p);
    }
    if (w.lines > RISK_DIFF_LINES_MAX)
        buf_printf(out, "and %zu more differences\n", w.lines - RISK_DIFF_LINES_MAX);
}
