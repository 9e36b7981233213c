#include "packages/spec.h"

#include <ctype.h>

static const struct {
    const char *name, *specs;
} presets[] = {
    {"data-science",
     "pip:numpy pip:pandas pip:matplotlib pip:duckdb pip:httpx pip:openpyxl npm:lodash npm:zod"},
};

const char *pack_spec_preset(struct slice name) {
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
        if (slice_is(name, presets[i].name))
            return presets[i].specs;
    return NULL;
}

const char *pack_spec_kind_name(enum pack_kind kind) { return kind == PACK_NPM ? "npm" : "pip"; }

static bool all_of(struct slice text, const char *others) {
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.ptr[i]) && !strchr(others, text.ptr[i]))
            return false;
    return text.len > 0;
}

static bool begins_plain(struct slice text) { return text.len && isalnum((unsigned char)text.ptr[0]); }

static int parse_pip(struct slice text, struct pack_spec *s, struct err *err) {
    size_t len = 0;
    while (len < text.len && !strchr("[=<>!~ ", text.ptr[len]))
        len++;
    s->name = slice_upto(text, len);
    struct slice rest = slice_from(text, len), extras;
    if (slice_starts(rest, SLICE("["))) {
        if (!slice_cut(&rest, ']', &extras) || !all_of(slice_from(extras, 1), "-_.,"))
            return err_set(err, "`%.*s`: extras are written as NAME[a,b]", SLICE_FMT(text));
    }
    rest = slice_trim(rest);
    if (!begins_plain(s->name) || !all_of(s->name, "-_.") || (rest.len && !all_of(rest, "=<>!~,.*+ ")))
        return err_set(err, "`%.*s` is not the name of a package: write NAME or NAME==VERSION",
                       SLICE_FMT(text));
    if (rest.len && !strchr("=<>!~", rest.ptr[0]))
        return err_set(err, "`%.*s`: a version must follow `==`", SLICE_FMT(text));
    const struct slice one = slice_trim(slice_from(rest, 2));
    s->range = rest.len && (!slice_starts(rest, SLICE("==")) || !all_of(one, ".+"));
    s->version = rest.len && !s->range ? one : (struct slice){0};
    return 0;
}

static int parse_npm(struct slice text, struct pack_spec *s, struct err *err) {
    struct slice rest = slice_from(text, 1),
                 name; /* a scope begins with the sign that also precedes versions */
    slice_cut(&rest, '@', &name);
    s->name = slice_upto(text, text.len ? name.len + 1 : 0);
    struct slice scope = s->name, part = s->name;
    if (slice_starts(s->name, SLICE("@"))) {
        part = slice_from(s->name, 1);
        if (!slice_cut(&part, '/', &scope) || !begins_plain(scope) || !all_of(scope, "-_."))
            return err_set(err, "`%.*s`: a scoped package is written as @SCOPE/NAME", SLICE_FMT(text));
    }
    if (!begins_plain(part) || !all_of(part, "-_.") ||
        (s->name.len < text.len && !all_of(rest, "^~<>=|.*+- ")))
        return err_set(err, "`%.*s` is not the name of a package: write NAME or NAME@VERSION",
                       SLICE_FMT(text));
    s->range = rest.len && !all_of(rest, ".+-");
    s->version = rest.len && !s->range ? rest : (struct slice){0};
    return 0;
}

int pack_spec_parse(struct slice text, enum pack_kind usual, struct pack_spec *ret_spec, struct err *err) {
    text = slice_trim(text);
    if (text.len > PACK_SPEC_MAX)
        return err_set(err, "the name of a package may have %d bytes", PACK_SPEC_MAX);
    struct pack_spec s = {.kind = usual};
    if (slice_starts(text, SLICE("pip:")) || slice_starts(text, SLICE("npm:"))) {
        s.kind = text.ptr[0] == 'n' ? PACK_NPM : PACK_PIP;
        text = slice_from(text, 4);
    } else if (slice_find(text, '@') >= 0) {
        s.kind = PACK_NPM;
    } else if (slice_find(text, '=') >= 0 || slice_find(text, '[') >= 0) {
        s.kind = PACK_PIP;
    }
    s.text = text;
    if ((s.kind == PACK_NPM ? parse_npm : parse_pip)(text, &s, err) < 0)
        return -1;
    *ret_spec = s;
    return 0;
}

/* The next letter of a name as pip compares it; 0 at the end. */
static char next_letter(struct slice *rest) {
    if (!rest->len)
        return 0;
    const char c = rest->ptr[0];
    const bool joins = c == '-' || c == '_' || c == '.';
    do
        *rest = slice_from(*rest, 1);
    while (joins && rest->len && strchr("-_.", rest->ptr[0]));
    return joins ? '-' : (char)tolower((unsigned char)c);
}

bool pack_spec_same_name(enum pack_kind kind, struct slice a, struct slice b) {
    if (kind == PACK_NPM)
        return slice_eq(a, b);
    for (;;) {
        const char x = next_letter(&a), y = next_letter(&b);
        if (x != y)
            return false;
        if (!x)
            return true;
    }
}

bool pack_spec_fits(const struct pack_spec *spec, struct slice version) {
    if (!spec->version.len || slice_eq(spec->version, version))
        return !spec->range;
    return spec->kind == PACK_NPM && slice_starts(version, spec->version) &&
           version.ptr[spec->version.len] == '.';
}

bool pack_spec_covers(const struct pack_spec *entry, const struct pack_spec *asked) {
    if (entry->kind != asked->kind || !pack_spec_same_name(entry->kind, entry->name, asked->name))
        return false;
    if (slice_eq(entry->text, asked->text) || (!asked->version.len && !asked->range))
        return true;
    return !entry->range && (!entry->version.len || pack_spec_fits(entry, asked->version)) && !asked->range;
}
