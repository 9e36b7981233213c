/* The rules file:
 *
 *   version: "1"
 *   format: plain                 # or preserve: tok-7k3qx9m2@pii.invalid instead of [EMAIL_7K3QX9M2]
 *   results:                      # over the mode; the last one that names a kind applies
 *     - {server: crm, tool: "export_*", grant: ci, kinds: [EMAIL, PHONE], mode: redact}
 *   arguments:                    # in what clients send: off, report or block; the last one counts, too
 *     - {server: crm, tool: create_contact, kinds: [EMAIL, PHONE], mode: off}
 *   restore:                      # without this list every tool may have personal data back
 *     - {server: mailer, tool: send_mail, kinds: [EMAIL]}
 *     - {server: deploy, kinds: [SECRET], from: [vault]}
 *   custom:
 *     - {name: CUSTOMER, literal: "C-", pattern: "C-[0-9]{6}", match: [C-123456], nomatch: [C-12]}
 */
#include "privacy/privacy_rules.h"

#include "base/mem.h"
#include "privacy/limits.h"
#include "wire/tree_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int want(const struct tree *t, enum tree_type type, struct err *err) {
    if (t->type == type)
        return 0;
    return err_set(err, "line %u: `%.*s` is a %s, not a %s", t->line, SLICE_FMT(t->key),
                   tree_type_name(t->type), tree_type_name(type));
}

static int read_text(const struct tree *map, const char *key, struct arena *a, const char **ret_text,
                     struct err *err) {
    const struct tree *t = tree_get(map, key);
    if (!t)
        return 0;
    if (want(t, TREE_STRING, err) < 0)
        return -1;
    *ret_text = arena_dup(a, t->text).ptr;
    return 0;
}

static int read_place(const struct tree *rule, struct arena *a, struct pii_place *place, struct err *err) {
    if (read_text(rule, "server", a, &place->server, err) < 0 ||
        read_text(rule, "tool", a, &place->tool, err) < 0)
        return -1;
    return read_text(rule, "grant", a, &place->grant, err);
}

static int read_kind(const struct pii_rules *r, const struct tree *t, uint64_t *kinds, struct err *err) {
    const int kind = t->type == TREE_STRING ? pii_kind_from(t->text) : -1;
    if (kind >= 0 && kind != PII_LITERAL) {
        *kinds |= PII_BIT(kind);
        return 0;
    }
    for (size_t i = 0; i < r->custom_count; i++)
        if (slice_is(t->text, r->custom[i].name)) {
            *kinds |= PII_BIT_CUSTOM;
            return 0;
        }
    return err_set(err, "line %u: there is no kind `%.*s`", t->line, SLICE_FMT(t->text));
}

/* Without a list: everything but the kinds that are detected only where they are named. */
static int read_kinds(const struct pii_rules *r, const struct tree *rule, uint64_t *ret_kinds,
                      struct err *err) {
    const struct tree *list = tree_get(rule, "kinds");
    *ret_kinds = list ? 0 : PII_DEFAULT;
    if (!list)
        return 0;
    if (want(list, TREE_LIST, err) < 0)
        return -1;
    for (const struct tree *t = list->child; t; t = t->next)
        if (read_kind(r, t, ret_kinds, err) < 0)
            return -1;
    return 0;
}

static int read_mode_rule(struct pii_rules *r, const struct tree *rule, struct err *err) {
    static const char *const keys[] = {"server", "tool", "grant", "kinds", "mode", NULL};
    struct pii_mode_rule *out = &r->modes[r->mode_count];
    const struct tree *mode = tree_get(rule, "mode");
    if (want(rule, TREE_MAP, err) < 0 || tree_check_keys(rule, keys, err) < 0 ||
        read_place(rule, &r->arena, &out->place, err) < 0 || read_kinds(r, rule, &out->kinds, err) < 0)
        return -1;
    const int found = mode && mode->type == TREE_STRING ? filter_mode_from(mode->text) : -1;
    if (found < 0)
        return err_set(err, "line %u: a rule needs a mode: off, tokenize, redact, block or report",
                       rule->line);
    out->mode = (enum filter_mode)found;
    r->mode_count++;
    return 0;
}

static int read_argument_rule(struct pii_rules *r, const struct tree *rule, struct err *err) {
    static const char *const keys[] = {"server", "tool", "grant", "kinds", "mode", NULL};
    static const char *const names[] = {"off", "report", "block"};
    struct pii_argument_rule *out = &r->arguments[r->argument_count];
    if (want(rule, TREE_MAP, err) < 0 || tree_check_keys(rule, keys, err) < 0 ||
        read_place(rule, &r->arena, &out->place, err) < 0 || read_kinds(r, rule, &out->kinds, err) < 0)
        return -1;
    const struct tree *mode = tree_get(rule, "mode");
    for (size_t i = 0; mode && mode->type == TREE_STRING && i < ARRAY_LEN(names); i++)
        if (slice_is(mode->text, names[i]))
            out->mode = (enum pii_arguments)(PII_ARGUMENTS_OFF + i);
    if (out->mode == PII_ARGUMENTS_AUTO)
        return err_set(err, "line %u: a rule about arguments needs a mode: off, report or block", rule->line);
    r->argument_count++;
    return 0;
}

static int read_from(struct pii_rules *r, const struct tree *list, struct pii_restore_rule *out,
                     struct err *err) {
    if (!list)
        return 0;
    if (want(list, TREE_LIST, err) < 0)
        return -1;
    struct slice *from = arena_array(&r->arena, struct slice, list->count);
    for (const struct tree *t = list->child; t; t = t->next) {
        if (t->type != TREE_STRING)
            return err_set(err, "line %u: `from` lists names of servers", t->line);
        from[out->from_count++] = arena_dup(&r->arena, t->text);
    }
    out->from = from;
    return 0;
}

static int read_restore_rule(struct pii_rules *r, const struct tree *rule, struct err *err) {
    static const char *const keys[] = {"server", "tool", "grant", "kinds", "from", NULL};
    struct pii_restore_rule *out = &r->restores[r->restore_count];
    if (want(rule, TREE_MAP, err) < 0 || tree_check_keys(rule, keys, err) < 0 ||
        read_place(rule, &r->arena, &out->place, err) < 0 || read_kinds(r, rule, &out->kinds, err) < 0 ||
        read_from(r, tree_get(rule, "from"), out, err) < 0)
        return -1;
    r->restore_count++;
    return 0;
}

static int read_tests(struct pii_rules *r, const struct tree *list, const char *const **ret_tests,
                      struct err *err) {
    if (!list)
        return 0;
    if (want(list, TREE_LIST, err) < 0)
        return -1;
    const char **tests = arena_array(&r->arena, const char *, list->count + 1);
    size_t n = 0;
    for (const struct tree *t = list->child; t; t = t->next)
        tests[n++] = arena_dup(&r->arena, t->text).ptr;
    *ret_tests = tests;
    return 0;
}

static int read_custom(struct pii_rules *r, const struct tree *rule, struct err *err) {
    static const char *const keys[] = {"name", "literal", "pattern", "match", "nomatch", "score", NULL};
    struct pii_rule *out = &r->custom[r->custom_count];
    const struct tree *score = tree_get(rule, "score");
    if (want(rule, TREE_MAP, err) < 0 || tree_check_keys(rule, keys, err) < 0 ||
        read_text(rule, "name", &r->arena, &out->name, err) < 0 ||
        read_text(rule, "literal", &r->arena, &out->literal, err) < 0 ||
        read_text(rule, "pattern", &r->arena, &out->pattern, err) < 0 ||
        read_tests(r, tree_get(rule, "match"), &out->match, err) < 0 ||
        read_tests(r, tree_get(rule, "nomatch"), &out->nomatch, err) < 0)
        return -1;
    if (score && (score->type != TREE_INT || score->integer < 1 || score->integer > 100))
        return err_set(err, "line %u: a score is 1 to 100", score->line);
    out->score = score ? (uint8_t)score->integer : 0;
    if (!out->name)
        return err_set(err, "line %u: a custom rule needs a name", rule->line);
    r->custom_count++;
    return 0;
}

typedef int rule_fn(struct pii_rules *r, const struct tree *rule, struct err *err);

static int each_rule(struct pii_rules *r, const struct tree *root, const char *key, size_t max, rule_fn *read,
                     struct err *err) {
    const struct tree *list = tree_get(root, key);
    if (!list)
        return 0;
    if (want(list, TREE_LIST, err) < 0)
        return -1;
    if (list->count > max)
        return err_set(err, "line %u: over %zu rules in `%s`", list->line, max, key);
    for (const struct tree *t = list->child; t; t = t->next)
        if (read(r, t, err) < 0)
            return -1;
    return 0;
}

static int read_root(struct pii_rules *r, const struct tree *root, struct err *err) {
    static const char *const keys[] = {"version", "format", "results", "arguments",
                                       "restore", "custom", NULL};
    if (root->type != TREE_MAP)
        return err_set(err, "not a map of rules");
    if (tree_check_keys(root, keys, err) < 0)
        return -1;
    const struct tree *version = tree_get(root, "version"), *format = tree_get(root, "format");
    if (!version || !slice_is(version->text, "1"))
        return err_set(err, "`version` must be \"1\"");
    if (format && !slice_is(format->text, "plain") && !slice_is(format->text, "preserve"))
        return err_set(err, "line %u: `format` is plain or preserve", format->line);
    r->preserve = format && slice_is(format->text, "preserve");
    if (each_rule(r, root, "custom", PII_RULES_MAX, read_custom, err) < 0 ||
        each_rule(r, root, "results", PRIVACY_RULES_MAX, read_mode_rule, err) < 0 ||
        each_rule(r, root, "arguments", PRIVACY_RULES_MAX, read_argument_rule, err) < 0)
        return -1;
    return each_rule(r, root, "restore", PRIVACY_RULES_MAX, read_restore_rule, err);
}

static int read_whole(const char *path, struct buf *text, struct err *err) {
    cleanup_file FILE *file = fopen(path, "re");
    if (!file)
        return err_set(err, "%s", strerror(errno));
    for (;;) {
        char *room = buf_reserve(text, 4096);
        if (!room)
            return err_set(err, "over %u bytes", PRIVACY_FILE_MAX);
        const size_t n = fread(room, 1, 4096, file);
        text->len += n;
        if (n == 0)
            return ferror(file) ? err_set(err, "%s", strerror(errno)) : 0;
    }
}

int privacy_rules_load(const char *path, struct pii_rules *rules, struct err *err) {
    cleanup_buf struct buf text;
    cleanup_arena struct arena a;
    const struct tree *root;
    arena_init(&a);
    buf_init(&text, PRIVACY_FILE_MAX);
    if (read_whole(path, &text, err) < 0 || tree_parse(buf_slice(&text), &a, &root, err) < 0 ||
        read_root(rules, root, err) < 0)
        return err_wrap(err, "load PII rules `%s`", path);
    return 0;
}
