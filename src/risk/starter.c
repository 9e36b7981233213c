#include "risk/starter.h"

#include "base/glyph.h"
#include "base/map.h"
#include "base/mem.h"
#include "risk/poison.h"
#include "wire/emit.h"

#include <stdlib.h>

#define COMMENT_BYTES_MAX 100 /* bytes shown of a description */
#define PARAMETERS_MAX 64     /* parameters shown in a comment */
#define PRUNE_MAX 10          /* tools named in the advice on token costs */

static const struct {
    const char *title;
    unsigned per_minute; /* 0: refused */
    const char *refusal;
} plans[RISK_CLASSES] = {
    [RISK_NONE] = {"", 0, "Blocked by default."},
    [RISK_READ] = {"Read", 60, NULL},
    [RISK_WRITE] = {"Write", 30, NULL},
    [RISK_EXECUTE] = {"Execute", 10, NULL},
    [RISK_DESTRUCTIVE] = {"Destructive", 0, "Blocked by default: this tool can destroy data."},
    [RISK_FINANCIAL] = {"Financial", 0, "Blocked by default: this tool can spend money."},
};

const char risk_starter_plan[] = "Reads 60 a minute, writes 30, executions 10. What can destroy data or "
                                 "spend money is denied; what is not "
                                 "listed is denied.";

/* Tools that are not reviewed are refused; a comment shows how to require approval instead. */
static void put_block(struct buf *out, enum risk_class cls) {
    buf_printf(out,
               "      - name: blocked by default\n"
               "        action: deny  # or require_approval without on_deny: each call waits for a person\n"
               "        on_deny: \"%s\"\n",
               plans[cls].refusal);
}

/* A check that an argument's name and type suggest. */
struct argument {
    struct slice name;
    bool required;
    const char *op; /* NULL: nothing */
    const char *value;
    const char *denial;
};

static struct slice last_part(struct slice name) {
    for (size_t i = name.len; i-- > 0;)
        if (name.ptr[i] == '_' || name.ptr[i] == '-' || (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' && i))
            return slice_from(name, i + (name.ptr[i] == '_' || name.ptr[i] == '-'));
    return name;
}

static bool is_path(struct slice last) {
    static const char *const words[] = {"path",   "directory",   "file", "folder", "dir",
                                        "source", "destination", "src",  "dst",    NULL};
    for (const char *const *w = words; *w; w++)
        if (slice_eq_nocase(last, slice_str(*w)))
            return true;
    return false;
}

static void suggest(struct argument *arg, uint32_t tags) {
    struct slice last = last_part(arg->name);
    if (tags & RISK_TAG_URL_ARGS &&
        (slice_eq_nocase(last, SLICE("url")) || slice_eq_nocase(last, SLICE("uri")))) {
        arg->op = "host";
        arg->value = "*";
        arg->denial = "Only public web addresses.";
    } else if (tags & RISK_TAG_SQL_ARGS &&
               (slice_eq_nocase(last, SLICE("sql")) || slice_eq_nocase(last, SLICE("statement")))) {
        arg->op = "sql";
        arg->value = "read_only";
        arg->denial = "Only statements that read.";
    } else if (tags & RISK_TAG_PATH_ARGS && is_path(last)) {
        arg->op = "under";
        arg->value = "/srv/data";
        arg->denial = "Outside the permitted directory.";
    }
}

static bool is_required(const struct tape *t, uint32_t required, struct slice name) {
    if (!required || !tape_is(t, required, TAPE_ARRAY))
        return false;
    TAPE_FOR_ELEM(t, required, i)
    if (tape_eq(t, i, name))
        return true;
    return false;
}

/* Arguments that a condition can use: plain names of string type, few of them. */
static size_t read_arguments(const struct risk_starter *s, const struct risk_entry *entry, struct arena *a,
                             struct argument *ret_args, size_t max) {
    const struct tape *t = s->t;
    uint32_t props = tape_path(t, entry->node, "inputSchema", "properties", NULL);
    uint32_t required = tape_path(t, entry->node, "inputSchema", "required", NULL);
    size_t count = 0;
    if (!props || !tape_is(t, props, TAPE_OBJECT))
        return 0;
    TAPE_FOR_MEMBER(t, props, key) {
        struct argument arg = {.name = tape_text(t, key, a)};
        if (count == max || !risk_name_plain(arg.name) || slice_find(arg.name, '.') >= 0)
            continue;
        arg.required = is_required(t, required, arg.name);
        uint32_t type = tape_is(t, key + 1, TAPE_OBJECT) ? tape_get_str(t, key + 1, "type") : 0;
        if (type && tape_eq(t, type, SLICE("string")))
            suggest(&arg, entry->report.tags);
        ret_args[count++] = arg;
    }
    return count;
}

/* ---- Intercept's dialect ---- */

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

static bool same_in_yaml(struct slice name) {
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", NULL};
    for (const char *const *w = words; *w; w++)
        if (slice_eq_nocase(name, slice_str(*w)))
            return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-')))
            return false;
    }
    return name.len > 0;
}

static void put_yaml_name(struct buf *out, struct slice name) {
    if (same_in_yaml(name))
        buf_put_slice(out, name);
    else
        emit_quote(out, name);
}

static void put_tags(struct buf *out, uint32_t tags) {
    for (unsigned i = 0; i < RISK_TAGS; i++)
        if (tags & 1u << i)
            buf_printf(out, ", %s", risk_tag_text(i));
}

/* Each with its type; optional parameters in brackets. */
static void comment_parameters(const struct risk_starter *s, const struct risk_entry *e, struct arena *a,
                               struct buf *out) {
    const struct tape *t = s->t;
    const uint32_t props = tape_path(t, e->node, "inputSchema", "properties", NULL);
    const uint32_t required = tape_path(t, e->node, "inputSchema", "required", NULL);
    size_t count = 0;
    if (!props || !tape_is(t, props, TAPE_OBJECT))
        return;
    TAPE_FOR_MEMBER(t, props, key) {
        if (count == PARAMETERS_MAX) {
            buf_put_str(out, ", …");
            break;
        }
        const struct slice name = tape_text(t, key, a);
        const uint32_t type = tape_is(t, key + 1, TAPE_OBJECT) ? tape_get_str(t, key + 1, "type") : 0;
        const bool needed = is_required(t, required, name);
        buf_printf(out, "%s%s%.*s", count++ ? ", " : "  #   parameters: ", needed ? "" : "[",
                   SLICE_FMT(glyph_printable(name, COMMENT_BYTES_MAX, a)));
        if (type && tape_is(t, type, TAPE_STRING))
            buf_printf(out, " %.*s", SLICE_FMT(glyph_printable(tape_text(t, type, a), COMMENT_BYTES_MAX, a)));
        if (!needed)
            buf_put_char(out, ']');
    }
    if (count)
        buf_put_char(out, '\n');
}

static void comment_tool(const struct risk_starter *s, const struct risk_entry *e, struct arena *a,
                         struct buf *out) {
    uint32_t node = tape_get_str(s->t, e->node, "description");
    struct slice text =
        node && tape_is(s->t, node, TAPE_STRING) ? slice_trim(tape_text(s->t, node, a)) : (struct slice){0};
    text = glyph_printable(text, COMMENT_BYTES_MAX, a);
    if (text.len)
        buf_printf(out, "  # %.*s: %.*s\n", SLICE_FMT(e->name), SLICE_FMT(text));
    else
        buf_printf(out, "  # %.*s\n", SLICE_FMT(e->name));
    buf_printf(out, "  #   %s, %u%% sure, %u tokens", risk_severity_name(e->report.severity),
               e->report.confidence, e->tokens);
    put_tags(out, e->report.tags);
    buf_put_str(out, e->report.review ? "; please review\n" : "\n");
    comment_parameters(s, e, a, out);
}

static void rule_required(struct buf *out, const struct argument *args, size_t count) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!args[i].required)
            continue;
        if (!any)
            buf_put_str(out, "      - name: required arguments\n        conditions:\n");
        any = true;
        buf_put_str(out, "          - {path: ");
        cleanup_buf struct buf path;
        buf_init(&path, RISK_NAME_BYTES_MAX);
        buf_printf(&path, "args.%.*s", SLICE_FMT(args[i].name));
        emit_quote(out, buf_slice(&path));
        buf_put_str(out, ", op: exists, value: true}\n");
    }
    if (any)
        buf_put_str(out, "        on_deny: \"A required argument is missing.\"\n");
}

/* Operators that Intercept itself does not support are written as comments, so both programs accept the
 * file. */
static void comment_arguments(struct buf *out, const struct argument *args, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!args[i].op)
            continue;
        buf_printf(out, "      # - name: %.*s\n", SLICE_FMT(args[i].name));
        buf_printf(out, "      #   conditions: [{path: \"args.%.*s\", op: %s, value: \"%s\"}]\n",
                   SLICE_FMT(args[i].name), args[i].op, args[i].value);
        buf_printf(out, "      #   on_deny: \"%s\"\n", args[i].denial);
    }
}

static void intercept_tool(const struct risk_starter *s, const struct risk_entry *e, struct arena *a,
                           struct buf *out) {
    struct argument args[32];
    size_t count = read_arguments(s, e, a, args, ARRAY_LEN(args));
    comment_tool(s, e, a, out);
    buf_put_str(out, "  ");
    put_yaml_name(out, e->name);
    buf_put_str(out, ":\n    rules:\n");
    if (!plans[e->report.cls].per_minute) {
        put_block(out, e->report.cls);
        return;
    }
    buf_printf(out, "      - name: rate limit\n        rate_limit: %u/minute\n",
               plans[e->report.cls].per_minute);
    if (e->report.cls == RISK_EXECUTE)
        rule_required(out, args, count);
    comment_arguments(out, args, count);
}

static int by_tokens(const void *a, const void *b) {
    const struct risk_entry *x = *(const struct risk_entry *const *)a,
                            *y = *(const struct risk_entry *const *)b;
    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? 1 : -1;
    return slice_cmp(x->name, y->name);
}

static void comment_prune(const struct risk_entry *const *list, size_t count, struct arena *a,
                          struct buf *out) {
    const struct risk_entry **sorted = arena_alloc(a, sizeof *sorted * (count + 1));
    memcpy(sorted, list, sizeof *sorted * count);
    qsort(sorted, count, sizeof *sorted, by_tokens);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += sorted[i]->tokens;
    buf_printf(out,
               "# Definitions cost about %llu tokens in every conversation. Hide what is not needed; the "
               "largest:\n# hide:\n",
               (unsigned long long)total);
    for (size_t i = 0; i < count && i < PRUNE_MAX; i++) {
        buf_put_str(out, "#   - ");
        put_yaml_name(out, sorted[i]->name);
        buf_printf(out, "  # %u tokens\n", sorted[i]->tokens);
    }
}

static void intercept_head(const struct risk_starter *s, const struct risk_entry *const *list, size_t count,
                           struct arena *a, struct buf *out) {
    size_t changing = 0;
    for (size_t i = 0; i < count; i++)
        changing += list[i]->report.cls > RISK_READ;
    struct slice server =
        s->server.len ? glyph_printable(s->server, COMMENT_BYTES_MAX, a) : SLICE("an MCP server");
    buf_printf(out, "# Policy for %.*s, made by `sallyport scan`.\n", SLICE_FMT(server));
    buf_printf(out, "# %zu tool%s. %zu can modify or destroy data.\n# %s\n", count, plural(count), changing,
               risk_starter_plan);
    comment_prune(list, count, a, out);
    buf_put_str(out, "version: \"1\"\ndescription: ");
    struct slice description = arena_printf(a, "Starter policy for %.*s", SLICE_FMT(server));
    emit_quote(out, description);
    buf_put_str(out, "\ndefault: deny\ntools:");
    buf_put_str(out, count ? "\n" : " {}\n");
}

static void write_intercept(const struct risk_starter *s, const struct risk_entry *const *list, size_t count,
                            struct arena *a, struct buf *out) {
    intercept_head(s, list, count, a, out);
    for (int cls = RISK_READ; cls < RISK_CLASSES; cls++) {
        size_t n = 0;
        for (size_t i = 0; i < count; i++)
            n += list[i]->report.cls == (enum risk_class)cls;
        if (n)
            buf_printf(out, "\n  # -- %s tools (%zu) --\n", plans[cls].title, n);
        for (size_t i = 0; n && i < count; i++)
            if (list[i]->report.cls == (enum risk_class)cls)
                intercept_tool(s, list[i], a, out);
    }
}

/* ---- PolicyLayer's dialect ---- */

static void put_condition(struct emit *e, const struct argument *arg, const char *op, const char *value,
                          struct arena *a) {
    emit_object(e);
    emit_key(e, "conditions");
    emit_array(e);
    emit_object(e);
    emit_key(e, "path");
    emit_str(e, arena_printf(a, "args.%.*s", SLICE_FMT(arg->name)));
    emit_key(e, "op");
    emit_cstr(e, op);
    emit_key(e, "value");
    if (value)
        emit_cstr(e, value);
    else
        emit_bool(e, true);
    emit_object_end(e);
    emit_array_end(e);
}

static void put_require(struct emit *e, const struct risk_entry *entry, const struct argument *args,
                        size_t count, struct arena *a) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const bool judged = args[i].op && strcmp(args[i].op, "under") != 0;
        /* A rule about an optional argument would refuse calls without it. */
        if (!args[i].required || (!judged && entry->report.cls != RISK_EXECUTE))
            continue;
        if (!any) {
            emit_key(e, "require");
            emit_array(e);
        }
        any = true;
        if (judged) {
            put_condition(e, &args[i], args[i].op, args[i].value, a);
            emit_key(e, "on_deny");
            emit_cstr(e, args[i].denial);
            emit_object_end(e);
        } else {
            put_condition(e, &args[i], "exists", NULL, a);
            emit_key(e, "on_deny");
            emit_str(e, arena_printf(a, "Missing required argument \"%.*s\".", SLICE_FMT(args[i].name)));
            emit_object_end(e);
        }
    }
    if (any)
        emit_array_end(e);
}

static void layer_tool(const struct risk_starter *s, const struct risk_entry *entry, struct arena *a,
                       struct emit *e) {
    struct argument args[32];
    emit_key_slice(e, entry->name);
    emit_object(e);
    if (!plans[entry->report.cls].per_minute) {
        emit_key(e, "deny_if");
        emit_raw(e, SLICE("[{\"conditions\":[],\"on_deny\":"));
        emit_quote(e->out, slice_str(plans[entry->report.cls].refusal));
        buf_put_str(e->out, "}]");
        emit_object_end(e);
        return;
    }
    put_require(e, entry, args, read_arguments(s, entry, a, args, ARRAY_LEN(args)), a);
    emit_key(e, "limits");
    emit_array(e);
    emit_object(e);
    emit_key(e, "counter");
    emit_str(e, arena_printf(a, "%.*s_rate", SLICE_FMT(entry->name)));
    emit_key(e, "window");
    emit_cstr(e, "minute");
    emit_key(e, "max");
    emit_int(e, plans[entry->report.cls].per_minute);
    emit_key(e, "scope");
    emit_cstr(e, "grant");
    emit_object_end(e);
    emit_array_end(e);
    emit_object_end(e);
}

static void write_policylayer(const struct risk_starter *s, const struct risk_entry *const *list,
                              size_t count, struct arena *a, struct buf *out) {
    cleanup_buf struct buf plain;
    buf_init(&plain, RISK_POLICY_BYTES_MAX);
    struct emit e;
    emit_init(&e, &plain);
    emit_object(&e);
    emit_key(&e, "version");
    emit_cstr(&e, "1");
    emit_key(&e, "default");
    emit_cstr(&e, "deny");
    emit_key(&e, "tools");
    emit_object(&e);
    for (size_t i = 0; i < count; i++) {
        layer_tool(s, list[i], a, &e);
    }
    emit_object_end(&e);
    emit_object_end(&e);
    out->full |= plain.full;
    emit_indented(out, buf_slice(&plain));
    buf_put_char(out, '\n');
}

/* The tools to write, each name once. Of two tools with one name the worse class counts, because a call has
 * only the name. */
static size_t pick(const struct risk_starter *s, const struct risk_entry **ret_list) {
    size_t count = 0;
    struct map taken; /* name -> its place in the list */
    map_init(&taken);
    for (size_t i = 0; i < s->count; i++) {
        const struct risk_entry *e = &s->entries[i];
        if (e->refuse || !risk_name_plain(e->name))
            continue;
        const struct risk_entry **place = map_get(&taken, e->name);
        if (place && (*place)->report.cls < e->report.cls)
            *place = e;
        if (place)
            continue;
        ret_list[count] = e;
        map_put(&taken, e->name, &ret_list[count++]);
    }
    map_free(&taken);
    return count;
}

bool risk_starter_write(const struct risk_starter *s, struct arena *a, struct buf *out) {
    const struct risk_entry **list = arena_alloc(a, sizeof *list * (s->count + 1));
    size_t count = pick(s, list);
    if (s->dialect == RISK_DIALECT_INTERCEPT)
        write_intercept(s, list, count, a, out);
    else
        write_policylayer(s, list, count, a, out);
    return !out->full;
}

void risk_starter_by_class(struct slice server, struct arena *a, struct buf *out) {
    static const char *const selectors[RISK_CLASSES] = {NULL,       "@read",        "@write",
                                                        "@execute", "@destructive", "@financial"};
    struct slice name = glyph_printable(server, COMMENT_BYTES_MAX, a);
    buf_printf(
        out, "# Policy for %.*s. Its tools were not known when this was written, so their classes decide.\n",
        SLICE_FMT(name));
    buf_printf(out, "# %s\n", risk_starter_plan);
    buf_put_str(out, "# `sallyport scan -o FILE` writes one that names them.\nversion: \"1\"\ndescription: ");
    emit_quote(out, arena_printf(a, "Starter policy for %.*s", SLICE_FMT(name)));
    buf_put_str(out, "\ndefault: deny\ntools:\n");
    for (int cls = RISK_READ; cls < RISK_CLASSES; cls++) {
        buf_printf(out, "  \"%s\":\n    rules:\n", selectors[cls]);
        if (plans[cls].per_minute)
            buf_printf(out, "      - name: rate limit\n        rate_limit: %u/minute\n",
                       plans[cls].per_minute);
        else
            put_block(out, (enum risk_class)cls);
    }
}
