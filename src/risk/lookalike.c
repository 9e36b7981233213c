#include "risk/lookalike.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "risk/confusable.h"
#include "risk/limits.h"
#include "risk/trust.h"

#define EDITS_MAX 2
#define NAME_MIN 4    /* shorter names are similar to too many others */
#define SHORT_NAME 10 /* names up to this length allow one edit only */
#define RANK_HIGH 200
#define DOWNLOADS_HIGH 10000
#define DOWNLOADS_LOW 500

struct candidate {
    struct slice name, skeleton, digitless, scope;
    size_t edits_max;
};

/* PyPI treats mcp_server.git and MCP-Server-Git as one name. */
static struct slice normal_name(enum risk_registry registry, struct slice name, struct arena *a) {
    if (registry != RISK_PYPI)
        return name;
    char *out = arena_alloc(a, name.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool mark = c == '-' || c == '_' || c == '.';
        if (mark && len && out[len - 1] == '-')
            continue;
        out[len++] = mark ? '-' : c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    return slice_of(out, len);
}

static struct slice without_digits(struct slice name, struct arena *a) {
    char *out = arena_alloc(a, name.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] < '0' || name.ptr[i] > '9')
            out[len++] = name.ptr[i];
    return slice_of(out, len);
}

/* The namespace of one owner: @scope of npm, owner of a repository or image. */
static struct slice scope_of(struct slice name) {
    for (size_t i = name.len; i-- > 0;)
        if (name.ptr[i] == '/')
            return slice_upto(name, i);
    return (struct slice){0};
}

static void add(struct risk_lookalike *l, int points, struct slice reason, struct arena *a) {
    l->score = points < 0 && (unsigned)-points > l->score ? 0 : l->score + (unsigned)points;
    l->reasons = arena_printf(a, "%.*s%s%.*s (%+d)", SLICE_FMT(l->reasons), l->reasons.len ? "; " : "",
                              SLICE_FMT(reason), points);
}

static void add_use(struct risk_lookalike *l, const struct risk_published *known, struct arena *a) {
    if (known->downloads >= DOWNLOADS_HIGH || (known->rank && known->rank <= RANK_HIGH))
        add(l, 25,
            known->rank
                ? arena_printf(a, "the known one is used a lot, rank %u", known->rank)
                : arena_printf(a, "the known one is used a lot, %u downloads a week", known->downloads),
            a);
    else if (!known->downloads)
        add(l, 10, SLICE("how much the known one is used is not known"), a);
    else if (known->downloads < DOWNLOADS_LOW)
        add(l, -10, SLICE("the known one is hardly used"), a);
}

static void score(const struct candidate *c, const struct risk_published *known, struct slice name,
                  struct arena *a, struct risk_lookalike *ret) {
    *ret = (struct risk_lookalike){.reasons = SLICE("")};
    size_t apart = name.len > c->name.len ? name.len - c->name.len : c->name.len - name.len;
    struct slice scope = scope_of(name);
    if (apart > EDITS_MAX || (scope.len && slice_eq(scope, c->scope)))
        return;
    size_t edits = nearest_distance(c->name, name);
    if (edits > 2 * EDITS_MAX) /* a skeleton changes a few letters, not most of them */
        return;
    if (slice_eq(risk_skeleton(name, a), c->skeleton))
        add(ret, 70, SLICE("they look the same in print"), a);
    else if (edits > c->edits_max)
        return;
    else
        add(ret, edits == 1 ? 50 : 40, edits == 1 ? SLICE("one edit apart") : SLICE("two edits apart"), a);
    ret->of = known->name;
    add_use(ret, known, a);
    if (slice_eq(without_digits(name, a), c->digitless))
        add(ret, -30, SLICE("they differ in digits only"), a);
}

void risk_lookalike_find(enum risk_registry registry, struct slice name, struct arena *a,
                         struct risk_lookalike *ret_lookalike) {
    struct risk_lookalike best = {.reasons = SLICE("")};
    struct slice own = normal_name(registry, name, a);
    *ret_lookalike = best;
    if (own.len < NAME_MIN || own.len > RISK_NAME_BYTES_MAX)
        return;
    struct candidate c = {own, risk_skeleton(own, a), without_digits(own, a), scope_of(own),
                          own.len <= SHORT_NAME ? 1 : EDITS_MAX};
    for (size_t i = 0; i < risk_catalogue_servers(); i++) {
        struct risk_published known;
        risk_catalogue_server(i, &known);
        if (known.registry != registry || !known.newest)
            continue;
        struct slice other = normal_name(registry, known.name, a);
        if (slice_eq(other, own))
            return;
        struct risk_lookalike l;
        score(&c, &known, other, a, &l);
        if (l.score > best.score)
            best = l;
    }
    if (best.score < RISK_LOOKALIKE_REPORT)
        return;
    best.trusted = risk_trust_has(registry, name);
    best.refuse = best.score >= RISK_LOOKALIKE_REFUSE && !best.trusted;
    *ret_lookalike = best;
}

struct slice risk_lookalike_text(const struct risk_lookalike *l, struct arena *a) {
    return arena_printf(a, "the package name is close to the known package `%.*s` (score %u: %.*s)%s",
                        SLICE_FMT(l->of), l->score, SLICE_FMT(l->reasons),
                        l->trusted ? ", and trusted by you" : "");
}
