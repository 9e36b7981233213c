#include "code/skill.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "code/limits.h"
#include "code/workspace.h"
#include "wire/emit.h"
#include "wire/tape.h"
#include "wire/tree_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define SKILL_META_MAX (64u << 10)

static const struct {
    struct slice language;
    const char *ending;
} skill_languages[] = {
    {SLICE("python"), "py"},
    {SLICE("typescript"), "ts"},
    {SLICE("javascript"), "js"},
};

static const char *ending_of(struct slice language) {
    for (size_t i = 0; i < ARRAY_LEN(skill_languages); i++)
        if (slice_eq(language, skill_languages[i].language))
            return skill_languages[i].ending;
    return NULL;
}

/* ^[a-zA-Z_][a-zA-Z0-9_]*$ and not too long */
static bool skill_name_ok(struct slice name) {
    if (!name.len || name.len > CODE_SKILL_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return true;
}

struct slice skill_hash(const char *algorithm, struct slice text, struct arena *a) {
    unsigned char sum[EVP_MAX_MD_SIZE];
    size_t len = 0;
    CHECK(EVP_Q_digest(NULL, algorithm, NULL, text.ptr, text.len, sum, &len) == 1);
    char *hex = arena_alloc(a, 2 * len + 1);
    hex_put(sum, len, hex);
    return slice_of(hex, 2 * len);
}

/* ---- reading ---- */

static struct slice member_text(const struct tape *t, const char *key, struct arena *a) {
    return arena_dup(a, tape_text_of(t, 0, key, a));
}

static bool read_meta(int fd, struct slice path, struct arena *a, struct skill *s) {
    cleanup_buf struct buf text;
    buf_init(&text, SKILL_META_MAX + BUFSIZ);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (workspace_read(fd, path, SKILL_META_MAX, &text) != WORKSPACE_OK ||
        tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT))
        return false;
    uint32_t version = tape_get_str(&t, 0, "version");
    s->description = member_text(&t, "description", a);
    s->created = member_text(&t, "created", a);
    s->language = member_text(&t, "language", a);
    uint32_t schema = tape_get_str(&t, 0, "input_schema");
    if (schema && tape_is(&t, schema, TAPE_OBJECT))
        s->schema = arena_dup(a, tape_raw(&t, schema));
    if (!version || !tape_int(&t, version, &s->version))
        s->version = 1;
    if (!s->language.len)
        s->language = SLICE("python");
    return ending_of(s->language) != NULL;
}

static bool read_text(int fd, struct slice path, struct arena *a, struct slice *ret_text) {
    cleanup_buf struct buf text;
    buf_init(&text, CODE_SKILL_BYTES_MAX + BUFSIZ);
    if (workspace_read(fd, path, CODE_SKILL_BYTES_MAX, &text) != WORKSPACE_OK)
        return false;
    *ret_text = arena_dup(a, buf_slice(&text));
    return true;
}

static struct slice body_path(struct slice stem, struct arena *a) {
    return arena_printf(a, "%.*s.md", SLICE_FMT(stem));
}

static bool read_code(int fd, struct slice stem, struct arena *a, struct skill *s) {
    if (!read_text(fd, arena_printf(a, "%.*s.%s", SLICE_FMT(stem), ending_of(s->language)), a, &s->code))
        return false;
    s->hash = skill_hash("SHA256", s->code, a);
    read_text(fd, body_path(stem, a), a, &s->body);
    return true;
}

enum skill_result skill_load(int fd, struct slice name, int64_t version, struct arena *a,
                             struct skill *ret_skill) {
    struct skill s = {.name = arena_dup(a, name)};
    if (!skill_name_ok(name))
        return SKILL_BAD_NAME;
    if (!read_meta(fd, arena_printf(a, "%.*s.json", SLICE_FMT(name)), a, &s))
        return SKILL_NOT_FOUND;
    struct slice stem = name;
    if (version && version != s.version) {
        stem = arena_printf(a, "versions/%.*s.%lld", SLICE_FMT(name), (long long)version);
        if (!read_meta(fd, arena_printf(a, "%.*s.json", SLICE_FMT(stem)), a, &s))
            return SKILL_NOT_FOUND;
    }
    if (!read_code(fd, stem, a, &s))
        return SKILL_NOT_FOUND;
    *ret_skill = s;
    return SKILL_OK;
}

enum skill_result skill_all(int fd, struct arena *a, struct skill_list *ret_list) {
    struct workspace_list files;
    *ret_list = (struct skill_list){0};
    if (workspace_list(fd, (struct slice){0}, a, &files) != WORKSPACE_OK)
        return SKILL_FAILED;
    ret_list->skills = arena_array(a, struct skill, files.count ? files.count : 1);
    for (size_t i = 0; i < files.count; i++) {
        struct slice path = files.files[i].path;
        if (slice_find(path, '/') >= 0 || !slice_ends(path, SLICE(".json")))
            continue;
        struct slice name = slice_upto(path, path.len - 5);
        if (skill_load(fd, name, 0, a, &ret_list->skills[ret_list->count]) == SKILL_OK)
            ret_list->count++;
    }
    return SKILL_OK;
}

/* ---- writing ---- */

static bool write_pair(int fd, struct slice stem, const struct skill *s, struct arena *a) {
    cleanup_buf struct buf meta;
    buf_init(&meta, SKILL_META_MAX);
    struct emit e;
    emit_init(&e, &meta);
    emit_object(&e);
    emit_key(&e, "name");
    emit_str(&e, s->name);
    emit_key(&e, "description");
    emit_str(&e, s->description);
    emit_key(&e, "created");
    emit_str(&e, s->created);
    emit_key(&e, "code_hash");
    emit_str(&e, s->hash);
    emit_key(&e, "language");
    emit_str(&e, s->language);
    emit_key(&e, "version");
    emit_int(&e, s->version);
    emit_object_end(&e);
    struct slice code = arena_printf(a, "%.*s.%s", SLICE_FMT(stem), ending_of(s->language));
    struct slice about = arena_printf(a, "%.*s.json", SLICE_FMT(stem));
    if (!s->body.len)
        workspace_delete(fd, body_path(stem, a));
    else if (workspace_write(fd, body_path(stem, a), s->body) != WORKSPACE_OK)
        return false;
    return !meta.full && workspace_write(fd, code, s->code) == WORKSPACE_OK &&
           workspace_write(fd, about, buf_slice(&meta)) == WORKSPACE_OK;
}

static struct slice old_stem(const struct skill *s, int64_t version, struct arena *a) {
    return arena_printf(a, "versions/%.*s.%lld", SLICE_FMT(s->name), (long long)version);
}

/* Keeps the previous version; the oldest is deleted if there are too many. */
static bool keep_version(int fd, const struct skill *before, struct arena *a) {
    if (!write_pair(fd, old_stem(before, before->version, a), before, a))
        return false;
    if (before->version > CODE_SKILL_VERSIONS_MAX) {
        struct slice stem = old_stem(before, before->version - CODE_SKILL_VERSIONS_MAX, a);
        workspace_delete(fd, arena_printf(a, "%.*s.json", SLICE_FMT(stem)));
        workspace_delete(fd, body_path(stem, a));
        for (size_t i = 0; i < ARRAY_LEN(skill_languages); i++)
            workspace_delete(fd, arena_printf(a, "%.*s.%s", SLICE_FMT(stem), skill_languages[i].ending));
    }
    return true;
}

enum skill_result skill_save(int fd, struct skill *s, struct arena *a) {
    if (!skill_name_ok(s->name))
        return SKILL_BAD_NAME;
    if (s->code.len > CODE_SKILL_BYTES_MAX || s->body.len > CODE_SKILL_BYTES_MAX ||
        s->description.len > CODE_SKILL_DESCRIPTION_MAX || !ending_of(s->language))
        return SKILL_TOO_LARGE;
    struct skill before;
    bool is_new = skill_load(fd, s->name, 0, a, &before) != SKILL_OK;
    struct skill_list all;
    if (is_new && skill_all(fd, a, &all) == SKILL_OK && all.count >= CODE_SKILLS_MAX)
        return SKILL_FULL;
    char now[CLOCK_TEXT_MAX];
    clock_text(clock_wall_ms(), now);
    s->created = arena_dup(a, slice_str(now));
    s->hash = skill_hash("SHA256", s->code, a);
    s->version = is_new ? 1 : before.version + 1;
    if (!is_new && !keep_version(fd, &before, a))
        return SKILL_FAILED;
    if (!write_pair(fd, s->name, s, a))
        return SKILL_FAILED;
    if (!is_new && !slice_eq(before.language, s->language))
        workspace_delete(fd, arena_printf(a, "%.*s.%s", SLICE_FMT(s->name), ending_of(before.language)));
    return SKILL_OK;
}

/* ---- SKILL.md ---- */

struct slice skill_kebab(struct slice name, struct arena *a) {
    struct slice copy = arena_dup(a, name);
    char *text = (char *)(uintptr_t)copy.ptr;
    for (size_t i = 0; i < copy.len; i++) {
        if (text[i] == '_')
            text[i] = '-';
        else if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char)(text[i] + 32);
    }
    return copy;
}

struct slice skill_to_md(const struct skill *s, struct arena *a) {
    struct slice fence = SLICE("```");
    cleanup_buf struct buf text, quoted;
    buf_init(&text, 2 * CODE_SKILL_BYTES_MAX);
    buf_init(&quoted, 8 * CODE_SKILL_DESCRIPTION_MAX);
    struct slice about = s->description.len ? s->description : s->name;
    emit_quote(&quoted, about); /* a JSON string is a YAML string */
    while (memmem(s->code.ptr, s->code.len, fence.ptr, fence.len))
        fence = arena_printf(a, "%.*s`", SLICE_FMT(fence));
    buf_printf(&text,
               "---\nname: %.*s\ndescription: %.*s\nmetadata:\n  module: %.*s\n  language: %.*s\n  version: "
               "\"%lld\"\n---\n\n",
               SLICE_FMT(skill_kebab(s->name, a)), SLICE_FMT(buf_slice(&quoted)), SLICE_FMT(s->name),
               SLICE_FMT(s->language), (long long)s->version);
    if (s->body.len) {
        buf_put_slice(&text, s->body);
        return arena_dup(a, buf_slice(&text));
    }
    buf_printf(&text, "# %.*s\n\n%.*s\n\nCode that runs in `execute_code` can import it: `%s`.\n\n%.*s%.*s\n",
               SLICE_FMT(s->name), SLICE_FMT(about),
               slice_is(s->language, "python") ? arena_printf(a, "import %.*s", SLICE_FMT(s->name)).ptr
                                               : arena_printf(a, "import * as %.*s from \"skills/%.*s\"",
                                                              SLICE_FMT(s->name), SLICE_FMT(s->name))
                                                     .ptr,
               SLICE_FMT(fence), SLICE_FMT(s->language));
    buf_put_slice(&text, s->code);
    if (!slice_ends(s->code, SLICE("\n")))
        buf_put_char(&text, '\n');
    buf_put_slice(&text, fence);
    buf_put_char(&text, '\n');
    return arena_dup(a, buf_slice(&text));
}

/* After the opening fence: the language, then the code up to a line that is the same fence. */
static bool fenced_block(struct slice body, struct slice *ret_language, struct slice *ret_code) {
    struct slice rest = body, line;
    size_t ticks = 0;
    const char *from = NULL;
    for (bool more = true; more;) {
        const char *start = rest.ptr;
        more = slice_cut(&rest, '\n', &line);
        size_t n = 0;
        while (n < line.len && line.ptr[n] == '`')
            n++;
        if (!from && n >= 3) {
            ticks = n;
            *ret_language = slice_trim(slice_from(line, n));
            from = rest.ptr;
        } else if (from && n >= ticks && !slice_trim(slice_from(line, n)).len) {
            *ret_code = slice_of(from, (size_t)(start - from));
            return true;
        }
    }
    return false;
}

static struct slice language_of(struct slice fence) {
    static const struct {
        struct slice word, language;
    } words[] = {
        {SLICE("python"), SLICE("python")}, {SLICE("py"), SLICE("python")},
        {SLICE(""), SLICE("python")},       {SLICE("typescript"), SLICE("typescript")},
        {SLICE("ts"), SLICE("typescript")}, {SLICE("javascript"), SLICE("javascript")},
        {SLICE("js"), SLICE("javascript")},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (slice_eq_nocase(fence, words[i].word))
            return words[i].language;
    return (struct slice){0};
}

/* Converts line endings to \n. */
static struct slice plain_lines(struct slice text, struct arena *a) {
    if (!text.len || !memchr(text.ptr, '\r', text.len))
        return text;
    char *to = arena_alloc(a, text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\r' || i + 1 == text.len || text.ptr[i + 1] != '\n')
            to[len++] = text.ptr[i];
    return slice_of(to, len);
}

bool skill_is_md(struct slice text) {
    return slice_starts(text, SLICE("---\n")) || slice_starts(text, SLICE("---\r\n"));
}

int skill_from_md(struct slice text, struct arena *a, struct skill *ret_skill, struct err *err) {
    if (!skill_is_md(text))
        return err_set(err, "no front matter");
    text = plain_lines(text, a);
    struct slice rest = slice_from(text, 4);
    const char *end = memmem(rest.ptr, rest.len, "\n---\n", 5);
    if (!end)
        return err_set(err, "the front matter does not end");
    const struct tree *front;
    if (tree_parse_yaml(slice_of(rest.ptr, (size_t)(end + 1 - rest.ptr)), a, &front, err) < 0)
        return err_wrap(err, "front matter");
    const struct tree *name = tree_get(front, "name"), *description = tree_get(front, "description");
    const struct tree *metadata = tree_get(front, "metadata");
    const struct tree *module =
        metadata ? tree_get(metadata, "module") : NULL; /* kebab-case loses capital letters */
    if (module && module->type == TREE_STRING)
        name = module;
    if (!name || name->type != TREE_STRING)
        return err_set(err, "the front matter has no name");
    struct skill s = {.description = description ? description->text : (struct slice){0}};
    struct slice copy = arena_dup(a, name->text);
    for (size_t i = 0; i < copy.len; i++)
        if (copy.ptr[i] == '-')
            ((char *)(uintptr_t)copy.ptr)[i] = '_';
    s.name = copy;
    struct slice fence = {0};
    s.body = slice_of(end + 5, (size_t)(text.ptr + text.len - (end + 5)));
    while (slice_starts(s.body, SLICE("\n"))) /* one is written before it */
        s.body = slice_from(s.body, 1);
    if (!fenced_block(s.body, &fence, &s.code))
        return err_set(err, "there is no fenced block of code");
    s.language = language_of(fence);
    if (!s.language.len)
        return err_set(err, "code in `%.*s` cannot be run", SLICE_FMT(slice_upto(fence, 32)));
    *ret_skill = s;
    return 0;
}

/* ---- called tools ---- */

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static struct slice take_name(struct slice *rest) {
    size_t n = 0;
    while (n < rest->len && in_name(rest->ptr[n]))
        n++;
    struct slice name = slice_upto(*rest, n);
    *rest = slice_from(*rest, n);
    return name;
}

/* "text" or 'text' after blanks and one separator. */
static struct slice take_literal(struct slice *rest) {
    size_t at = 0;
    while (at < rest->len && strchr(" \t\n(,[", rest->ptr[at]))
        at++;
    *rest = slice_from(*rest, at);
    if (rest->len < 2 || (rest->ptr[0] != '"' && rest->ptr[0] != '\''))
        return (struct slice){0};
    const char *end = memchr(rest->ptr + 1, rest->ptr[0], rest->len - 1);
    struct slice text = end ? slice_of(rest->ptr + 1, (size_t)(end - rest->ptr) - 1) : (struct slice){0};
    *rest = end ? slice_from(*rest, text.len + 2) : (struct slice){0};
    return text;
}

/* One mention: tools.SERVER.TOOL, tools["SERVER"]["TOOL"], call_tool("SERVER", "TOOL"). */
static bool take_mention(struct slice rest, struct slice *ret_server, struct slice *ret_tool) {
    struct slice word = take_name(&rest);
    if (slice_is(word, "call_tool") || slice_is(word, "callTool")) {
        *ret_server = take_literal(&rest);
        *ret_tool = take_literal(&rest);
    } else if (slice_is(word, "tools")) {
        bool dotted = slice_starts(rest, SLICE("."));
        rest = dotted ? slice_from(rest, 1) : rest;
        *ret_server = dotted ? take_name(&rest) : take_literal(&rest);
        if (slice_starts(rest, SLICE("]")))
            rest = slice_from(rest, 1);
        dotted = slice_starts(rest, SLICE("."));
        rest = dotted ? slice_from(rest, 1) : rest;
        *ret_tool = dotted ? take_name(&rest) : take_literal(&rest);
    }
    return ret_server->len && ret_tool->len;
}

struct slice skill_tools(struct slice code, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, SKILL_META_MAX);
    struct map seen;
    map_init(&seen);
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < code.len && seen.count < CODE_SKILL_TOOLS_MAX; i++) {
        struct slice server = {0}, tool = {0};
        if ((i && in_name(code.ptr[i - 1])) || !take_mention(slice_from(code, i), &server, &tool))
            continue;
        struct slice name = slice_upto(arena_printf(a, "%.*s.%.*s", SLICE_FMT(server), SLICE_FMT(tool)), 256);
        if (!map_put(&seen, name, a))
            emit_str(&e, name);
    }
    emit_array_end(&e);
    map_free(&seen);
    return out.full ? SLICE("[]") : arena_dup(a, buf_slice(&out));
}
