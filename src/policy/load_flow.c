/* Flow rules of a document. */
#include "policy/load.h"

/* result.pii.EMAIL > 0, result.pii.SECRET >= 3, result.pii > 10 */
static bool read_pii_label(struct slice text, struct flow_pii *ret_label) {
    struct slice left = text, rest = text;
    uint64_t number;
    if (!slice_cut(&rest, '>', &left))
        return false;
    const bool or_equal = slice_starts(rest, SLICE("="));
    rest = slice_trim(or_equal ? slice_from(rest, 1) : rest);
    left = slice_trim(left);
    if (!slice_starts(left, SLICE("result.pii")) || !slice_to_u64(rest, &number) || number > INT32_MAX ||
        (or_equal && number == 0))
        return false;
    left = slice_from(left, strlen("result.pii"));
    if (left.len && (left.ptr[0] != '.' || left.len == 1))
        return false;
    ret_label->kind = left.len ? slice_from(left, 1) : left;
    ret_label->over = (uint32_t)number - or_equal;
    for (size_t i = 0; i < ret_label->kind.len; i++) {
        const char c = ret_label->kind.ptr[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return true;
}

static uint32_t read_labels(struct loader *l, const struct tree *flow, struct place place, const char *key,
                            struct flow_rule *ret_results) {
    static const char *const words[] = {"src_untrusted", "src_private",          "sink", "exec",
                                        "money",         "result.pii.EMAIL > 0", NULL};
    const struct tree *list = policy_member_list(l, flow, place, key);
    uint32_t labels = 0;
    if (ret_results)
        ret_results->pii = arena_array(l->arena, struct flow_pii, list ? list->count + 1 : 1);
    for (const struct tree *t = list ? list->child : NULL; t; t = t->next) {
        uint32_t label = policy_flow_from(t->text);
        if (ret_results && read_pii_label(t->text, &ret_results->pii[ret_results->pii_count])) {
            if (ret_results->pii[ret_results->pii_count].kind.len)
                policy_note_kind(l, t, place.pointer, ret_results->pii[ret_results->pii_count].kind);
            ret_results->pii_count++;
            continue;
        }
        if (!label)
            policy_problem(l, t, place.pointer, policy_hint(l, t->text, words),
                           "%.*s: unknown label \"%.*s\"", SLICE_FMT(place.prefix), SLICE_FMT(t->text));
        labels |= label;
    }
    return labels;
}

static struct slice flow_text(struct loader *l, const struct tree *after) {
    struct slice text = SLICE("Not permitted in this session any more: it has already used");
    const char *glue = " ";
    for (const struct tree *t = after ? after->child : NULL; t; t = t->next) {
        text = arena_printf(l->arena, "%.*s%s%.*s", SLICE_FMT(text), glue, SLICE_FMT(t->text));
        glue = ", ";
    }
    return text;
}

static void load_flow(struct loader *l, const struct tree *t, size_t index, struct flow_rule *flow) {
    static const char *const keys[] = {"name",   "after", "deny",    "approve",     "on_deny",
                                       "reason", "mode",  "timeout", "description", NULL};
    struct place place = {arena_printf(l->arena, "flows[%zu]", index),
                          arena_printf(l->arena, "/flows/%zu", index)};
    if (t->type != TREE_MAP) {
        policy_problem(l, t, place.pointer, (struct slice){0}, "%.*s: must be a mapping",
                       SLICE_FMT(place.prefix));
        return;
    }
    policy_check_keys(l, t, place, keys);
    bool denies = tree_get(t, "deny") != NULL, approves = tree_get(t, "approve") != NULL;
    *flow = (struct flow_rule){
        .name = policy_member_text(l, t, place, "name"),
        .pointer = place.pointer,
        .text = policy_member_text(l, t, place, "on_deny"),
        .tags = read_labels(l, t, place, approves ? "approve" : "deny", NULL),
        .approve = approves,
        .shadow = policy_member_shadow(l, t, place),
        .timeout_ms = policy_member_duration(l, t, place, "timeout"),
    };
    flow->after = read_labels(l, t, place, "after", flow);
    if (!flow->name.len)
        flow->name = place.prefix;
    if (!flow->text.len)
        flow->text = policy_member_text(l, t, place, "reason");
    if (!flow->text.len)
        flow->text = flow_text(l, tree_get(t, "after"));
    if ((!flow->after && !flow->pii_count) || !flow->tags || denies == approves)
        policy_problem(l, t, place.pointer, SLICE("after: [src_untrusted, src_private], deny: [sink]"),
                       "%.*s: needs \"after\" and one of \"deny\" and \"approve\", each with labels",
                       SLICE_FMT(place.prefix));
}

void policy_load_flows(struct loader *l, const struct tree *root) {
    struct policy *p = l->policy;
    const struct tree *flows = policy_member_list(l, root, (struct place){0}, "flows");
    if (!flows)
        return;
    p->flows = arena_array(l->arena, struct flow_rule, flows->count + 1);
    for (const struct tree *t = flows->child; t; t = t->next, p->flow_count++)
        load_flow(l, t, p->flow_count, &p->flows[p->flow_count]);
}
