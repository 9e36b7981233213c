/* Rule sets that a policy enables by name. */
#include "base/fold.h"
#include "base/glyph.h"
#include "base/mem.h"
#include "policy/match.h"
#include "policy/preset_names.h"
#include "wire/tape.h"

#define PARENTS_MAX 16      /* components that are remembered while .. may take them back */
#define DECODES_MAX 2       /* rounds of percent decoding */
#define PART_BYTES_MAX 4096 /* a longer text is the content of a file, not a part of a path */

static bool is_separator(char c, bool is_command) {
    static const char around[] = " \t\r\n\v\f\"'`;&|<>()=,:{}$";
    return c == '/' || c == '\\' || (is_command && c && strchr(around, c));
}

/* Blanks, control characters and quotes around a component, and the trailing dots and streams that Windows
 * removes, are ignored: they name the same file. */
static bool is_around(char c) { return (unsigned char)c <= ' ' || c == '"' || c == '\'' || c == '`'; }

static struct slice trim_part(struct slice part) {
    while (part.len && is_around(part.ptr[0]))
        part = slice_from(part, 1);
    ptrdiff_t colon = slice_find(part, ':');
    if (colon > 0)
        part.len = (size_t)colon;
    for (size_t i = 0; i < part.len; i++)
        if (part.ptr[i] == '?' || part.ptr[i] == '#' || part.ptr[i] == ';' || !part.ptr[i])
            part.len = i;
    while (part.len && (is_around(part.ptr[part.len - 1]) || part.ptr[part.len - 1] == '.'))
        part.len--;
    return part;
}

/* The components of one path, of which `..` takes the last one back. */
struct trail {
    struct slice parts[PARENTS_MAX];
    size_t depth;
    size_t lost; /* of the oldest parts, which later ones have overwritten */
};

static void trail_push(struct trail *t, struct slice part) {
    t->parts[t->depth++ % PARENTS_MAX] = part;
    if (t->depth > PARENTS_MAX + t->lost)
        t->lost = t->depth - PARENTS_MAX;
}

static bool names_config(struct slice text, bool is_command) {
    struct trail t = {.depth = 0};
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && !is_separator(text.ptr[i], is_command))
            continue;
        struct slice raw = slice_of(text.ptr + start, i - start);
        start = i + 1;
        if (!raw.len || slice_is(raw, ".")) /* // and /./ do not separate a folder from its content */
            continue;
        if (slice_is(raw, "..")) {
            t.depth -= t.depth > 0;
            continue;
        }
        struct slice part = trim_part(raw);
        struct slice parent = t.depth ? t.parts[(t.depth - 1) % PARENTS_MAX] : (struct slice){0};
        if (part.len && policy_preset_listed(parent, t.depth && t.depth <= t.lost, part))
            return true;
        trail_push(&t, part);
    }
    return false;
}

/* The text as a server reads it that removes invisible characters and normalises (NFKC). */
static struct slice normalise(struct slice text, struct arena *a) {
    if (fold_is_ascii(text) || !tape_utf8_valid(text))
        return text;
    char *out = arena_alloc(a, text.len);
    size_t len = 0, size = 0;
    for (size_t i = 0; i < text.len; i += size) {
        if (glyph_is_invisible(glyph_next(text, i, &size)))
            continue;
        memcpy(out + len, text.ptr + i, size);
        len += size;
    }
    return fold_text(slice_of(out, len), a);
}

/* As a shell joins words: without quotes and backslashes. */
static struct slice unquote(struct slice text, struct arena *a) {
    char *out = arena_alloc(a, text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("\"'\\", text.ptr[i]) || !text.ptr[i])
            out[len++] = text.ptr[i];
    return slice_of(out, len);
}

/* The strings of a JSON text, each on a line of its own. */
static struct slice json_lines(struct slice text, struct arena *a) {
    char *out = arena_alloc(a, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        char next = c == '\\' && i + 1 < text.len ? text.ptr[i + 1] : '\0';
        if (next == 'u') /* decoded as %u0041 is */
            c = '%';
        else if (next && strchr("\"\\/", next))
            c = text.ptr[++i];
        else if (c == '"' || (next && strchr("nrt", next)))
            c = '\n';
        out[len++] = c;
    }
    return slice_of(out, len);
}

/* The head of a patch: `*** Add File: a`, `--- a/b`, `+++ b/c`, `rename to d`. */
static bool is_patch_head(struct slice line) {
    static const char *const heads[] = {"*** ", "--- ", "+++ ", "diff ", "rename ", "copy ", "Index: "};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (slice_starts(line, slice_str(heads[i])))
            return true;
    return false;
}

static bool lines_name_config(struct slice text) {
    struct slice line;
    if (slice_find(text, '\n') < 0 && slice_find(text, '\r') < 0)
        return is_patch_head(text) && names_config(text, true);
    for (size_t start = 0, i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '\n' && text.ptr[i] != '\r')
            continue;
        line = slice_of(text.ptr + start, i - start);
        start = i + 1;
        if (line.len && names_config(line, is_patch_head(line)))
            return true;
    }
    return false;
}

bool policy_preset_names_config(struct slice text, unsigned forms, struct arena *a) {
    bool is_command = forms & POLICY_PRESET_COMMAND, has_steps;
    if (forms & POLICY_PRESET_JSON && policy_preset_names_config(json_lines(text, a), 0, a))
        return true;
    for (int round = 0; round <= DECODES_MAX; round++) {
        text = normalise(text, a);
        if (names_config(text, is_command) || (is_command && names_config(unquote(text, a), true)) ||
            lines_name_config(text))
            return true;
        if (slice_find(text, '%') < 0)
            break;
        text = policy_percent_decode(text, a, &has_steps);
    }
    return false;
}

static struct slice first_part(struct slice text) {
    while (slice_starts(text, SLICE("./")))
        text = slice_from(text, 2);
    size_t end = 0;
    while (end < text.len && !is_separator(text.ptr[end], false))
        end++;
    return trim_part(slice_upto(text, end));
}

static struct slice last_part(struct slice text) {
    while (text.len && is_separator(text.ptr[text.len - 1], false))
        text.len--;
    size_t start = text.len;
    while (start && !is_separator(text.ptr[start - 1], false))
        start--;
    return trim_part(slice_from(text, start));
}

bool policy_preset_add_part(struct policy_preset_parts *parts, struct slice text, struct arena *a) {
    if (text.len > PART_BYTES_MAX)
        return false;
    text = normalise(text, a);
    bool is_path = slice_find(text, '/') >= 0 || slice_find(text, '\\') >= 0;
    return policy_preset_note(parts, first_part(text), last_part(text), is_path);
}
