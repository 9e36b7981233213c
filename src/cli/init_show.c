/* init: shows what was found and what would be changed, as text and as JSON. */
#include "base/glyph.h"
#include "base/mem.h"
#include "cli/init.h"
#include "wire/emit.h"
#include "wire/mask.h"

#include <string.h>
#include <sys/stat.h>

#define SHOW_TEXT_MAX (32u << 20)
#define SHOW_LINE_MAX 400 /* longer lines are shortened around the change */
#define SHOW_AROUND 24
#define SHOW_ORIGIN_MAX 80

/* ---- what was found ---- */

static void put_counts(const struct risk_survey *s, struct buf *out) {
    static const char *const words[RISK_CLASSES] = {"",        "read",        "write",
                                                    "execute", "destructive", "financial"};
    buf_printf(out, "%zu tool%s", s->count, s->count == 1 ? "" : "s");
    bool any = false;
    for (int cls = RISK_READ; cls < RISK_CLASSES; cls++) {
        if (!s->by_class[cls])
            continue;
        buf_printf(out, "%s%zu %s", any ? ", " : ": ", s->by_class[cls], words[cls]);
        any = true;
    }
    if (s->poisoned)
        buf_printf(out, "; %zu with instructions hidden in them", s->poisoned);
}

static void put_origin(const struct init_target *t, struct arena *a, struct buf *out) {
    const struct cli_mcpserver *s = t->asked ? t->asked->server : NULL;
    if (!s) {
        buf_put_slice(out, glyph_printable(t->shown, SHOW_ORIGIN_MAX, a));
        return;
    }
    struct slice text = s->url                  ? mask_url(slice_str(s->url), a)
                        : s->supply.package.len ? s->supply.package
                                                : slice_str(s->from->argv.items[0]);
    struct slice shown = glyph_printable(text, SHOW_ORIGIN_MAX, a);
    buf_printf(out, "%s%s%.*s", s->supply.runner ? s->supply.runner : "", s->supply.runner ? " " : "",
               SLICE_FMT(shown));
    if (s->supply.unpinned)
        buf_put_str(out, " (version not pinned)");
    if (s->impostor.of.len && !s->impostor.trusted) {
        text = risk_lookalike_text(&s->impostor, a);
        buf_printf(out, " (!) %.*s: an impostor?", SLICE_FMT(text));
    }
}

static void show_server(const struct init *in, const struct init_file *f, size_t i, struct buf *out) {
    struct arena *a = (struct arena *)(uintptr_t)&in->arena;
    const struct cli_client_server *server = &f->file->servers[i];
    const struct init_target *t = f->found[i].target;
    struct slice name = glyph_printable(slice_str(server->name), 48, a);
    buf_printf(out, "  %-16.*s ", SLICE_FMT(name));
    if (server->scope)
        buf_printf(out, "(project %.*s) ", SLICE_FMT(glyph_printable(slice_str(server->scope), 80, a)));
    if (!t) {
        buf_printf(out, "left alone: %s\n", f->found[i].skip);
        return;
    }
    put_origin(t, a, out);
    buf_put_str(out, "\n                   ");
    if (t->survey)
        put_counts(t->survey, out);
    else
        buf_printf(out, "tools not known: %s",
                   t->why_not                          ? t->why_not
                   : t->asked && t->asked->err.text[0] ? t->asked->err.text
                                                       : "not started");
    buf_put_str(out, t->from_catalogue ? ", by the catalogue\n" : "\n");
    if (server->filter && in->opt->mode == CLI_MODE_SERVE)
        buf_printf(out,
                   "                   (!) its `%s` is gone with its entry: run `sallyport hide %s TOOL` for "
                   "the tools that nobody shall see\n",
                   server->filter, t->name);
}

void cli_init_show_found(const struct init *in, struct buf *out) {
    for (size_t i = 0; i < in->file_count; i++) {
        const struct init_file *f = &in->files[i];
        if (!f->file->bad && !f->file->count)
            continue;
        buf_printf(out, "%s  %s\n", f->file->client->title, f->file->path);
        if (f->file->bad)
            buf_printf(out, "  left alone: %s\n", f->file->err.text);
        for (size_t k = 0; !f->file->bad && k < f->file->count; k++)
            show_server(in, f, k, out);
        if (f->chosen && f->file->in_project)
            buf_put_str(out, "  (!) This file belongs to a project, and its new entries name files of this "
                             "machine: do not commit them.\n");
        buf_put_char(out, '\n');
    }
}

void cli_init_show_starts(const struct init *in, struct buf *out) {
    struct arena *a = (struct arena *)(uintptr_t)&in->arena;
    for (size_t i = 0; i < in->target_count; i++) {
        const struct init_target *t = &in->targets[i];
        if (!t->settings)
            continue;
        struct slice name = glyph_printable(slice_str(t->name), 48, a);
        struct slice what = glyph_printable(t->shown, SHOW_LINE_MAX, a);
        buf_printf(out, "  %-16.*s %.*s\n", SLICE_FMT(name), SLICE_FMT(what));
    }
}

/* ---- diffs ---- */

static void put_lines(struct slice text, const char *sign, struct buf *out) {
    while (text.len) {
        struct slice line;
        slice_cut(&text, '\n', &line);
        buf_printf(out, "%s%.*s\n", sign, SLICE_FMT(line));
    }
}

/* A line that contains a complete file is shortened around its change. */
static void put_around(struct slice before, struct slice after, struct buf *out) {
    size_t head = 0, tail = 0;
    while (head < before.len && head < after.len && before.ptr[head] == after.ptr[head])
        head++;
    while (tail < before.len - head && tail < after.len - head &&
           before.ptr[before.len - 1 - tail] == after.ptr[after.len - 1 - tail])
        tail++;
    head -= head < SHOW_AROUND ? head : SHOW_AROUND;
    tail -= tail < SHOW_AROUND ? tail : SHOW_AROUND;
    const struct slice both[] = {before, after};
    for (size_t i = 0; i < 2; i++) {
        struct slice part = slice_of(both[i].ptr + head, both[i].len - head - tail);
        buf_printf(out, "%s%s", i ? "+" : "-", head ? "…" : "");
        buf_put_slice(out, slice_trim(part));
        buf_put_str(out, tail ? "…\n" : "\n");
    }
}

static bool has_long_line(struct slice text) {
    while (text.len) {
        struct slice line;
        slice_cut(&text, '\n', &line);
        if (line.len > SHOW_LINE_MAX)
            return true;
    }
    return false;
}

static size_t line_start(struct slice text, size_t at) {
    while (at && text.ptr[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(struct slice text, size_t at) {
    if (at && at <= text.len && text.ptr[at - 1] == '\n')
        return at;
    const char *end = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    return end ? (size_t)(end - text.ptr) + 1 : text.len;
}

/* The edits as removed and added lines; adjacent edits on one line are merged. */
static void put_diff(const struct splice *s, struct buf *out) {
    for (uint32_t i = 0; i < s->count;) {
        size_t from = line_start(s->src, s->edits[i].start), to = line_end(s->src, s->edits[i].end),
               at = from;
        cleanup_buf struct buf now;
        buf_init(&now, SHOW_TEXT_MAX);
        do {
            buf_put(&now, s->src.ptr + at, s->edits[i].start - at);
            buf_put_slice(&now, s->edits[i].text);
            at = s->edits[i].end;
            to = line_end(s->src, at) > to ? line_end(s->src, at) : to;
            i++;
        } while (i < s->count && s->edits[i].start < to);
        buf_put(&now, s->src.ptr + at, to - at);
        size_t line = 1;
        for (size_t k = 0; k < from; k++)
            line += s->src.ptr[k] == '\n';
        struct slice before = slice_of(s->src.ptr + from, to - from);
        buf_printf(out, "@@ line %zu @@\n", line);
        /* A file of one line contains more than servers, perhaps keys of the client itself. */
        const bool entire_file = from == 0 && to == s->src.len;
        if (entire_file || has_long_line(before) || has_long_line(buf_slice(&now))) {
            put_around(before, buf_slice(&now), out);
        } else {
            put_lines(before, "-", out);
            put_lines(buf_slice(&now), "+", out);
        }
    }
}

/* ---- the changes ---- */

struct change {
    const char *path;
    bool created;
    struct buf diff;
};

typedef void change_fn(void *ctx, const char *path, bool created, struct slice diff);

static void each_policy(const struct init *in, change_fn *each, void *ctx) {
    for (size_t i = 0; i < in->target_count; i++) {
        const struct init_target *t = &in->targets[i];
        if (!cli_init_writes(in, t))
            continue;
        cleanup_buf struct buf text, diff;
        buf_init(&text, SHOW_TEXT_MAX);
        buf_init(&diff, SHOW_TEXT_MAX);
        cli_init_policy(in, t, &text);
        put_lines(buf_slice(&text), "+", &diff);
        each(ctx, t->policy, true, buf_slice(&diff));
    }
}

static int each_edit(const struct init *in, change_fn *each, void *ctx, struct err *err) {
    for (size_t i = 0; i < in->file_count; i++) {
        if (!in->files[i].chosen)
            continue;
        cleanup_arena struct arena a;
        cleanup_buf struct buf diff;
        arena_init(&a);
        buf_init(&diff, SHOW_TEXT_MAX);
        struct splice s = {.arena = &a};
        if (cli_init_edit(in, &in->files[i], true, "***", &s, err) < 0)
            return -1;
        put_diff(&s, &diff);
        each(ctx, in->files[i].file->path, false, buf_slice(&diff));
    }
    return 0;
}

static int each_change(const struct init *in, change_fn *each, void *ctx, struct err *err) {
    each_policy(in, each, ctx);
    if (cli_init_new_settings(in)) {
        cleanup_arena struct arena a;
        cleanup_buf struct buf diff;
        arena_init(&a);
        buf_init(&diff, SHOW_TEXT_MAX);
        struct splice s = {.arena = &a};
        if (!cli_init_settings(in, true, &s, err))
            return -1;
        if (in->own)
            put_diff(&s, &diff);
        else
            put_lines(s.edits[0].text, "+", &diff);
        each(ctx, in->yaml, !in->own, buf_slice(&diff));
    }
    struct stat there;
    if (cli_init_needs_through(in) && stat(in->through, &there) != 0) {
        cleanup_buf struct buf diff;
        buf_init(&diff, SHOW_TEXT_MAX);
        put_lines(slice_str(cli_init_through_text), "+", &diff);
        each(ctx, in->through, true, buf_slice(&diff));
    }
    return each_edit(in, each, ctx, err);
}

static void show_change(void *ctx, const char *path, bool created, struct slice diff) {
    struct buf *out = ctx;
    if (created)
        buf_printf(out, "+++ %s (new)\n", path);
    else
        buf_printf(out, "--- %s\n+++ %s\n", path, path);
    buf_put_slice(out, diff);
    buf_put_char(out, '\n');
}

static void show_path(void *ctx, const char *path, bool created, struct slice diff) {
    (void)diff;
    buf_printf(ctx, "  %s %s\n", created ? "new    " : "changed", path);
}

int cli_init_show_changes(const struct init *in, struct buf *out, struct err *err) {
    return each_change(in, show_change, out, err);
}

int cli_init_show_summary(const struct init *in, struct buf *out, struct err *err) {
    buf_put_str(out, "Files to write:\n");
    return each_change(in, show_path, out, err);
}

static bool sends_credentials(const struct settings_server *s) {
    for (size_t i = 0; i < s->headers.count; i++)
        if (slice_eq_nocase(slice_upto(slice_str(s->headers.items[i]), sizeof("authorization:") - 1),
                            SLICE("authorization:")))
            return true;
    return s->secrets != NULL;
}

/* A command that works when pasted. A URL with a credential is not shown: the settings have it under the
 * server's name. */
static void put_login(const struct init *in, const struct init_target *t, const char *url, struct buf *out) {
    struct arena *a = (struct arena *)(uintptr_t)&in->arena;
    struct slice shown = mask_url(slice_str(url), a);
    if (slice_is(shown, url) && !strchr(url, '\''))
        buf_printf(out, "sallyport login --url '%s'", url);
    else
        buf_printf(out, "sallyport login --config '%s' %s", in->yaml, t->name);
}

/* A client keeps its logins to servers to itself: the gate needs its own login. */
void cli_init_show_logins(const struct init *in, struct buf *out) {
    bool first = true;
    for (size_t i = 0; i < in->target_count; i++) {
        const struct init_target *t = &in->targets[i];
        const struct settings_server *s = t->settings ? &t->settings->servers[0] : NULL;
        if (!s || !s->url || sends_credentials(s) || t->survey)
            continue;
        const bool asks = t->asked && strstr(t->asked->err.text, "sallyport login");
        if (first)
            buf_put_str(out, "Servers that may want a sign-in (OAuth). The gate needs one of its own; run "
                             "once for each:\n");
        first = false;
        buf_printf(out, "  %-16s ", t->name);
        put_login(in, t, s->url, out);
        buf_put_str(out, asks ? "\n" : "   (if it asks for one)\n");
    }
    if (!first)
        buf_put_char(out, '\n');
}

/* ---- JSON ---- */

static void emit_server(const struct init *in, const struct init_file *f, size_t i, struct emit *e) {
    const struct cli_client_server *server = &f->file->servers[i];
    const struct init_target *t = f->found[i].target;
    (void)in;
    emit_object(e);
    emit_key(e, "name");
    emit_cstr(e, server->name);
    if (server->scope) {
        emit_key(e, "project");
        emit_cstr(e, server->scope);
    }
    emit_key(e, "behind_gate");
    emit_bool(e, server->wired);
    if (!t) {
        emit_key(e, "left_alone");
        emit_cstr(e, f->found[i].skip);
        emit_object_end(e);
        return;
    }
    emit_key(e, "as");
    emit_cstr(e, t->name);
    emit_key(e, "policy");
    emit_cstr(e, t->policy);
    if (t->survey) {
        emit_key(e, "source");
        emit_cstr(e, t->from_catalogue ? "catalogue" : "server");
        emit_key(e, "tools");
        emit_int(e, (int64_t)t->survey->count);
        emit_key(e, "risk");
        emit_object(e);
        for (int cls = RISK_READ; cls < RISK_CLASSES; cls++) {
            emit_key(e, risk_class_name((enum risk_class)cls));
            emit_int(e, (int64_t)t->survey->by_class[cls]);
        }
        emit_object_end(e);
        emit_key(e, "tokens");
        emit_int(e, (int64_t)t->survey->tokens);
    } else {
        emit_key(e, "error");
        emit_cstr(e, t->why.text[0] ? t->why.text : t->asked ? t->asked->err.text : "");
    }
    emit_object_end(e);
}

static void emit_change(void *ctx, const char *path, bool created, struct slice diff) {
    struct emit *e = ctx;
    emit_object(e);
    emit_key(e, "path");
    emit_cstr(e, path);
    emit_key(e, "created");
    emit_bool(e, created);
    emit_key(e, "diff");
    emit_str(e, diff);
    emit_object_end(e);
}

int cli_init_json(const struct init *in, bool applied, struct buf *out, struct err *err) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "mode");
    emit_cstr(&e, in->opt->mode == CLI_MODE_SERVE ? "serve" : "wrap");
    emit_key(&e, "files");
    emit_array(&e);
    for (size_t i = 0; i < in->file_count; i++) {
        const struct init_file *f = &in->files[i];
        emit_object(&e);
        emit_key(&e, "client");
        emit_cstr(&e, f->file->client->name);
        emit_key(&e, "path");
        emit_cstr(&e, f->file->path);
        if (f->file->bad) {
            emit_key(&e, "error");
            emit_cstr(&e, f->file->err.text);
        }
        emit_key(&e, "servers");
        emit_array(&e);
        for (size_t k = 0; !f->file->bad && k < f->file->count; k++)
            emit_server(in, f, k, &e);
        emit_array_end(&e);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    emit_key(&e, "changes");
    emit_array(&e);
    if (each_change(in, emit_change, &e, err) < 0)
        return -1;
    emit_array_end(&e);
    emit_key(&e, "applied");
    emit_bool(&e, applied);
    emit_object_end(&e);
    buf_put_char(out, '\n');
    return 0;
}
