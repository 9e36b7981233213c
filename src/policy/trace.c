#include "policy/trace.h"

#include "base/buf.h"
#include "policy/program.h"
#include "policy/value.h"
#include "wire/emit.h"

#define TRACE_LINES_MAX 10000
#define TRACE_VALUE_MAX 120 /* bytes of an argument that explain shows */

static struct policy_trace_line *line_add(struct policy_trace *t, enum policy_trace_kind kind) {
    if (t->count == TRACE_LINES_MAX)
        return NULL;
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 32;
        struct policy_trace_line *lines = arena_array(t->arena, struct policy_trace_line, cap);
        if (t->count)
            memcpy(lines, t->lines, t->count * sizeof(*lines));
        t->lines = lines;
        t->cap = cap;
    }
    struct policy_trace_line *line = &t->lines[t->count++];
    *line = (struct policy_trace_line){.kind = kind, .depth = t->depth};
    return line;
}

static const char *truth_name(int truth) {
    static const char *const names[] = {"no", "yes", "cannot judge", "fault"};
    return names[truth];
}

/* The result of an earlier line: the last one without result one level up. */
static void answer_open(struct policy_trace *t, enum policy_trace_kind kind, const char *answer) {
    if (t->depth)
        t->depth--;
    for (size_t i = t->count; i-- > 0;) {
        struct policy_trace_line *line = &t->lines[i];
        if (line->kind == kind && line->depth == t->depth && !line->answer) {
            line->answer = answer;
            return;
        }
    }
}

void policy_trace_note(struct policy_trace *t, const char *what, const char *answer) {
    struct policy_trace_line *line = line_add(t, POLICY_TRACE_NOTE);
    if (!line)
        return;
    line->what = slice_str(what);
    line->answer = answer;
}

void policy_trace_check(struct policy_trace *t, const struct check *check) {
    static const char *const modes[] = {"require", "deny if", "approve if", "required arguments", "schema"};
    struct policy_trace_line *line = line_add(t, POLICY_TRACE_CHECK);
    if (line) {
        line->what = check->name;
        line->pointer = check->pointer;
        line->op = slice_str(modes[check->mode]);
    }
    t->depth++;
}

void policy_trace_check_end(struct policy_trace *t, const char *answer) {
    answer_open(t, POLICY_TRACE_CHECK, answer);
}

void policy_trace_open(struct policy_trace *t, const struct cond *group) {
    static const char *const names[] = {[COND_ALL] = "all", [COND_ANY] = "any", [COND_NOT] = "not"};
    struct policy_trace_line *line = line_add(t, POLICY_TRACE_GROUP);
    if (line)
        line->what = slice_str(names[group->kind]);
    t->depth++;
}

void policy_trace_close(struct policy_trace *t, int truth) {
    answer_open(t, POLICY_TRACE_GROUP, truth_name(truth));
}

static struct slice value_json(struct policy_trace *t, const struct value *v) {
    if (v->kind == VALUE_ABSENT)
        return (struct slice){0};
    if (v->kind == VALUE_NUMBER)
        return policy_value_decimal(v->number, t->arena);
    if (v->kind == VALUE_NODE) {
        struct slice raw = tape_raw(v->tape, v->node);
        if (raw.len <= TRACE_VALUE_MAX)
            return arena_dup(t->arena, raw);
        size_t cut = TRACE_VALUE_MAX;
        while (cut && ((unsigned char)raw.ptr[cut] & 0xc0) == 0x80)
            cut--;
        return arena_printf(t->arena, "%.*s…", (int)cut, raw.ptr);
    }
    cleanup_buf struct buf text;
    buf_init(&text, 1 << 16);
    emit_quote(&text, v->text);
    return arena_dup(t->arena, buf_slice(&text));
}

void policy_trace_leaf(struct policy_trace *t, const struct cond *leaf, const struct value *value,
                       int truth) {
    struct policy_trace_line *line = line_add(t, POLICY_TRACE_LEAF);
    if (!line)
        return;
    line->path = leaf->path.text;
    line->op = slice_str(policy_ops[leaf->op].name);
    line->want = leaf->value.text;
    line->got = value_json(t, value);
    line->answer = truth_name(truth);
}

void policy_trace_limit(struct policy_trace *t, const struct policy_limit *limit) {
    struct policy_trace_line *line = line_add(t, POLICY_TRACE_LIMIT);
    if (!line)
        return;
    line->what = limit->rule;
    line->pointer = limit->pointer;
    line->path = limit->label;
    line->want = limit->max == POLICY_NO_MAX
                     ? SLICE("no maximum")
                     : policy_value_decimal((double)limit->max / POLICY_MICRO, t->arena);
    line->got = policy_value_decimal((double)limit->amount / POLICY_MICRO, t->arena);
    line->answer = "to reserve";
}

/* ---- JSON ---- */

static void put_json_line(struct emit *e, const struct policy_trace_line *line) {
    static const char *const kinds[] = {"note", "check", "group", "condition", "limit"};
    emit_object(e);
    emit_key(e, "kind");
    emit_cstr(e, kinds[line->kind]);
    emit_key(e, "depth");
    emit_int(e, line->depth);
    emit_text(e, "what", line->what);
    emit_text(e, "pointer", line->pointer);
    emit_text(e, "path", line->path);
    emit_text(e, "op", line->op);
    emit_text(e, "want", line->want);
    emit_text(e, "got", line->got);
    emit_key(e, "answer");
    emit_cstr(e, line->answer ? line->answer : "not reached");
    emit_object_end(e);
}

static void put_verdict_json(struct emit *e, const struct policy_verdict *v, struct slice text) {
    emit_key(e, "verdict");
    emit_cstr(e, policy_outcome_name(v->outcome));
    emit_key(e, "reason");
    emit_cstr(e, policy_reason_name(v->reason));
    emit_text(e, "rule", v->rule);
    emit_text(e, "pointer", v->pointer);
    emit_text(e, "text", text);
    emit_text(e, "detail", v->detail);
}

void policy_trace_json(struct emit *e, const struct policy_trace *t, const struct policy_verdict *v,
                       struct slice text) {
    emit_object(e);
    put_verdict_json(e, v, text);
    emit_key(e, "trace");
    emit_array(e);
    for (size_t i = 0; i < t->count; i++)
        put_json_line(e, &t->lines[i]);
    emit_array_end(e);
    emit_object_end(e);
}
