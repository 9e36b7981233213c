/* init: the texts that are written or shown. */
#include "base/mem.h"
#include "cli/init.h"
#include "cli/yaml.h"
#include "wire/tree_parse.h"

#include <string.h>

#define INIT_TEXT_MAX (16u << 20)

const char cli_init_through_text[] =
    "# Allows everything: the gate behind it decides. For clients that cannot reach the gate over HTTP.\n"
    "version: \"1\"\ndefault: allow\n";

bool cli_init_writes(const struct init *in, const struct init_target *t) {
    bool used = false;
    for (size_t k = 0; k < in->file_count; k++)
        for (size_t n = 0; in->files[k].found && n < in->files[k].file->count; n++)
            used |= in->files[k].found[n].target == t;
    return used && !t->has_policy;
}

void cli_init_policy(const struct init *in, const struct init_target *t, struct buf *out) {
    struct arena *a = (struct arena *)(uintptr_t)&in->arena;
    if (t->survey)
        risk_survey_policy(t->survey, RISK_DIALECT_INTERCEPT, a, out);
    else
        risk_starter_by_class(slice_str(t->name), a, out);
}

static bool is_used(const struct init *in, const struct init_target *t) {
    for (size_t i = 0; i < in->file_count; i++)
        for (size_t k = 0; in->files[i].found && k < in->files[i].file->count; k++)
            if (in->files[i].found[k].target == t)
                return true;
    return false;
}

static bool is_added(const struct init *in, const struct init_target *t) {
    return t->settings && !t->in_settings && is_used(in, t);
}

bool cli_init_new_settings(const struct init *in) {
    for (size_t i = 0; i < in->target_count; i++)
        if (is_added(in, &in->targets[i]))
            return true;
    return false;
}

/* Paths of policies are relative to the settings. */
static const char *policy_name(const struct init *in, const struct init_target *t) {
    size_t len = strlen(in->dir);
    return strncmp(t->policy, in->dir, len) == 0 && t->policy[len] == '/' ? t->policy + len + 1 : t->policy;
}

/* Where new servers are inserted in existing settings: after the line `servers:`, indented as the first. */
static bool find_place(const struct init *in, struct arena *a, uint32_t *ret_at, struct slice *ret_indent,
                       struct err *err) {
    const struct tree *root, *servers;
    struct slice text = buf_slice(&in->own_text);
    if (tree_parse(text, a, &root, err) < 0)
        return false;
    servers = tree_get(root, "servers");
    *ret_indent = SLICE("  ");
    if (!servers || servers->type != TREE_MAP || !servers->count ||
        servers->child->key_line <= servers->key_line) {
        err_set(err, "`%s` has no `servers:` with lines below it: add the servers there yourself", in->yaml);
        return false;
    }
    *ret_indent = slice_upto(SLICE("                "), servers->child->key_column - 1);
    size_t at = 0;
    for (uint32_t line = 0; line < servers->key_line && at < text.len; line++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        at = end ? (size_t)(end - text.ptr) + 1 : text.len;
    }
    *ret_at = (uint32_t)at;
    return true;
}

bool cli_init_settings(const struct init *in, bool shown, struct splice *s, struct err *err) {
    struct slice indent = SLICE("  ");
    uint32_t at = 0;
    cleanup_buf struct buf out;
    buf_init(&out, INIT_TEXT_MAX);
    splice_init(s, buf_slice(&in->own_text), s->arena);
    if (in->own && !find_place(in, s->arena, &at, &indent, err))
        return false;
    if (!in->own)
        cli_yaml_head(&out, in->listen, NULL);
    for (size_t i = 0; i < in->target_count; i++) {
        const struct init_target *t = &in->targets[i];
        if (is_added(in, t))
            cli_yaml_server(&out, indent, t->name, shown ? t->shown : t->json, policy_name(in, t), s->arena);
    }
    return splice_replace(s, at, at, arena_dup(s->arena, buf_slice(&out))) ||
           err_set(err, "`%s` cannot be edited", in->yaml) == 0;
}

bool cli_init_needs_through(const struct init *in) {
    for (size_t i = 0; i < in->file_count; i++)
        if (in->opt->mode == CLI_MODE_SERVE && in->files[i].chosen &&
            in->files[i].file->client->remote == CLI_REMOTE_NONE)
            return true;
    return false;
}

int cli_init_edit(const struct init *in, const struct init_file *f, bool shown, const char *token,
                  struct splice *s, struct err *err) {
    const struct cli_client_file *file = shown ? f->masked : f->file;
    const char **policies = arena_array(s->arena, const char *, file->count + 1);
    bool *chosen = arena_array(s->arena, bool, file->count + 1);
    for (size_t i = 0; i < file->count; i++) {
        chosen[i] = f->found[i].target != NULL;
        policies[i] = chosen[i] ? f->found[i].target->policy : NULL;
    }
    const struct cli_client_plan plan = {.mode = (enum cli_client_mode)in->opt->mode,
                                         .program = in->program,
                                         .lead = in->lead,
                                         .policies = policies,
                                         .chosen = chosen,
                                         .url = in->url,
                                         .token = token,
                                         .through = in->through};
    splice_init(s, buf_slice(&file->text), s->arena);
    return cli_client_file_edit(file, &plan, s, err) < 0 ? err_wrap(err, "`%s`", file->path) : 0;
}
