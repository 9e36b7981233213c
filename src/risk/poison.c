/* Walks a definition; has the detectors that need more than one string. The others are in poison_text.c. */
#include "risk/poison.h"

#include "base/check.h"
#include "base/glyph.h"
#include "base/mem.h"
#include "risk/confusable.h"
#include "risk/poison_text.h"
#include "risk/split.h"

bool risk_name_plain(struct slice name) {
    if (!name.len || name.len > RISK_TOOL_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                     c == '.' || c == '-';
        if (!plain)
            return false;
    }
    return true;
}

bool risk_name_bad(struct slice name, struct arena *a) {
    if (risk_name_plain(name))
        return false;
    if (!name.len || name.len > RISK_TOOL_NAME_MAX || name.ptr[0] == ' ' || name.ptr[name.len - 1] == ' ')
        return true;
    bool beyond = false;
    for (size_t i = 0, len; i < name.len; i += len) {
        uint32_t cp = glyph_next(name, i, &len);
        if (cp < 0x20 || glyph_is_control(cp) || glyph_is_invisible(cp) || cp == 0x2028 || cp == 0x2029)
            return true;
        beyond |= cp >= 0x250; /* accented Latin letters are not look-alikes */
    }
    if (!beyond)
        return false;
    struct slice skeleton = risk_skeleton(name, a);
    for (size_t i = 0; i < skeleton.len; i++)
        if ((unsigned char)skeleton.ptr[i] >= 0x80)
            return false;
    return true;
}

void risk_skeletons_add(struct map *skeletons, const struct tape *t, uint32_t tools, struct arena *a) {
    if (!tape_is(t, tools, TAPE_ARRAY))
        return;
    size_t left = RISK_TOOLS_MAX;
    TAPE_FOR_ELEM(t, tools, tool) {
        uint32_t node = tape_is(t, tool, TAPE_OBJECT) ? tape_get_str(t, tool, "name") : 0;
        if (!node || !tape_is(t, node, TAPE_STRING) || !left--)
            continue;
        struct slice *name = arena_new(a, struct slice);
        *name = arena_dup(a, tape_text(t, node, a));
        struct slice key = risk_skeleton(*name, a);
        if (!map_get(skeletons, key))
            map_put(skeletons, key, name);
    }
}

/* A place in the value being walked: the end of `path` that belongs to it. */
struct place {
    uint32_t at;  /* next child */
    uint32_t end; /* behind the last one */
    uint32_t index;
    size_t path_len;
    bool object;
};

struct walk {
    const struct tape *t;
    struct buf path;
    struct place stack[TAPE_DEPTH_MAX + 1];
    size_t depth;
};

static void path_put(struct buf *path, struct slice part) {
    if (path->len)
        buf_put_char(path, '.');
    buf_put_slice(path, slice_upto(part, RISK_WHERE_BYTES_MAX / 2));
    path->full = false; /* a path that is too long is shown cut */
}

static void walk_open(struct walk *w, uint32_t node) {
    CHECK(w->depth <= TAPE_DEPTH_MAX);
    w->stack[w->depth++] = (struct place){node + 1, tape_node(w->t, node)->next, 0, w->path.len,
                                          tape_is(w->t, node, TAPE_OBJECT)};
}

void risk_strings_each(
    const struct tape *t, uint32_t node, const char *where, const char *const *skip, struct arena *a,
    void (*each)(void *ctx, uint32_t node, bool key, struct slice text, struct slice where), void *ctx) {
    struct walk w = {.t = t};
    buf_init(&w.path, RISK_WHERE_BYTES_MAX);
    buf_put_str(&w.path, where);
    uint32_t value = node;
    bool skipped = false;
    for (;;) {
        if (tape_is(t, value, TAPE_STRING) && !skipped)
            each(ctx, value, false, tape_text(t, value, a), buf_slice(&w.path));
        else if (tape_is(t, value, TAPE_OBJECT) || tape_is(t, value, TAPE_ARRAY))
            walk_open(&w, value);
        while (w.depth && w.stack[w.depth - 1].at >= w.stack[w.depth - 1].end)
            w.depth--;
        if (!w.depth)
            break;
        struct place *top = &w.stack[w.depth - 1];
        w.path.len = top->path_len;
        skipped = false;
        if (top->object) {
            struct slice key = tape_text(t, top->at, a);
            path_put(&w.path, key);
            each(ctx, top->at, true, key, buf_slice(&w.path));
            for (const char *const *s = skip; s && *s; s++)
                skipped |= slice_is(key, *s);
            value = top->at + 1;
        } else {
            path_put(&w.path, arena_printf(a, "%u", top->index++));
            value = top->at;
        }
        top->at = tape_node(t, value)->next;
    }
    buf_free(&w.path);
}

struct examination {
    const struct risk_toolset *ctx;
    const struct risk_neighbours *near;
    struct arena *a;
    struct risk_findings *f;
};

static void examine(void *ctx, uint32_t node, bool key, struct slice text, struct slice where) {
    struct examination *x = ctx;
    (void)node, (void)key;
    risk_poison_text(x->ctx, x->near, text, where, x->a, x->f);
}

void risk_poison_value(const struct risk_toolset *ctx, const struct risk_neighbours *near,
                       const struct tape *t, uint32_t node, const char *where, struct arena *a,
                       struct risk_findings *f) {
    struct examination x = {ctx, near, a, f};
    risk_strings_each(t, node, where, NULL, a, examine, &x);
}

static void examine_result(void *ctx, uint32_t node, bool key, struct slice text, struct slice where) {
    struct examination *x = ctx;
    (void)node, (void)key;
    if (text.len)
        risk_detect_result(text, where, x->a, x->f);
}

void risk_poison_result(const struct tape *t, uint32_t node, struct arena *a, struct risk_findings *f) {
    static const char *const encoded[] = {"data", "blob", NULL};
    struct examination x = {.a = a, .f = f};
    if (risk_suspects_result(tape_raw(t, node)))
        risk_strings_each(t, node, "", encoded, a, examine_result, &x);
}

static bool asks_for_conversation(struct slice name, struct arena *a) {
    static const char *const asked[] = {
        "sidenote",     "side_note",           "context",      "conversation",      "conversation_history",
        "chat_history", "system_prompt",       "systemprompt", "reasoning",         "user_message",
        "memory",       "conversationhistory", "chathistory",  "previous_messages", NULL};
    struct slice lower = risk_lower(name, RISK_NAME_BYTES_MAX, a);
    for (const char *const *word = asked; *word; word++)
        if (slice_is(lower, *word))
            return true;
    return false;
}

static void check_parameters(const struct tape *t, uint32_t tool, struct arena *a, struct risk_findings *f) {
    uint32_t required = tape_path(t, tool, "inputSchema", "required", NULL);
    if (!required || !tape_is(t, required, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(t, required, i) {
        struct slice name = tape_text(t, i, a);
        if (asks_for_conversation(name, a))
            risk_finding_add(f, RISK_EXFIL_PARAM, SLICE("inputSchema.required"), name, a);
    }
}

static void check_name(const struct risk_neighbours *near, struct slice name, struct arena *a,
                       struct risk_findings *f) {
    const struct slice *other =
        near && near->skeletons ? map_get(near->skeletons, risk_skeleton(name, a)) : NULL;
    if (other && slice_eq(*other, name))
        other = NULL;
    if (risk_name_bad(name, a) || (other && !risk_name_plain(name)))
        risk_finding_add(f, RISK_BAD_NAME, SLICE("name"), name, a);
    if (other)
        risk_finding_add(f, RISK_LOOKALIKE, SLICE("name"), *other, a);
    if (near && near->others && map_get(near->others, name)) /* two servers, one name */
        risk_finding_add(f, RISK_LOOKALIKE, SLICE("name"), name, a);
}

void risk_poison_tool(const struct risk_toolset *ctx, const struct risk_neighbours *near,
                      const struct tape *t, uint32_t tool, struct arena *a, struct risk_findings *f) {
    if (!tape_is(t, tool, TAPE_OBJECT))
        return;
    check_name(near, tape_text_of(t, tool, "name", a), a, f);
    check_parameters(t, tool, a, f);
    uint32_t text = tape_get_str(t, tool, "description");
    uint32_t len = text ? tape_node(t, text)->len : 0;
    bool odd = ctx && ctx->tool_count >= 5 && len > 1000 && len > 3 * ctx->description_median;
    if (len > RISK_LONG_DESCRIPTION || odd)
        risk_finding_add(f, RISK_LONG, SLICE("description"), arena_printf(a, "%u bytes", len), a);
    risk_poison_value(ctx, near, t, tool, "", a, f);
}
