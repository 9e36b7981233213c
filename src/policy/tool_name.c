/* Names of tools as the caller writes them. */
#include "policy/tool_name.h"

#include "base/fold.h"
#include "base/glyph.h"
#include "policy/match.h"

#define TOOL_NAME_MAX 256

/* Letters that look like others: Greek, Cyrillic, Armenian, Cherokee, Coptic. */
static bool may_imitate(uint32_t cp) {
    return (cp >= 0x370 && cp < 0x590) || (cp >= 0x13a0 && cp < 0x1400) || (cp >= 0x2c80 && cp < 0x2d00) ||
           (cp >= 0xab70 && cp < 0xabc0);
}

/* Full-width and mathematical letters, unusual spaces, and marks that change the preceding letter. */
static bool is_other_form(uint32_t cp) {
    return (cp >= 0xff00 && cp < 0xfff0) || (cp >= 0x1d400 && cp < 0x1d800) || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp < 0x2010) || cp == 0x202f || cp == 0x205f || cp == 0x3000 ||
           (cp >= 0x300 && cp < 0x370) || (cp >= 0x1ab0 && cp < 0x1b00) || (cp >= 0x1dc0 && cp < 0x1e00) ||
           (cp >= 0x20d0 && cp < 0x2100) || (cp >= 0xfe20 && cp < 0xfe30);
}

static bool is_hidden(uint32_t cp) {
    return cp < 0x20 || glyph_is_control(cp) || glyph_is_invisible(cp) || cp == 0x2028 || cp == 0x2029;
}

bool policy_name_is_plain(struct slice tool) {
    bool ascii = false, imitates = false;
    if (tool.len == 0 || tool.len > TOOL_NAME_MAX || slice_is(tool, "*"))
        return false;
    for (size_t i = 0, len; i < tool.len; i += len) {
        uint32_t cp = glyph_next(tool, i, &len);
        if (is_hidden(cp) || is_other_form(cp))
            return false;
        ascii |= (cp | 0x20) >= 'a' && (cp | 0x20) <= 'z';
        imitates |= may_imitate(cp);
    }
    return !(ascii && imitates);
}

/* ---- names that fold ---- */

static struct slice folded(struct slice name, struct arena *a) { return fold_text(slice_trim(name), a); }

static void note(struct policy *p, struct slice name) {
    struct slice *kept = arena_new(&p->arena, struct slice);
    *kept = name;
    map_add(&p->folded, folded(name, &p->arena), kept);
}

void policy_name_index(struct policy *p) {
    struct map_entry *one;
    for (size_t at = 0; (one = map_next(&p->tools, &at));)
        note(p, one->key);
    for (size_t at = 0; (one = map_next(&p->hidden, &at));)
        note(p, one->key);
    for (size_t i = 0; i < p->pattern_count; i++)
        p->patterns[i]->folded = folded(p->patterns[i]->name, &p->arena);
    for (size_t i = 0; i < p->hide_pattern_count; i++)
        p->hide_patterns[i].folded = folded(p->hide_patterns[i].name, &p->arena);
}

static bool is_imitated(const struct entry *pattern, struct slice tool, struct slice plain) {
    return !pattern->class && !pattern->tag && policy_glob_names(pattern->folded, plain) &&
           !policy_glob_names(pattern->name, tool);
}

/* Both `Read*` and `read*` may be named, as two exact names may. */
static bool is_spelt(const struct policy *p, struct slice folded_pattern, struct slice tool) {
    for (size_t i = 0; i < p->pattern_count; i++)
        if (slice_eq(p->patterns[i]->folded, folded_pattern) && policy_glob_names(p->patterns[i]->name, tool))
            return true;
    return false;
}

struct slice policy_name_imitated(const struct policy *p, struct slice tool, struct arena *a) {
    if (!p->folded.count && !p->pattern_count && !p->hide_pattern_count)
        return (struct slice){0};
    struct slice plain = folded(tool, a);
    const struct slice *named = map_get(&p->folded, plain);
    if (named && !slice_eq(*named, tool) && !slice_is(*named, "*"))
        return *named;
    for (size_t i = 0; i < p->pattern_count; i++)
        if (is_imitated(p->patterns[i], tool, plain) && !is_spelt(p, p->patterns[i]->folded, tool))
            return p->patterns[i]->name;
    for (size_t i = 0; i < p->hide_pattern_count; i++)
        if (is_imitated(&p->hide_patterns[i], tool, plain))
            return p->hide_patterns[i].name;
    return (struct slice){0};
}
