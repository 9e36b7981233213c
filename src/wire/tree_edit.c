#include "wire/tree_edit.h"

#include "base/mem.h"
#include "wire/emit.h"
#include "wire/tree_parse.h"

#include <stdio.h>
#include <string.h>

#define EDIT_UNIT 2      /* columns that a new level is indented by */
#define EDIT_FLOW_MAX 72 /* characters of a small value that is written on one line */
#define EDIT_DOCUMENT_MAX (8u << 20)

/* ---- the model: a copy of the tree with the change in it ---- */

static struct tree *copy_node(const struct tree *from, struct arena *a) {
    struct tree *to = arena_new(a, struct tree);
    *to = *from;
    to->child = to->next = NULL;
    return to;
}

/* The depth of a document is bounded by its parser. */
static struct tree *copy_tree(const struct tree *from, struct arena *a) {
    struct tree *to = copy_node(from, a), **at = &to->child;
    for (const struct tree *c = from->child; c; c = c->next) {
        *at = copy_tree(c, a);
        at = &(*at)->next;
    }
    return to;
}

static struct tree **find_place(struct tree *parent, const struct tree_step *step) {
    struct tree **at = &parent->child;
    uint32_t i = 0;
    for (; *at; at = &(*at)->next, i++)
        if (step->key.ptr ? parent->type == TREE_MAP && slice_eq((*at)->key, step->key) : i == step->index)
            return at;
    return at;
}

static bool is_append(const struct tree_step *step) { return step->key.ptr && slice_is(step->key, "-"); }

/* The type of a missing node on the path, given the next step. */
static enum tree_type type_for(const struct tree_step *next) {
    return is_append(next) || !next->key.ptr ? TREE_LIST : TREE_MAP;
}

static bool can_hold(const struct tree *t, const struct tree_step *step) {
    return t->type == type_for(step) || (t->type == TREE_MAP && step->key.ptr && !is_append(step));
}

static struct tree *change_model(struct tree *root, const struct tree_edit *edit, struct arena *a,
                                 struct err *err) {
    struct tree *at = root;
    for (size_t i = 0; i < edit->depth; i++) {
        const struct tree_step *step = &edit->path[i];
        if (at->type == TREE_NULL)
            at->type = type_for(step);
        if (!can_hold(at, step))
            return err_set(err, "line %u: there is a %s where the change needs a %s", at->line,
                           tree_type_name(at->type), tree_type_name(type_for(step))),
                   NULL;
        struct tree **place = find_place(at, step);
        bool last = i + 1 == edit->depth, absent = !*place;
        if (absent && (!edit->value || (!step->key.ptr)))
            return root; /* nothing there to take out */
        struct tree *after = absent ? NULL : (*place)->next;
        if (last && !edit->value) {
            *place = after;
            at->count--;
            return root;
        }
        if (absent || last) {
            struct tree *fresh = last ? copy_tree(edit->value, a) : arena_new(a, struct tree);
            if (!last)
                *fresh = (struct tree){.type = type_for(&edit->path[i + 1])};
            fresh->key = at->type == TREE_MAP ? step->key : (struct slice){0};
            fresh->next = after;
            *place = fresh;
            at->count += absent;
        }
        at = *place;
    }
    return root;
}

static bool same_scalar(const struct tree *a, const struct tree *b) {
    if (a->type == TREE_BOOL)
        return a->truth == b->truth;
    return a->type == TREE_NULL || slice_eq(a->text, b->text);
}

static bool same_tree(const struct tree *a, const struct tree *b) {
    if (a->type != b->type || a->count != b->count)
        return false;
    if (a->type != TREE_LIST && a->type != TREE_MAP)
        return same_scalar(a, b);
    const struct tree *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!slice_eq(x->key, y->key) || !same_tree(x, y))
            return false;
    return !x && !y;
}

/* ---- writing ---- */

/* The document's depth (TREE_DEPTH_MAX) bounds the recursion. */
void tree_json(const struct tree *t, struct emit *e) {
    switch (t->type) {
    case TREE_NULL:
        emit_null(e);
        return;
    case TREE_BOOL:
        emit_bool(e, t->truth);
        return;
    case TREE_INT:
        emit_int(e, t->integer);
        return;
    case TREE_FLOAT:
        emit_double(e, t->number);
        return;
    case TREE_STRING:
        emit_str(e, t->text);
        return;
    case TREE_LIST:
        emit_array(e);
        for (const struct tree *c = t->child; c; c = c->next)
            tree_json(c, e);
        emit_array_end(e);
        return;
    case TREE_MAP:
        emit_object(e);
        for (const struct tree *c = t->child; c; c = c->next) {
            emit_key_slice(e, c->key);
            tree_json(c, e);
        }
        emit_object_end(e);
        return;
    }
}

/* "5/minute": a rate, not a number. */
static bool is_rate(struct slice text) {
    size_t digits = 0;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    return digits > 0 && digits + 1 < text.len && text.ptr[digits] == '/' && text.ptr[digits + 1] >= 'a' &&
           text.ptr[digits + 1] <= 'z';
}

/* Text that YAML reads back unchanged without quotes, in flow style too. */
static bool is_plain(struct slice text) {
    if (!text.len || text.len > EDIT_FLOW_MAX || text.ptr[text.len - 1] == ' ' ||
        text.ptr[text.len - 1] == ':')
        return false;
    char first = text.ptr[0];
    if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' || first == '/' ||
          first == '$' || is_rate(text)))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c > 0x7e || strchr("{}[],\"'`|>%@&*!?\\", c) ||
            (c == '#' && text.ptr[i - 1] == ' ') ||
            (c == ':' && (i + 1 == text.len || text.ptr[i + 1] == ' ')))
            return false;
    }
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (slice_eq_nocase(text, slice_str(words[i])))
            return false;
    return true;
}

static void put_text(struct buf *out, struct slice text) {
    if (is_plain(text))
        buf_put_slice(out, text);
    else
        emit_quote(out, text);
}

static void put_flow(struct buf *out, const struct tree *t) {
    if (t->type == TREE_STRING)
        return put_text(out, t->text);
    if (t->type == TREE_NULL)
        return buf_put_str(out, "null"), (void)0;
    if (t->type == TREE_BOOL)
        return buf_put_str(out, t->truth ? "true" : "false"), (void)0;
    if (t->type != TREE_LIST && t->type != TREE_MAP)
        return buf_put_slice(out, t->text), (void)0;
    bool map = t->type == TREE_MAP;
    buf_put_char(out, map ? '{' : '[');
    for (const struct tree *c = t->child; c; c = c->next) {
        if (map) {
            put_text(out, c->key);
            buf_put_str(out, ": ");
        }
        put_flow(out, c);
        if (c->next)
            buf_put_str(out, ", ");
    }
    buf_put_char(out, map ? '}' : ']');
}

static void put_indent(struct buf *out, uint32_t columns) {
    for (uint32_t i = 0; i < columns; i++)
        buf_put_char(out, ' ');
}

static void put_value(struct buf *out, const struct tree *t, uint32_t indent);

static void put_members(struct buf *out, const struct tree *t, uint32_t indent, bool first_is_placed) {
    for (const struct tree *c = t->child; c; c = c->next) {
        if (c != t->child || !first_is_placed)
            put_indent(out, indent);
        put_text(out, c->key);
        buf_put_char(out, ':');
        put_value(out, c, indent);
    }
}

static void put_items(struct buf *out, const struct tree *t, uint32_t indent) {
    for (const struct tree *c = t->child; c; c = c->next) {
        put_indent(out, indent);
        buf_put_char(out, '-');
        if (c->type == TREE_MAP && c->count) {
            buf_put_char(out, ' ');
            put_members(out, c, indent + EDIT_UNIT, true);
        } else {
            put_value(out, c, indent);
        }
    }
}

/* Small values such as conditions are written on one line. */
static bool fits_line(const struct tree *t) {
    bool deep = false;
    for (const struct tree *c = t->child; c; c = c->next)
        deep |= c->type == TREE_MAP || (c->type == TREE_LIST && t->type == TREE_LIST);
    cleanup_buf struct buf text;
    buf_init(&text, EDIT_DOCUMENT_MAX);
    put_flow(&text, t);
    return t->count == 0 || (!deep && t->type == TREE_LIST && text.len <= EDIT_FLOW_MAX);
}

/* After "key:" or "-", with the line end. */
static void put_value(struct buf *out, const struct tree *t, uint32_t indent) {
    bool block = (t->type == TREE_MAP || t->type == TREE_LIST) && !fits_line(t);
    buf_put_char(out, block ? '\n' : ' ');
    if (!block) {
        put_flow(out, t);
        buf_put_char(out, '\n');
    } else if (t->type == TREE_MAP) {
        put_members(out, t, indent + EDIT_UNIT, false);
    } else {
        put_items(out, t, indent + EDIT_UNIT);
    }
}

/* ---- lines ---- */

struct lines {
    struct slice *items; /* each with its line end, if it has one */
    size_t count;
};

static void lines_of(struct slice text, struct arena *a, struct lines *ret) {
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '\n';
    ret->items = arena_array(a, struct slice, count);
    ret->count = 0;
    while (text.len) {
        ptrdiff_t end = slice_find(text, '\n');
        size_t len = end < 0 ? text.len : (size_t)end + 1;
        ret->items[ret->count++] = slice_upto(text, len);
        text = slice_from(text, len);
    }
}

static uint32_t indent_of(struct slice line) {
    uint32_t i = 0;
    while (i < line.len && line.ptr[i] == ' ')
        i++;
    return i;
}

static bool is_void(struct slice line) {
    struct slice text = slice_trim(line);
    return !text.len || text.ptr[0] == '#';
}

static bool starts_item(struct slice line, uint32_t indent) {
    return indent_of(line) == indent && line.len > indent && line.ptr[indent] == '-' &&
           (line.len == indent + 1 || strchr(" \r\n", line.ptr[indent + 1]));
}

/* An entry in block style, as lines [from, to). */
struct entry {
    size_t from, to;
    uint32_t indent;  /* of its key or dash */
    bool behind_dash; /* the first key of an element; the dash is on the same line */
};

/* The line after the entry that begins at `from`; trailing comments and blank lines are not part of it. */
static size_t entry_end(const struct lines *l, size_t from, uint32_t indent, bool item) {
    size_t to = from + 1;
    for (size_t i = to; i < l->count; i++) {
        struct slice line = l->items[i];
        if (is_void(line))
            continue;
        uint32_t in = indent_of(line);
        if (in < indent || (in == indent && (item || !starts_item(line, indent))))
            break;
        to = i + 1;
    }
    return to;
}

/* Locates a member or an element in block style. */
static bool locate(const struct lines *l, const struct tree *parent, const struct tree *t,
                   struct entry *ret) {
    bool item = parent->type == TREE_LIST;
    uint32_t line = item ? t->line : t->key_line;
    if (!line || line > l->count)
        return false;
    if (!item) {
        struct slice before = slice_upto(l->items[line - 1], t->key_column - 1);
        struct slice rest = slice_trim(before);
        bool dash = rest.len > 0;
        for (size_t i = 0; i < rest.len; i++)
            if (rest.ptr[i] != '-' && rest.ptr[i] != ' ')
                return false;
        *ret = (struct entry){line - 1, 0, t->key_column - 1, dash};
        ret->to = entry_end(l, ret->from, ret->indent, false);
        return true;
    }
    /* The dash is on the value's line or on one above. */
    for (size_t i = line; i-- > 0;) {
        uint32_t in = indent_of(l->items[i]);
        if (is_void(l->items[i]))
            continue;
        if (!starts_item(l->items[i], in))
            return false;
        *ret = (struct entry){i, entry_end(l, i, in, true), in, false};
        return true;
    }
    return false;
}

/* ---- the change in YAML ---- */

struct change {
    const struct lines *lines;
    size_t from, to; /* lines to replace */
    struct buf text; /* the replacement */
};

/* The comment after a value on its line, with the spaces before its #; empty when quotes make it ambiguous.
 */
static struct slice comment_of(struct slice line, size_t from) {
    line = slice_of(line.ptr, line.len - (line.len && line.ptr[line.len - 1] == '\n'));
    for (size_t i = from; i + 1 < line.len && line.ptr[i] != '"' && line.ptr[i] != '\''; i++)
        if (line.ptr[i] == ' ' && slice_trim(slice_from(line, i)).ptr[0] == '#')
            return slice_from(line, i);
    return (struct slice){0};
}

static void rewrite(struct change *c, const struct entry *e, const struct tree *parent,
                    const struct tree *fresh) {
    c->from = e->from;
    c->to = e->to;
    struct slice line = c->lines->items[e->from];
    if (e->behind_dash)
        buf_put_slice(&c->text, slice_upto(line, e->indent));
    else
        put_indent(&c->text, e->indent);
    if (parent->type == TREE_LIST) {
        buf_put_char(&c->text, '-');
        if (fresh->type == TREE_MAP && fresh->count) {
            buf_put_char(&c->text, ' ');
            put_members(&c->text, fresh, e->indent + EDIT_UNIT, true);
            return;
        }
    } else {
        /* The key as it was written. */
        size_t key = e->indent;
        while (key < line.len && line.ptr[key] != ':')
            key++;
        buf_put_slice(&c->text, slice_of(line.ptr + e->indent, key - e->indent));
        buf_put_char(&c->text, ':');
    }
    put_value(&c->text, fresh, e->indent);
}

/* Rewrites an entry; the comment on its line stays. */
static void replace(struct change *c, const struct entry *e, const struct tree *parent,
                    const struct tree *fresh) {
    struct slice comment = comment_of(c->lines->items[e->from], e->indent);
    rewrite(c, e, parent, fresh);
    ptrdiff_t end = slice_find(buf_slice(&c->text), '\n');
    if (!comment.len || end < 0)
        return;
    cleanup_buf struct buf old;
    old = c->text;
    buf_init(&c->text, EDIT_DOCUMENT_MAX);
    buf_put(&c->text, old.ptr, (size_t)end);
    buf_put_slice(&c->text, comment);
    buf_put_slice(&c->text, slice_from(buf_slice(&old), (size_t)end));
}

/* Adds an entry after this one, which is in block style. */
static void append(struct change *c, const struct entry *last, const struct tree *parent,
                   const struct tree *fresh) {
    c->from = c->to = last->to;
    struct slice before = c->lines->items[last->to - 1];
    if (before.len && before.ptr[before.len - 1] != '\n')
        buf_put_char(&c->text, '\n');
    struct tree one = *fresh;
    one.next = NULL;
    const struct tree holder = {.type = parent->type, .child = &one, .count = 1};
    if (parent->type == TREE_LIST)
        put_items(&c->text, &holder, last->indent);
    else
        put_members(&c->text, &holder, last->indent, false);
}

static const struct tree *child_at(const struct tree *t, const struct tree_step *step) {
    return t ? *find_place((struct tree *)(uintptr_t)t, step) : NULL;
}

static const struct tree *last_of(const struct tree *t) {
    const struct tree *c = t->child;
    while (c && c->next)
        c = c->next;
    return c;
}

/* Descends both trees; *c says which lines change. False: no part of the path is in block style. */
static bool place_change(struct change *c, const struct tree *root, const struct tree *model,
                         const struct tree_edit *edit) {
    const struct tree *parent = root, *fresh = model, *above = NULL, *above_fresh = NULL;
    struct entry around = {0}, here;
    bool have = false; /* `around` is the entry that holds `parent` */
    for (size_t i = 0; i < edit->depth; i++) {
        const struct tree_step *step = &edit->path[i];
        const struct tree *old = is_append(step) ? NULL : child_at(parent, step);
        const struct tree *now = is_append(step) ? last_of(fresh) : child_at(fresh, step);
        bool block = old && locate(c->lines, parent, old, &here);
        const struct tree *last = last_of(parent);
        if (!old && last && locate(c->lines, parent, last, &here)) {
            append(c, &here, parent, now);
            return true;
        }
        if (!block)
            break;
        if (i + 1 == edit->depth && edit->value) {
            replace(c, &here, parent, now);
            return true;
        }
        if (i + 1 == edit->depth && parent->count > 1 && !here.behind_dash) {
            c->from = here.from;
            c->to = here.to;
            return true;
        }
        if (i + 1 == edit->depth)
            break; /* the only entry, or the first of an element: rewrite the entry around it */
        above = parent;
        above_fresh = now;
        around = here;
        have = true;
        parent = old;
        fresh = now;
    }
    if (have)
        replace(c, &around, above, above_fresh);
    else if (!root->child || root->type == TREE_NULL) {
        c->from = c->to = c->lines->count;
        put_members(&c->text, model, 0, false);
        have = true;
    }
    return have;
}

static int edit_yaml(struct slice text, const struct tree *root, const struct tree *model,
                     const struct tree_edit *edit, struct arena *a, struct buf *out, struct err *err) {
    struct lines lines;
    lines_of(text, a, &lines);
    struct change c = {.lines = &lines};
    buf_init(&c.text, EDIT_DOCUMENT_MAX);
    bool placed = place_change(&c, root, model, edit);
    for (size_t i = 0; placed && i < c.from; i++)
        buf_put_slice(out, lines.items[i]);
    buf_put_slice(out, buf_slice(&c.text));
    for (size_t i = c.to; placed && i < lines.count; i++)
        buf_put_slice(out, lines.items[i]);
    buf_free(&c.text);
    return placed
               ? 0
               : err_set(err, "this place cannot be changed without rewriting the document; edit the text");
}

static void put_json_pretty(struct buf *out, const struct tree *t, uint32_t indent) {
    bool map = t->type == TREE_MAP;
    if ((!map && t->type != TREE_LIST) || !t->count) {
        struct emit e;
        emit_init(&e, out);
        tree_json(t, &e);
        return;
    }
    buf_put_str(out, map ? "{\n" : "[\n");
    for (const struct tree *c = t->child; c; c = c->next) {
        put_indent(out, indent + EDIT_UNIT);
        if (map) {
            emit_quote(out, c->key);
            buf_put_str(out, ": ");
        }
        put_json_pretty(out, c, indent + EDIT_UNIT);
        buf_put_str(out, c->next ? ",\n" : "\n");
    }
    put_indent(out, indent);
    buf_put_char(out, map ? '}' : ']');
}

static bool is_json(struct slice text) {
    struct slice first = slice_trim(text);
    return first.len && (first.ptr[0] == '{' || first.ptr[0] == '[');
}

int tree_edit(struct slice text, const struct tree_edit *edit, struct buf *out, struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    const struct tree *root, *after;
    if (tree_parse(text, &a, &root, err) < 0)
        return -1;
    struct tree *model = change_model(copy_tree(root, &a), edit, &a, err);
    if (!model)
        return -1;
    size_t from = out->len;
    if (same_tree(root, model)) {
        buf_put_slice(out, text);
        return 0;
    }
    if (is_json(text)) {
        put_json_pretty(out, model, 0);
        buf_put_char(out, '\n');
    } else if (edit_yaml(text, root, model, edit, &a, out, err) < 0) {
        return -1;
    }
    if (out->full)
        return err_set(err, "the document would become too large");
    if (tree_parse(slice_of(out->ptr + from, out->len - from), &a, &after, err) < 0 ||
        !same_tree(after, model))
        return err_set(err, "this place cannot be changed without changing others; edit the text");
    return 0;
}
