#include "pages/attack.h"

#include "base/mem.h"

const struct attack *attack_find(struct slice id) {
    for (size_t i = 0; i < attack_count; i++)
        if (slice_is(id, attack_table[i].id))
            return &attack_table[i];
    return NULL;
}

static size_t pick(uint32_t tags, uint32_t classes, const struct attack **ret_list, size_t max) {
    size_t n = 0;
    for (int round = 0; round < 2; round++) /* by data flow first, then by class alone */
        for (size_t i = 0; i < attack_count && n < max; i++) {
            const struct attack *a = &attack_table[i];
            bool by_tag = a->tags & tags, by_class = a->classes & classes;
            if (round == 0 ? by_tag : by_class && !by_tag)
                ret_list[n++] = a;
        }
    return n;
}

size_t attack_of_tool(const struct subject_tool *tool, const struct attack **ret_list, size_t max) {
    return pick(tool->tags, 1u << tool->cls, ret_list, max);
}

size_t attack_of_server(const struct subject *s, const struct attack **ret_list, size_t max) {
    uint32_t tags = 0, classes = 0;
    for (size_t i = 0; i < s->count; i++) {
        tags |= s->tools[i].tags;
        classes |= 1u << s->tools[i].cls;
    }
    return pick(tags, classes, ret_list, max);
}

void attack_put_links(struct sheet *s, const struct attack *const *list, size_t count) {
    sheet_rows(s, SHEET_LINKS, 2);
    for (size_t i = 0; i < count; i++)
        sheet_link(s, arena_printf(s->a, "attack:%s", list[i]->id), slice_str(list[i]->title),
                   slice_str(list[i]->reference));
}

static void put_tools(const struct attack *attack, struct sheet *s) {
    sheet_heading(s, "Which tools give this access", false);
    if (attack->any_server)
        sheet_text(s, "Any server: it needs no particular tool.");
    cleanup_buf struct buf out;
    buf_init(&out, PAGES_BYTES_MAX);
    for (unsigned i = 0; i < RISK_TAGS; i++)
        if (attack->tags & 1u << i)
            buf_printf(&out, "%s`%s`", out.len ? ", " : "", risk_tag_name(i));
    if (out.len)
        sheet_text(s, "Tools with one of the tags %.*s.", SLICE_FMT(buf_slice(&out)));
    buf_reset(&out);
    for (int cls = RISK_READ; cls < RISK_CLASSES; cls++)
        if (attack->classes & 1u << cls)
            buf_printf(&out, "%s%s", out.len ? ", " : "", risk_class_name((enum risk_class)cls));
    if (out.len)
        sheet_text(s, "Tools of the class %.*s.", SLICE_FMT(buf_slice(&out)));
}

void attack_page(const struct attack *attack, struct sheet *s) {
    s->title = slice_str(attack->title);
    s->id = arena_printf(s->a, "attack:%s", attack->id);
    s->summary = slice_str(attack->what);
    sheet_heading(s, "The case", false);
    sheet_text(s, "%s", attack->what);
    sheet_rows(s, SHEET_FACTS, 2);
    sheet_fact(s, "Published", slice_str(attack->reference));
    sheet_heading(s, "What the gate does", false);
    sheet_text(s, "%s", attack->control);
    if (attack->policy) {
        sheet_heading(s, "A policy against it", false);
        sheet_code(s, "policy.yaml", "yaml", slice_str(attack->policy));
    }
    if (attack->command) {
        sheet_heading(s, "To run or to set", false);
        sheet_code(s, "shell", "sh", slice_str(attack->command));
    }
    put_tools(attack, s);
}
