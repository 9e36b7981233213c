#define PCRE2_CODE_UNIT_WIDTH 8
#include "profiles/sanitize.h"

#include "base/clock.h"
#include "base/mem.h"
#include "code/limits.h"
#include "filter/filter.h"

#include <pcre2.h>

#define PRIVACY_MATCH_LIMIT 100000

/* Patterns, by the kind of their tokens; one group each. */
static const char *const kinds[] = {"EMAIL", "SSN", "CREDIT_CARD", "PHONE", "IP", "SECRET"};
static const char shapes[] =
    "([A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\\.[A-Za-z0-9-]{1,63}){0,8}?\\.[A-Za-z]{2,24})"
    "|(?<![\\d-])(\\d{3}-\\d{2}-\\d{4})(?![\\d-])"
    "|(?<![\\d-])((?:\\d{4}[- ]?){3}\\d{4})(?!\\d)"
    "|(?<![\\d-])((?:\\+?1[-. ]?)?(?:\\(\\d{3}\\) ?|\\d{3}[-. ]?)\\d{3}[-. ]?\\d{4})(?!\\d)"
    "|(?<![\\d.])((?:\\d{1,3}\\.){3}\\d{1,3})(?![\\d.])"
    "|(?i:api[_-]?key|token|secret)[\"']?\\s{0,4}[=:]\\s{0,4}[\"']?([A-Za-z0-9_\\-]{20,512})";

static pcre2_code *compile(void) {
    int code;
    PCRE2_SIZE at;
    return pcre2_compile((PCRE2_SPTR)shapes, sizeof(shapes) - 1, 0, &code, &at, NULL);
}

/* The group and its range; false at the end or if the pattern hits a match limit. */
static bool next_shape(const pcre2_code *re, pcre2_match_data *found, pcre2_match_context *limits,
                       struct slice text, size_t from, size_t *ret_kind, size_t *ret_start, size_t *ret_end) {
    if (pcre2_match(re, (PCRE2_SPTR)text.ptr, text.len, from, 0, found, limits) < 0)
        return false;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(found);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (i + 1 >= pcre2_get_ovector_count(found) || at[2 * i + 2] == PCRE2_UNSET)
            continue;
        *ret_kind = i;
        *ret_start = at[2 * i + 2];
        *ret_end = at[2 * i + 3];
        return true;
    }
    return false;
}

static bool replace_shapes(struct filter_scope *scope, struct slice origin, struct slice text,
                           struct buf *out) {
    pcre2_code *re = compile();
    pcre2_match_data *found = re ? pcre2_match_data_create_from_pattern(re, NULL) : NULL;
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    bool ok = re && found && limits;
    if (limits)
        pcre2_set_match_limit(limits, PRIVACY_MATCH_LIMIT);
    size_t from = 0, kind, start, end;
    while (ok && next_shape(re, found, limits, text, from, &kind, &start, &end)) {
        struct filter_entry entry = {.kind = slice_str(kinds[kind]),
                                     .value = slice_of(text.ptr + start, end - start),
                                     .created_ms = clock_wall_ms(),
                                     .origins = {origin},
                                     .origin_count = 1};
        struct token_text token;
        ok = filter_token_mint(scope, &entry, false, &token);
        if (ok) {
            buf_put(out, text.ptr + from, start - from);
            buf_put(out, token.text, token.len);
        }
        from = end;
    }
    buf_put_slice(out, slice_from(text, from));
    pcre2_match_context_free(limits);
    pcre2_match_data_free(found);
    pcre2_code_free(re);
    return ok && !out->full;
}

bool sanitize_text(struct filter_scope *scope, struct slice origin, struct slice text, struct buf *out) {
    struct filter_options opt = {.depth = PII_DEPTH_MAX, .known = true, .origin = origin};
    filter_options_set(&opt, FILTER_TOKENIZE);
    struct filter_report report = {0};
    cleanup_buf struct buf first;
    buf_init(&first, CODE_ANSWER_MAX);
    filter_scope_set_now(scope, clock_wall_ms());
    if (text.len > CODE_PII_TEXT_MAX)
        return false;
    enum filter_result result = filter_text(scope, &opt, text, (struct slice){0}, &first, &report);
    if (result != FILTER_SAME && result != FILTER_CHANGED)
        return false;
    return replace_shapes(scope, origin, result == FILTER_CHANGED ? buf_slice(&first) : text, out);
}
