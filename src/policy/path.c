#include "policy/path.h"

#include "wire/clash.h"

static const char *const fact_roots[] = {"grant.", "identity.", "session.", "server.",
                                         "tool.",  "call.",     NULL};

static bool path_root(struct slice text, enum root *ret_root, struct slice *ret_rest) {
    static const struct {
        const char *prefix;
        enum root root;
    } rows[] = {{"args.", ROOT_ARGS}, {"params.", ROOT_ARGS}, {"state.", ROOT_STATE}, {"time.", ROOT_TIME}};
    if (slice_is(text, "args") || slice_is(text, "params")) {
        *ret_root = ROOT_ARGS;
        *ret_rest = (struct slice){0};
        return true;
    }
    if (slice_starts(text, SLICE("args[")) || slice_starts(text, SLICE("params["))) {
        *ret_root = ROOT_ARGS;
        *ret_rest = slice_from(text, (size_t)slice_find(text, '['));
        return true;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice prefix = slice_str(rows[i].prefix);
        if (!slice_starts(text, prefix))
            continue;
        *ret_root = rows[i].root;
        *ret_rest = slice_from(text, prefix.len);
        return true;
    }
    for (size_t i = 0; fact_roots[i]; i++) {
        if (!slice_starts(text, slice_str(fact_roots[i])))
            continue;
        *ret_root = ROOT_FACT;
        *ret_rest = (struct slice){0};
        return true;
    }
    return false;
}

static struct step key_step(struct slice key) {
    struct step step = {.kind = STEP_KEY, .key = key};
    uint64_t index;
    if (slice_is(key, "*"))
        step.on_array = true;
    else if (key.len <= 9 && slice_to_u64(key, &index)) {
        step.on_array = true;
        step.index = (uint32_t)index;
    }
    return step;
}

/* The text between brackets at rest[0] == '['; moves rest behind the closing one. */
static bool bracket_step(struct slice *rest, struct step *ret_step) {
    char quote = rest->len > 1 ? rest->ptr[1] : '\0';
    size_t end = 1;
    if (quote == '"' || quote == '\'') {
        for (end = 2; end < rest->len && rest->ptr[end] != quote;)
            end++;
        if (end + 1 >= rest->len || rest->ptr[end + 1] != ']')
            return false;
        *ret_step = (struct step){.kind = STEP_KEY, .key = slice_of(rest->ptr + 2, end - 2)};
        *rest = slice_from(*rest, end + 2);
        return true;
    }
    while (end < rest->len && rest->ptr[end] != ']')
        end++;
    if (end >= rest->len)
        return false;
    struct slice inside = slice_of(rest->ptr + 1, end - 1);
    uint64_t index;
    if (slice_is(inside, "*"))
        *ret_step = (struct step){.kind = STEP_EACH};
    else if (inside.len <= 9 && slice_to_u64(inside, &index))
        *ret_step = (struct step){.kind = STEP_INDEX, .index = (uint32_t)index};
    else
        return false;
    *rest = slice_from(*rest, end + 1);
    return true;
}

/* A key runs to the next dot or bracket; a dot stands before every key but the first. */
static bool next_step(struct slice *rest, bool is_first, struct step *ret_step) {
    if (rest->ptr[0] == '[')
        return bracket_step(rest, ret_step);
    if (!is_first) {
        if (rest->ptr[0] != '.')
            return false;
        *rest = slice_from(*rest, 1);
        if (rest->len == 0)
            return false;
    }
    size_t end = 0;
    while (end < rest->len && rest->ptr[end] != '.' && rest->ptr[end] != '[')
        end++;
    if (end == 0)
        return false;
    *ret_step = key_step(slice_upto(*rest, end));
    *rest = slice_from(*rest, end);
    return true;
}

enum policy_path_fault policy_path_compile(struct slice text, struct arena *a, struct path *ret_path) {
    struct path path = {.text = arena_dup(a, text)};
    struct slice rest;
    if (!path_root(path.text, &path.root, &rest))
        return POLICY_PATH_ROOT;
    if (path.root != ROOT_ARGS) {
        *ret_path = path;
        return POLICY_PATH_OK;
    }
    struct step steps[POLICY_PATH_STEPS_MAX];
    uint32_t count = 0, each = 0;
    while (rest.len) {
        if (count == POLICY_PATH_STEPS_MAX || !next_step(&rest, count == 0, &steps[count]))
            return POLICY_PATH_SYNTAX;
        bool is_each = steps[count].kind == STEP_EACH || slice_is(steps[count].key, "*");
        if (is_each && ++each > POLICY_PATH_EACH_MAX)
            return POLICY_PATH_SYNTAX;
        count++;
    }
    if (count == 0 && !slice_is(path.text, "args") && !slice_is(path.text, "params"))
        return POLICY_PATH_SYNTAX;
    path.has_each = each > 0;
    path.step_count = count;
    path.steps = arena_array(a, struct step, count + 1);
    if (count)
        memcpy(path.steps, steps, count * sizeof(*steps));
    *ret_path = path;
    return POLICY_PATH_OK;
}

/* ---- walking ---- */

static uint32_t nth_element(const struct tape *t, uint32_t array, uint32_t index) {
    TAPE_FOR_ELEM(t, array, i) {
        if (index-- == 0)
            return i;
    }
    return 0;
}

/* JavaScript that copies members one by one turns members of `__proto__` into members of the object. One that
 * merges objects does so with `constructor.prototype`, for all objects. */
static bool has_prototype(const struct tape *t, uint32_t obj) {
    const uint32_t constructor = tape_get(t, obj, SLICE("constructor"));
    return tape_get(t, obj, SLICE("__proto__")) != 0 ||
           (constructor && tape_is(t, constructor, TAPE_OBJECT) &&
            tape_get(t, constructor, SLICE("prototype")) != 0);
}

/* tape_get, with the common case (no escapes) in line: this is where most of a decision's time goes. */
static inline uint32_t member(const struct tape *t, uint32_t obj, struct slice key) {
    const struct tape_node *nodes = t->nodes;
    for (uint32_t i = obj + 1, end = nodes[obj].next; i < end; i = nodes[i + 1].next) {
        if (nodes[i].flags & TAPE_ESCAPED
                ? tape_eq(t, i, key)
                : nodes[i].len == key.len && memcmp(t->src.ptr + nodes[i].start, key.ptr, key.len) == 0)
            return i + 1;
    }
    return clash_alike(t, obj, key) || has_prototype(t, obj) ? POLICY_PATH_UNSURE : 0;
}

/* A star on an object that has members but none of this name: the rule was written for a list. */
static bool is_star_on_members(const struct tape *t, uint32_t obj, const struct step *step) {
    return step->on_array && slice_is(step->key, "*") && tape_node(t, obj)->count;
}

static uint32_t step_into(const struct tape *t, uint32_t node, const struct step *step) {
    if (tape_is(t, node, TAPE_OBJECT)) {
        const uint32_t found = step->kind == STEP_KEY ? member(t, node, step->key) : POLICY_PATH_UNSURE;
        return found || !is_star_on_members(t, node, step) ? found : POLICY_PATH_UNSURE;
    }
    if (tape_is(t, node, TAPE_NULL))
        return 0;
    bool counts = step->kind == STEP_INDEX || step->on_array;
    return counts && tape_is(t, node, TAPE_ARRAY) ? nth_element(t, node, step->index) : POLICY_PATH_UNSURE;
}

uint32_t policy_path_find(const struct path *path, const struct tape *t, uint32_t node) {
    for (uint32_t i = 0; i < path->step_count; i++) {
        node = step_into(t, node, &path->steps[i]);
        if (!node || node == POLICY_PATH_UNSURE)
            return node;
    }
    return node;
}

void policy_walk_start(struct policy_walk *w, const struct path *path, const struct tape *t, uint32_t node) {
    *w = (struct policy_walk){.path = path, .tape = t, .node = node};
}

static bool is_each(const struct policy_walk *w, uint32_t node, const struct step *step) {
    if (step->kind == STEP_EACH)
        return true;
    return step->on_array && slice_is(step->key, "*") && tape_is(w->tape, node, TAPE_ARRAY);
}

/* Down from (node, step) to a value, opening a frame at every array step on the way. */
static enum policy_walk_state descend(struct policy_walk *w, uint32_t node, uint32_t step,
                                      uint32_t *ret_node) {
    for (; step < w->path->step_count; step++) {
        const struct step *s = &w->path->steps[step];
        if (!is_each(w, node, s)) {
            node = step_into(w->tape, node, s);
            if (node == POLICY_PATH_UNSURE)
                return POLICY_WALK_UNSURE;
            if (!node)
                return POLICY_WALK_ABSENT;
            continue;
        }
        uint32_t end = tape_node(w->tape, node)->next;
        if (!tape_is(w->tape, node, TAPE_ARRAY))
            return tape_is(w->tape, node, TAPE_NULL) ? POLICY_WALK_ABSENT : POLICY_WALK_UNSURE;
        if (node + 1 >= end) /* an empty array counts as missing */
            return POLICY_WALK_ABSENT;
        w->frames[w->depth++] = (struct policy_walk_frame){.at = node + 1, .end = end, .step = step + 1};
        node++;
    }
    *ret_node = node;
    return POLICY_WALK_VALUE;
}

enum policy_walk_state policy_walk_next(struct policy_walk *w, uint32_t *ret_node) {
    uint32_t node = w->node, step = 0;
    if (!w->started) {
        w->started = true;
        return descend(w, node, step, ret_node);
    }
    while (w->depth) {
        struct policy_walk_frame *f = &w->frames[w->depth - 1];
        f->at = tape_node(w->tape, f->at)->next;
        if (f->at >= f->end) {
            w->depth--;
            continue;
        }
        return descend(w, f->at, f->step, ret_node);
    }
    return POLICY_WALK_END;
}

/* ---- naming ---- */

static bool is_plain_key(struct slice key) {
    for (size_t i = 0; i < key.len; i++) {
        unsigned char c = (unsigned char)key.ptr[i];
        if (c <= 0x20 || c == '.' || c == '[' || c == '"' || c == 0x7f)
            return false;
    }
    return key.len > 0;
}

struct slice policy_path_name(const struct tape *t, uint32_t root, uint32_t node, struct arena *a) {
    struct slice name = SLICE("args");
    while (root < node) {
        uint32_t next = 0, index = 0;
        if (tape_is(t, root, TAPE_OBJECT)) {
            TAPE_FOR_MEMBER(t, root, key) {
                if (node >= tape_node(t, key + 1)->next)
                    continue;
                struct slice text = slice_upto(tape_text(t, key, a), POLICY_NAME_MAX);
                name = is_plain_key(text)
                           ? arena_printf(a, "%.*s.%.*s", SLICE_FMT(name), SLICE_FMT(text))
                           : arena_printf(a, "%.*s[\"%.*s\"]", SLICE_FMT(name), SLICE_FMT(text));
                next = key + 1;
                break;
            }
        } else if (tape_is(t, root, TAPE_ARRAY)) {
            TAPE_FOR_ELEM(t, root, i) {
                if (node < tape_node(t, i)->next) {
                    name = arena_printf(a, "%.*s[%u]", SLICE_FMT(name), index);
                    next = i;
                    break;
                }
                index++;
            }
        }
        if (!next || next > node)
            break;
        root = next;
    }
    return name;
}
