#include "risk/finding.h"

#include "base/glyph.h"

static const struct {
    const char *id, *name;
} names[RISK_DETECTORS] = {
    [RISK_INVISIBLE] = {"d1", "invisible"},
    [RISK_CONTROL] = {"d2", "control"},
    [RISK_PSEUDO_TAG] = {"d3", "pseudo-tag"},
    [RISK_IMPERATIVE] = {"d4", "imperative"},
    [RISK_SENSITIVE] = {"d5", "sensitive-path"},
    [RISK_OTHER_TOOL] = {"d6", "other-tool"},
    [RISK_FOREIGN_HOST] = {"d7", "foreign-host"},
    [RISK_BLOB] = {"d8", "blob"},
    [RISK_LONG] = {"d9", "long"},
    [RISK_EXFIL_PARAM] = {"d10", "exfil-parameter"},
    [RISK_LOOKALIKE] = {"d11", "look-alike"},
    [RISK_BAD_NAME] = {"d12", "bad-name"},
};

const char *risk_detector_id(enum risk_detector d) { return names[d].id; }
const char *risk_detector_name(enum risk_detector d) { return names[d].name; }

void risk_finding_add(struct risk_findings *f, enum risk_detector d, struct slice where, struct slice text,
                      struct arena *a) {
    f->seen |= 1u << d;
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].detector == d && slice_eq(f->items[i].where, where))
            return;
    if (f->count == RISK_FINDINGS_MAX)
        return;
    f->items[f->count++] = (struct risk_finding){d, arena_dup(a, slice_upto(where, RISK_WHERE_BYTES_MAX)),
                                                 glyph_printable(text, RISK_EXCERPT_BYTES_MAX, a)};
}

bool risk_findings_deny(const struct risk_findings *f) {
    uint32_t alone = 1u << RISK_INVISIBLE | 1u << RISK_CONTROL | 1u << RISK_BAD_NAME;
    uint32_t tag = 1u << RISK_PSEUDO_TAG, order = 1u << RISK_IMPERATIVE, path = 1u << RISK_SENSITIVE;
    if (f->seen & alone)
        return true;
    return (f->seen & tag && f->seen & (order | path)) || (f->seen & path && f->seen & order);
}

struct slice risk_findings_text(const struct risk_findings *f, struct arena *a) {
    const struct risk_finding *shown = f->count ? &f->items[0] : NULL;
    for (size_t i = f->count; i-- > 0;) {
        struct risk_findings one = {.seen = 1u << f->items[i].detector};
        bool pair = f->items[i].detector == RISK_PSEUDO_TAG || f->items[i].detector == RISK_SENSITIVE;
        if (risk_findings_deny(&one) || (pair && risk_findings_deny(f)))
            shown = &f->items[i];
    }
    if (!shown)
        return (struct slice){0};
    return arena_printf(a, "%s %s in %.*s: %.*s", risk_detector_id(shown->detector),
                        risk_detector_name(shown->detector), SLICE_FMT(shown->where), SLICE_FMT(shown->text));
}
