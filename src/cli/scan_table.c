/* scan: the table for people. */
#include "cli/scan.h"

#include "base/glyph.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define PRUNE_SHOWN 3 /* number of most expensive tools that are named */

static const char *colour_of(enum risk_severity severity) {
    static const char *const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[31m"};
    return colours[severity];
}

static void table_row(const struct risk_surveyed *tool, int width, bool colour, struct arena *a,
                      struct buf *out) {
    const struct risk_report *r = &tool->entry.report;
    struct slice name = glyph_printable(tool->entry.name, 48, a);
    buf_printf(out, "%-*.*s  ", width, SLICE_FMT(name));
    buf_printf(out, "%s%-11s%s  %-8s  %3u%%  %6u  ", colour ? colour_of(r->severity) : "",
               risk_class_name(r->cls), colour ? "\x1b[0m" : "", risk_severity_name(r->severity),
               r->confidence, tool->entry.tokens);
    bool any = false;
    for (unsigned i = 0; i < RISK_TAGS; i++) {
        if (!(r->tags & 1u << i))
            continue;
        buf_printf(out, "%s%s", any ? "," : "", risk_tag_name(i));
        any = true;
    }
    for (size_t i = 0; i < tool->findings.count; i++)
        buf_printf(out, " %s%s", tool->entry.refuse ? "!" : "",
                   risk_detector_id(tool->findings.items[i].detector));
    if (r->hint_mismatch)
        buf_put_str(out, " hint-mismatch");
    if (r->review)
        buf_put_str(out, " needs-review");
    if (tool->pin.pin != RISK_PIN_OK || tool->differs)
        buf_put_str(out, " drift");
    buf_put_char(out, '\n');
}

static void table_findings(const struct risk_survey *s, struct arena *a, struct buf *out) {
    for (size_t i = 0; i < s->instructions.count; i++)
        buf_printf(out, "instructions: %s %s: %.*s\n", risk_detector_id(s->instructions.items[i].detector),
                   risk_detector_name(s->instructions.items[i].detector),
                   SLICE_FMT(s->instructions.items[i].text));
    for (size_t i = 0; i < s->count; i++) {
        const struct risk_surveyed *tool = &s->tools[i];
        for (size_t k = 0; tool->entry.refuse && k < tool->findings.count; k++)
            buf_printf(out, "%.*s: %s %s in %.*s: %.*s\n", SLICE_FMT(tool->entry.name),
                       risk_detector_id(tool->findings.items[k].detector),
                       risk_detector_name(tool->findings.items[k].detector),
                       SLICE_FMT(tool->findings.items[k].where), SLICE_FMT(tool->findings.items[k].text));
        if (tool->pin.pin != RISK_PIN_OK)
            buf_printf(out, "%.*s\n", SLICE_FMT(tool->pin.reason));
    }
    for (size_t i = 0; i < s->skill_count; i++) {
        const struct risk_surveyed_skill *skill = &s->skills[i];
        struct slice uri = glyph_printable(skill->uri, RISK_TOOL_NAME_MAX, a);
        for (size_t k = 0; risk_findings_deny(&skill->findings) && k < skill->findings.count; k++)
            buf_printf(out, "%.*s: %s %s in %.*s: %.*s\n", SLICE_FMT(uri),
                       risk_detector_id(skill->findings.items[k].detector),
                       risk_detector_name(skill->findings.items[k].detector),
                       SLICE_FMT(skill->findings.items[k].where), SLICE_FMT(skill->findings.items[k].text));
        if (skill->pin.pin != RISK_PIN_OK)
            buf_printf(out, "%.*s\n", SLICE_FMT(skill->pin.reason));
    }
    if (s->impostor.of.len) {
        struct slice text = risk_lookalike_text(&s->impostor, a);
        buf_printf(out, "Package %.*s: %.*s%s\n", SLICE_FMT(s->in.package), SLICE_FMT(text),
                   s->impostor.trusted ? "" : ": an impostor?");
    }
}

static int by_tokens(const void *a, const void *b) {
    uint32_t x = (*(const struct risk_surveyed *const *)a)->entry.tokens,
             y = (*(const struct risk_surveyed *const *)b)->entry.tokens;
    return (x < y) - (x > y);
}

/* The cost in every conversation, and the tools that would save most when hidden. */
static void table_prune(const struct risk_survey *s, struct arena *a, struct buf *out) {
    buf_printf(out, "The definitions cost about %llu tokens in every conversation",
               (unsigned long long)s->tokens);
    const struct risk_surveyed **sorted = arena_alloc(a, sizeof *sorted * (s->count + 1));
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = &s->tools[i];
    qsort(sorted, s->count, sizeof *sorted, by_tokens);
    for (size_t i = 0; s->count > PRUNE_SHOWN && i < PRUNE_SHOWN; i++) {
        struct slice name = glyph_printable(sorted[i]->entry.name, 48, a);
        buf_printf(out, "%s%.*s (%u)", i ? ", " : "; the largest, to hide when not needed: ", SLICE_FMT(name),
                   sorted[i]->entry.tokens);
    }
    buf_put_str(out, ".\n");
}

void cli_scan_table(const struct risk_survey *s, bool colour, struct arena *a, struct buf *out) {
    size_t width = 4;
    for (size_t i = 0; i < s->count; i++)
        width = s->tools[i].entry.name.len > width ? s->tools[i].entry.name.len : width;
    width = width < 48 ? width : 48;
    buf_printf(out, "%-*s  %-11s  %-8s  %4s  %6s  %s\n", (int)width, "TOOL", "CLASS", "SEVERITY", "SURE",
               "TOKENS", "TAGS, FINDINGS");
    for (int cls = RISK_CLASSES - 1; cls >= RISK_READ; cls--)
        for (size_t i = 0; i < s->count; i++)
            if (s->tools[i].entry.report.cls == (enum risk_class)cls)
                table_row(&s->tools[i], (int)width, colour, a, out);
    size_t changing = s->count - s->by_class[RISK_READ];
    buf_printf(out, "\n%zu tool%s. %zu can modify or destroy data.\n", s->count, s->count == 1 ? "" : "s",
               changing);
    buf_printf(out, "Read (%zu)  Write / Execute (%zu)  Destructive / Financial (%zu)\n",
               s->by_class[RISK_READ], s->by_class[RISK_WRITE] + s->by_class[RISK_EXECUTE],
               s->by_class[RISK_DESTRUCTIVE] + s->by_class[RISK_FINANCIAL]);
    table_prune(s, a, out);
    if (s->skill_count)
        buf_printf(out, "It also has %zu skill%s.\n", s->skill_count, s->skill_count == 1 ? "" : "s");
    table_findings(s, a, out);
}
