#include "policy/value.h"

#include "base/buf.h"
#include "base/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DECIMAL_MAX 400 /* digits of the largest double and some room */

bool policy_value_is_null(const struct value *v) {
    return v->kind == VALUE_NODE && tape_is(v->tape, v->node, TAPE_NULL);
}

bool policy_value_is_text(const struct value *v) {
    return v->kind == VALUE_TEXT || (v->kind == VALUE_NODE && tape_is(v->tape, v->node, TAPE_STRING));
}

struct slice policy_value_text(const struct value *v, struct arena *a) {
    if (v->kind == VALUE_TEXT)
        return v->text;
    const struct tape_node *n = tape_node(v->tape, v->node);
    if (n->flags & TAPE_ESCAPED)
        return tape_text(v->tape, v->node, a);
    return slice_of(v->tape->src.ptr + n->start, n->len);
}

static bool text_number(struct slice text, double *ret_number) {
    char copy[64];
    if (text.len == 0 || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    char *end;
    *ret_number = strtod(copy, &end);
    return end == copy + text.len && isfinite(*ret_number);
}

bool policy_value_number(const struct value *v, double *ret_number) {
    switch (v->kind) {
    case VALUE_NUMBER:
        *ret_number = v->number;
        return true;
    case VALUE_TEXT: /* facts are texts; the agent does not write them */
        return text_number(v->text, ret_number);
    case VALUE_NODE: {
        int64_t integer;
        if (!tape_is(v->tape, v->node, TAPE_NUMBER))
            return false;
        if (tape_int(v->tape, v->node, &integer)) {
            *ret_number = (double)integer;
            return true;
        }
        return tape_double(v->tape, v->node, ret_number);
    }
    case VALUE_ABSENT:
        break;
    }
    return false;
}

struct slice policy_value_decimal(double number, struct arena *a) {
    char digits[40];
    if (fabs(number) < 1e15 && number == (double)(int64_t)number)
        return arena_printf(a, "%lld", (long long)number);
    int precision = 0;
    do
        snprintf(digits, sizeof(digits), "%.*e", precision, number);
    while (strtod(digits, NULL) != number && ++precision < 17);
    /* d.ddde±xx to plain digits */
    char *mark = strchr(digits, 'e');
    long exponent = strtol(mark + 1, NULL, 10);
    char *out = arena_alloc(a, DECIMAL_MAX + 40);
    size_t len = 0, count = 0;
    char plain[32];
    for (char *c = digits; c < mark; c++)
        if (*c >= '0' && *c <= '9')
            plain[count++] = *c;
    if (number < 0)
        out[len++] = '-';
    if (exponent < 0) {
        out[len++] = '0';
        out[len++] = '.';
        for (long i = 1; i < -exponent; i++)
            out[len++] = '0';
    }
    for (size_t i = 0; i < count || (long)i <= exponent; i++) {
        out[len++] = i < count ? plain[i] : '0';
        if ((long)i == exponent && i + 1 < count)
            out[len++] = '.';
    }
    return slice_of(out, len);
}

static void print_scalar(const struct tape *t, uint32_t i, struct buf *out, struct arena *a) {
    double number;
    switch (tape_type(t, i)) {
    case TAPE_NULL:
        buf_put_str(out, "<nil>");
        break;
    case TAPE_TRUE:
        buf_put_str(out, "true");
        break;
    case TAPE_FALSE:
        buf_put_str(out, "false");
        break;
    case TAPE_NUMBER:
        if (tape_double(t, i, &number))
            buf_put_slice(out, policy_value_decimal(number, a));
        else
            buf_put_slice(out, tape_raw(t, i));
        break;
    case TAPE_STRING:
        buf_put_slice(out, tape_text(t, i, a));
        break;
    case TAPE_ARRAY:
    case TAPE_OBJECT:
        break;
    }
}

struct frame {       /* one open list or map */
    uint32_t *items; /* nodes of the values in printing order */
    struct slice *keys;
    uint32_t count, at;
    bool is_map;
};

struct pair {
    struct slice key;
    uint32_t value;
};

static int pair_cmp(const void *x, const void *y) {
    return slice_cmp(((const struct pair *)x)->key, ((const struct pair *)y)->key);
}

static void frame_open(struct frame *f, const struct tape *t, uint32_t node, struct arena *a) {
    *f = (struct frame){.is_map = tape_is(t, node, TAPE_OBJECT), .count = tape_node(t, node)->count};
    f->items = arena_array(a, uint32_t, f->count + 1);
    uint32_t n = 0;
    if (!f->is_map) {
        TAPE_FOR_ELEM(t, node, i) f->items[n++] = i;
        return;
    }
    struct pair *pairs = arena_array(a, struct pair, f->count + 1);
    f->keys = arena_array(a, struct slice, f->count + 1);
    TAPE_FOR_MEMBER(t, node, key) pairs[n++] = (struct pair){tape_text(t, key, a), key + 1};
    qsort(pairs, n, sizeof(*pairs), pair_cmp);
    for (uint32_t i = 0; i < n; i++) {
        f->keys[i] = pairs[i].key;
        f->items[i] = pairs[i].value;
    }
}

/* [a b] and map[k:v] with sorted keys. The tape's depth bounds the stack. */
static void print_container(const struct tape *t, uint32_t node, struct buf *out, struct arena *a) {
    struct frame *stack = arena_array(a, struct frame, TAPE_DEPTH_MAX + 1);
    uint32_t depth = 0;
    frame_open(&stack[0], t, node, a);
    buf_put_str(out, stack[0].is_map ? "map[" : "[");
    for (;;) {
        struct frame *f = &stack[depth];
        if (f->at == f->count) {
            buf_put_char(out, ']');
            if (depth == 0)
                return;
            depth--;
            continue;
        }
        if (f->at)
            buf_put_char(out, ' ');
        if (f->is_map) {
            buf_put_slice(out, f->keys[f->at]);
            buf_put_char(out, ':');
        }
        uint32_t item = f->items[f->at++];
        if (tape_is(t, item, TAPE_ARRAY) || tape_is(t, item, TAPE_OBJECT)) {
            CHECK(depth < TAPE_DEPTH_MAX);
            frame_open(&stack[++depth], t, item, a);
            buf_put_str(out, stack[depth].is_map ? "map[" : "[");
        } else {
            print_scalar(t, item, out, a);
        }
    }
}

struct slice policy_value_print(const struct value *v, struct arena *a) {
    if (policy_value_is_text(v))
        return policy_value_text(v, a);
    if (v->kind == VALUE_NUMBER)
        return policy_value_decimal(v->number, a);
    if (v->kind == VALUE_ABSENT)
        return SLICE("<nil>");
    cleanup_buf struct buf out;
    buf_init(&out, TAPE_BYTES_MAX);
    if (tape_is(v->tape, v->node, TAPE_ARRAY) || tape_is(v->tape, v->node, TAPE_OBJECT))
        print_container(v->tape, v->node, &out, a);
    else
        print_scalar(v->tape, v->node, &out, a);
    return arena_dup(a, buf_slice(&out));
}

bool policy_value_equals(const struct value *v, const struct constant *c, struct arena *a) {
    double number;
    bool both_numbers = (c->type == TREE_INT || c->type == TREE_FLOAT) && v->kind != VALUE_TEXT;
    if (both_numbers && policy_value_number(v, &number))
        return number == c->number;
    if (v->kind == VALUE_NODE) {
        switch (tape_type(v->tape, v->node)) { /* without building a text */
        case TAPE_STRING:
            return tape_eq(v->tape, v->node, c->text);
        case TAPE_TRUE:
            return slice_is(c->text, "true");
        case TAPE_FALSE:
            return slice_is(c->text, "false");
        case TAPE_NULL:
            return slice_is(c->text, "<nil>");
        default:
            break;
        }
    }
    return slice_eq(policy_value_print(v, a), c->text);
}

static uint64_t count_characters(struct slice text) {
    uint64_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return count;
}

bool policy_value_length(const struct value *v, uint64_t *ret_length, struct arena *a) {
    if (policy_value_is_text(v)) {
        *ret_length = count_characters(policy_value_text(v, a));
        return true;
    }
    if (v->kind != VALUE_NODE ||
        (!tape_is(v->tape, v->node, TAPE_ARRAY) && !tape_is(v->tape, v->node, TAPE_OBJECT)))
        return false;
    *ret_length = tape_node(v->tape, v->node)->count;
    return true;
}

const char *policy_value_type_name(const struct value *v) {
    static const char *const names[] = {
        [TAPE_NULL] = "null",     [TAPE_FALSE] = "boolean", [TAPE_TRUE] = "boolean",
        [TAPE_NUMBER] = "number", [TAPE_STRING] = "string", [TAPE_ARRAY] = "array",
        [TAPE_OBJECT] = "object",
    };
    switch (v->kind) {
    case VALUE_NODE:
        return names[tape_type(v->tape, v->node)];
    case VALUE_TEXT:
        return "string";
    case VALUE_NUMBER:
        return "number";
    case VALUE_ABSENT:
        break;
    }
    return "absent";
}

/* ---- constants ---- */

static int member_cmp(const void *x, const void *y) {
    return slice_cmp((*(const struct tree *const *)x)->key, (*(const struct tree *const *)y)->key);
}

/* The document's depth (TREE_DEPTH_MAX) bounds the recursion; the policy is the owner's, not the agent's. */
static void print_tree(const struct tree *t, struct buf *out, struct arena *a) {
    switch (t->type) {
    case TREE_NULL:
        buf_put_str(out, "<nil>");
        return;
    case TREE_BOOL:
        buf_put_str(out, t->truth ? "true" : "false");
        return;
    case TREE_INT:
    case TREE_FLOAT:
        buf_put_slice(out, policy_value_decimal(t->number, a));
        return;
    case TREE_STRING:
        buf_put_slice(out, t->text);
        return;
    case TREE_LIST:
    case TREE_MAP:
        break;
    }
    const struct tree **items = arena_array(a, const struct tree *, t->count + 1);
    size_t n = 0;
    for (const struct tree *c = t->child; c; c = c->next)
        items[n++] = c;
    if (t->type == TREE_MAP)
        qsort(items, n, sizeof(*items), member_cmp);
    buf_put_str(out, t->type == TREE_MAP ? "map[" : "[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_put_char(out, ' ');
        if (t->type == TREE_MAP) {
            buf_put_slice(out, items[i]->key);
            buf_put_char(out, ':');
        }
        print_tree(items[i], out, a);
    }
    buf_put_char(out, ']');
}

void policy_value_constant(const struct tree *t, struct arena *a, struct constant *ret) {
    cleanup_buf struct buf out;
    buf_init(&out, POLICY_BYTES_MAX);
    *ret = (struct constant){.type = t->type, .number = t->number};
    print_tree(t, &out, a);
    ret->text = arena_dup(a, buf_slice(&out));
}
