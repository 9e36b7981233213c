#include "policy/value.h"

#include "base/buf.h"
#include "base/check.h"
#include "policy/number.h"

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

/* The decimal text of a number; empty for anything else. Facts are texts that the agent cannot set. */
static struct slice number_text(const struct value *v, struct arena *a) {
    switch (v->kind) {
    case VALUE_NUMBER:
        return policy_value_decimal(v->number, a);
    case VALUE_TEXT:
        return policy_number_is(v->text) ? v->text : (struct slice){0};
    case VALUE_NODE:
        return tape_is(v->tape, v->node, TAPE_NUMBER) ? tape_raw(v->tape, v->node) : (struct slice){0};
    case VALUE_ABSENT:
        break;
    }
    return (struct slice){0};
}

static double to_double(struct slice text, struct arena *a) {
    char copy[64];
    if (text.len >= sizeof(copy))
        return strtod(arena_dup(a, text).ptr, NULL);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return strtod(copy, NULL);
}

static int sign_of(double x, double y) { return (x > y) - (x < y); }

/* As a reader with doubles sees it: the shortest decimal of the same double. */
static int order_rounded(struct slice text, const struct constant *c, struct arena *a) {
    double number = to_double(text, a);
    if (!isfinite(number))
        return sign_of(number, c->number);
    return policy_number_cmp(policy_value_decimal(number, a), c->digits);
}

static void order_texts(struct slice text, const struct constant *c, struct arena *a,
                        struct policy_order *ret) {
    ret->exact = policy_number_cmp(text, c->digits);
    bool same_to_all = ret->exact == 0 || policy_number_is_short(text);
    ret->rounded = same_to_all ? ret->exact : order_rounded(text, c, a);
}

static bool is_short_integer(const struct value *v) {
    const struct tape_node *n = tape_node(v->tape, v->node);
    return n->type == TAPE_NUMBER && n->flags & TAPE_INTEGER && n->len <= POLICY_NUMBER_SHORT;
}

/* Its syntax is already checked, and it is short. */
static int64_t short_integer(const struct value *v) {
    const struct tape_node *n = tape_node(v->tape, v->node);
    const char *at = v->tape->src.ptr + n->start, *end = at + n->len;
    bool minus = *at == '-';
    int64_t value = 0;
    for (at += minus; at < end; at++)
        value = value * 10 + (*at - '0');
    return minus ? -value : value;
}

bool policy_value_order(const struct value *v, const struct constant *c, struct arena *a,
                        struct policy_order *ret_order) {
    if (v->kind == VALUE_NODE && c->is_short && is_short_integer(v)) { /* the common case */
        ret_order->exact = ret_order->rounded = sign_of((double)short_integer(v), c->number);
        return true;
    }
    if (v->kind == VALUE_NUMBER) {
        ret_order->exact = ret_order->rounded = sign_of(v->number, c->number);
        return true;
    }
    struct slice text = number_text(v, a);
    if (text.len)
        order_texts(text, c, a, ret_order);
    return text.len > 0;
}

bool policy_value_is_integer(const struct value *v) {
    if (v->kind == VALUE_NUMBER)
        return v->number == trunc(v->number);
    return v->kind == VALUE_NODE && policy_number_is_integer(tape_raw(v->tape, v->node));
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

/* Only scalars are compared as texts. */
/* As eq compares scalars of different types: Go's %v, except that numbers are plain decimals. */
static struct slice printed(const struct value *v, struct arena *a) {
    if (policy_value_is_text(v))
        return policy_value_text(v, a);
    if (v->kind == VALUE_NUMBER)
        return policy_value_decimal(v->number, a);
    if (v->kind == VALUE_ABSENT)
        return SLICE("<nil>");
    switch (tape_type(v->tape, v->node)) {
    case TAPE_NULL:
        return SLICE("<nil>");
    case TAPE_NUMBER: {
        double number;
        bool plain = tape_node(v->tape, v->node)->flags & TAPE_INTEGER;
        if (!plain && tape_double(v->tape, v->node, &number))
            return policy_value_decimal(number, a);
        break;
    }
    default:
        break;
    }
    struct slice raw = tape_raw(v->tape, v->node);
    return slice_is(raw, "-0") ? SLICE("0") : raw;
}

/* ---- equality, as loosely as servers read ---- */

static bool is_number_type(enum tree_type type) { return type == TREE_INT || type == TREE_FLOAT; }

/* May some reader take the text for a number? Any that begins like one, is blank, or contains non-ASCII. */
static bool may_be_number(struct slice text) {
    static const char *const words[] = {"inf", "infinity", "nan", NULL};
    text = slice_trim(text);
    if (!text.len || slice_is_any_nocase(text, words))
        return true;
    unsigned char c = (unsigned char)text.ptr[0];
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c >= 0x80;
}

bool policy_value_may_be_json(struct slice text) {
    text = slice_trim(text);
    return text.len && (text.ptr[0] == '[' || text.ptr[0] == '{');
}

/* Words that some readers take for 0 (Jackson: `null`) or for 1. */
static bool is_number_word(struct slice text, double number) {
    static const char *const zero[] = {"null", "none", "nil", "false", "no", "off", NULL};
    static const char *const one[] = {"true", "yes", "on", NULL};
    return (number == 0 && slice_is_any_nocase(text, zero)) ||
           (number == 1 && slice_is_any_nocase(text, one));
}

/* "5000", "5e3" and " 5_000" against 5000. */
static enum truth number_from_text(struct slice text, const struct constant *c, struct arena *a) {
    struct policy_order order;
    if (slice_eq(text, c->text))
        return TRUTH_YES;
    if (is_number_word(slice_trim(text), c->number))
        return TRUTH_UNSURE;
    bool leads_with_zero = text.len > 1 && text.ptr[0] == '0' && text.ptr[1] != '.';
    if (!policy_number_is(text) || leads_with_zero)
        return may_be_number(text) ? TRUTH_UNSURE : TRUTH_NO;
    order_texts(text, c, a, &order);
    return order.exact && order.rounded ? TRUTH_NO : TRUTH_UNSURE;
}

static enum truth text_equals(struct slice text, const struct constant *c, struct arena *a) {
    static const char *const nulls[] = {"", "null", "none", "nil", NULL};
    switch (c->type) {
    case TREE_INT:
    case TREE_FLOAT:
        return number_from_text(text, c, a);
    case TREE_BOOL: /* some readers take "yes", "1" and "on" as true, others every text but "" */
        return c->number != 0 && slice_is(text, "true") ? TRUTH_YES : TRUTH_UNSURE;
    case TREE_NULL:
        if (slice_eq(text, c->text))
            return TRUTH_YES;
        return slice_is_any_nocase(slice_trim(text), nulls) ? TRUTH_UNSURE : TRUTH_NO;
    case TREE_STRING: /* node_equals() has compared it */
    case TREE_LIST:
    case TREE_MAP:
        break;
    }
    return policy_value_may_be_json(text) ? TRUTH_UNSURE : TRUTH_NO;
}

static enum truth number_equals(const struct value *v, const struct constant *c, struct arena *a) {
    struct policy_order order;
    if (is_number_type(c->type)) {
        policy_value_order(v, c, a, &order);
        return !order.exact == !order.rounded ? truth_of(!order.exact) : TRUTH_UNSURE;
    }
    if (c->type == TREE_BOOL)
        return TRUTH_UNSURE;
    if (c->type != TREE_STRING)
        return TRUTH_NO;
    if (slice_eq(printed(v, a), c->text))
        return TRUTH_YES;
    if (!policy_number_is(c->text))
        return TRUTH_NO;
    struct constant as_number = {.digits = c->text, .number = to_double(c->text, a)};
    policy_value_order(v, &as_number, a, &order);
    return order.exact && order.rounded ? TRUTH_NO : TRUTH_UNSURE;
}

static enum truth bool_equals(bool truth, const struct constant *c) {
    static const char *const yes[] = {"true", "t", "yes", "y", "on", "1", NULL};
    static const char *const no[] = {"false", "f", "no", "n", "off", "0", "", NULL};
    if (c->type == TREE_BOOL)
        return truth_of((c->number != 0) == truth);
    if (c->type == TREE_STRING && slice_is(c->text, truth ? "true" : "false"))
        return TRUTH_YES;
    if (c->type == TREE_STRING)
        return slice_is_any_nocase(c->text, truth ? yes : no) ? TRUTH_UNSURE : TRUTH_NO;
    return is_number_type(c->type) && c->number == truth ? TRUTH_UNSURE : TRUTH_NO;
}

/* Readers without null use a zero value instead. */
static enum truth null_equals(const struct constant *c) {
    static const char *const nulls[] = {"", "null", "none", "nil", NULL};
    switch (c->type) {
    case TREE_NULL:
        return TRUTH_YES;
    case TREE_STRING:
        return slice_is(c->text, "<nil>")            ? TRUTH_YES
               : slice_is_any_nocase(c->text, nulls) ? TRUTH_UNSURE
                                                     : TRUTH_NO;
    case TREE_BOOL:
    case TREE_INT:
    case TREE_FLOAT:
        return c->number == 0 ? TRUTH_UNSURE : TRUTH_NO;
    case TREE_LIST:
    case TREE_MAP:
        break;
    }
    return c->tree->count ? TRUTH_NO : TRUTH_UNSURE;
}

static enum truth node_equals(const struct tape *t, uint32_t node, const struct constant *c, struct arena *a);

/* An element or member, compared as JSON, where "5" is not 5; a server may still convert it. */
static enum truth part_equals(const struct tape *t, uint32_t node, const struct tree *want, struct arena *a) {
    static const enum tree_type same[] = {
        [TAPE_NULL] = TREE_NULL,  [TAPE_FALSE] = TREE_BOOL,    [TAPE_TRUE] = TREE_BOOL,
        [TAPE_NUMBER] = TREE_INT, [TAPE_STRING] = TREE_STRING, [TAPE_ARRAY] = TREE_LIST,
        [TAPE_OBJECT] = TREE_MAP,
    };
    struct constant c;
    policy_value_constant(want, a, &c);
    enum truth truth = node_equals(t, node, &c, a);
    enum tree_type type = want->type == TREE_FLOAT ? TREE_INT : want->type;
    return truth == TRUTH_YES && type != same[tape_type(t, node)] ? TRUTH_UNSURE : truth;
}

static enum truth list_equals(const struct tape *t, uint32_t node, const struct tree *want, struct arena *a) {
    enum truth all = TRUTH_YES;
    if (tape_node(t, node)->count != want->count)
        return TRUTH_NO;
    const struct tree *item = want->child;
    TAPE_FOR_ELEM(t, node, i) {
        enum truth one = part_equals(t, i, item, a);
        if (one == TRUTH_NO)
            return one;
        all = one == TRUTH_UNSURE ? one : all;
        item = item->next;
    }
    return all;
}

static enum truth map_equals(const struct tape *t, uint32_t node, const struct tree *want, struct arena *a) {
    enum truth all = TRUTH_YES;
    if (tape_node(t, node)->count != want->count)
        return TRUTH_NO;
    for (const struct tree *item = want->child; item; item = item->next) {
        uint32_t member = tape_get(t, node, item->key);
        enum truth one = member ? part_equals(t, member, item, a) : TRUTH_NO;
        if (one == TRUTH_NO)
            return one;
        all = one == TRUTH_UNSURE ? one : all;
    }
    return all;
}

/* Recursive as deep as the constant is nested, which TREE_DEPTH_MAX bounds. */
static enum truth node_equals(const struct tape *t, uint32_t node, const struct constant *c,
                              struct arena *a) {
    const struct value v = {.kind = VALUE_NODE, .tape = t, .node = node};
    switch (tape_type(t, node)) {
    case TAPE_NULL:
        return null_equals(c);
    case TAPE_FALSE:
    case TAPE_TRUE:
        return bool_equals(tape_is(t, node, TAPE_TRUE), c);
    case TAPE_NUMBER:
        return number_equals(&v, c, a);
    case TAPE_STRING:
        return c->type == TREE_STRING ? truth_of(tape_eq(t, node, c->text))
                                      : text_equals(policy_value_text(&v, a), c, a);
    case TAPE_ARRAY: /* some readers take [x] as x, others as true */
        if (c->type == TREE_LIST)
            return list_equals(t, node, c->tree, a);
        return c->type == TREE_MAP || c->type == TREE_NULL ? TRUTH_NO : TRUTH_UNSURE;
    case TAPE_OBJECT:
        if (c->type == TREE_MAP)
            return map_equals(t, node, c->tree, a);
        return c->type == TREE_BOOL ? TRUTH_UNSURE : TRUTH_NO;
    }
    return TRUTH_UNSURE;
}

enum truth policy_value_equals(const struct value *v, const struct constant *c, struct arena *a) {
    if (v->kind == VALUE_NODE)
        return node_equals(v->tape, v->node, c, a);
    if (v->kind == VALUE_NUMBER && is_number_type(c->type))
        return truth_of(v->number == c->number);
    return truth_of(slice_eq(printed(v, a), c->text));
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

/* The document's depth (TREE_DEPTH_MAX) bounds the recursion; the policy comes from the owner, not from
 * the agent. */
static void print_tree(const struct tree *t, struct buf *out, struct arena *a) {
    switch (t->type) {
    case TREE_NULL:
        buf_put_str(out, "<nil>");
        return;
    case TREE_BOOL:
        buf_put_str(out, t->truth ? "true" : "false");
        return;
    case TREE_INT:
        buf_printf(out, "%lld", (long long)t->integer);
        return;
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

/* YAML's hexadecimal and 1_000 are integers; a float that is not written in decimals is read as a double. */
static struct slice number_digits(const struct tree *t, struct arena *a) {
    if (t->type == TREE_INT)
        return arena_printf(a, "%lld", (long long)t->integer);
    return policy_number_is(t->text) ? t->text : policy_value_decimal(t->number, a);
}

void policy_value_constant(const struct tree *t, struct arena *a, struct constant *ret) {
    cleanup_buf struct buf out;
    buf_init(&out, POLICY_BYTES_MAX);
    *ret = (struct constant){.type = t->type, .number = t->number, .tree = t};
    if (t->type == TREE_BOOL)
        ret->number = t->truth;
    if (is_number_type(t->type))
        ret->digits = number_digits(t, a);
    ret->is_short = is_number_type(t->type) && policy_number_is_short(ret->digits);
    print_tree(t, &out, a);
    ret->text = arena_dup(a, buf_slice(&out));
}
