/* init --undo in a file that was edited since: only what init changed goes back.
 *
 *   wrap    each server whose entry is still what init wrote gets its old entry
 *   serve   the entry of the gate becomes the servers that it stood for
 *   YAML    the lines that init wrote become those that stood there */
#include "base/mem.h"
#include "cli/init.h"
#include "io/file.h"
#include "wire/canon.h"

#include <string.h>

static struct cli_client_file *file_like(const struct cli_client_file *like, struct slice text,
                                         struct err *err) {
    struct cli_client_file *f = cli_client_file_new(like->client, like->path, like->members, like->projects);
    if (buf_put_slice(&f->text, text) && cli_client_file_read(f, err) == 0)
        return f;
    cli_client_file_free(f);
    return NULL;
}

static const struct cli_client_server *server_named(const struct cli_client_file *f, const char *name,
                                                    const char *scope) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->servers[i].name, name) == 0 && slice_same_str(f->servers[i].scope, scope))
            return &f->servers[i];
    return NULL;
}

static const struct cli_client_server *server_like(const struct cli_client_file *f,
                                                   const struct cli_client_server *like) {
    return server_named(f, like->name, like->scope);
}

static bool is_toml(const struct cli_client_file *f) { return f->client->remote == CLI_REMOTE_TOML; }

/* The member with its key; in TOML the lines of its tables, which must be adjacent. */
static bool entry_span(const struct cli_client_file *f, const struct cli_client_server *s, uint32_t *ret_from,
                       uint32_t *ret_to) {
    if (!is_toml(f)) {
        *ret_from = jsonc_start(&f->json, s->key);
        *ret_to = jsonc_end(&f->json, s->key + 1);
        return true;
    }
    const struct toml *t = &f->toml;
    const struct slice path[] = {slice_str(f->members), slice_str(s->name)};
    size_t last = s->item;
    for (size_t i = s->item; i < t->count; i++) {
        if (!toml_below(&t->items[i], path, 2))
            continue;
        if (i > last + 1 || (i == s->item && t->items[i].inner))
            return false;
        last = i;
    }
    *ret_from = toml_line_start(t, t->items[s->item].start);
    *ret_to = *ret_from;
    for (size_t i = s->item; i <= last; i++)
        if (toml_line_end(t, t->items[i].end) > *ret_to)
            *ret_to = toml_line_end(t, t->items[i].end);
    return true;
}

static bool entry_of(const struct cli_client_file *f, const struct cli_client_server *s,
                     struct slice *ret_text) {
    uint32_t from, to;
    if (!entry_span(f, s, &from, &to))
        return false;
    *ret_text = slice_of(f->text.ptr + from, to - from);
    return true;
}

/* An editor may have reformatted a JSON file: only the content of the entry counts. */
static bool same_entry(const struct cli_client_file *f, const struct cli_client_server *s,
                       const struct cli_client_file *g, const struct cli_client_server *r, struct arena *a) {
    struct slice one, other;
    if (!entry_of(f, s, &one) || !entry_of(g, r, &other))
        return false;
    if (slice_eq(one, other) || is_toml(f))
        return slice_eq(one, other);
    cleanup_buf struct buf mine, yours;
    buf_init(&mine, f->text.max);
    buf_init(&yours, f->text.max);
    return canon_write(&f->json.tape, s->key + 1, a, &mine) &&
           canon_write(&g->json.tape, r->key + 1, a, &yours) && slice_eq(buf_slice(&mine), buf_slice(&yours));
}

struct undo {
    const struct cli_client_file *now, *before, *after;
    struct splice *s;
    struct buf *out;
};

static bool replace_entry(const struct undo *u, const struct cli_client_server *is, struct slice text) {
    uint32_t from, to;
    return entry_span(u->now, is, &from, &to) && splice_replace(u->s, from, to, arena_dup(u->s->arena, text));
}

static void print_change(const struct undo *u, const char *what, const char *name, const char *why) {
    buf_printf(u->out, "%-9s server %s in %s%s\n", what, name, u->now->path, why);
}

/* Restores an entry that init changed in place. */
static bool put_back(const struct undo *u, const struct cli_client_server *was,
                     const struct cli_client_server *wrote) {
    const struct cli_client_server *is = server_like(u->now, was);
    struct slice old;
    if (!entry_of(u->before, was, &old))
        return false;
    if (!is || same_entry(u->before, was, u->after, wrote, u->s->arena))
        return true;
    if (same_entry(u->now, is, u->after, wrote, u->s->arena)) {
        print_change(u, "restored", was->name, "");
        return replace_entry(u, is, old);
    }
    if (is->wired)
        return false;
    print_change(u, "kept", was->name, ": you have changed it");
    return true;
}

static void put_between(const struct undo *u, const struct cli_client_server *gate, struct buf *text) {
    struct slice indent;
    if (!text->len)
        return;
    if (is_toml(u->now)) {
        buf_put_char(text, '\n');
    } else if (jsonc_indent(&u->now->json, gate->key, &indent)) {
        buf_put_str(text, ",\n");
        buf_put_slice(text, indent);
    } else {
        buf_put_str(text, ", ");
    }
}

/* Restores the servers of one place that init removed: they replace the gate's entry, unless they exist
 * again. */
static bool unfold(const struct undo *u, const struct cli_client_server *wrote) {
    const struct cli_client_server *is = server_like(u->now, wrote);
    struct slice old;
    cleanup_buf struct buf text;
    buf_init(&text, u->now->text.max);
    if (!is || !same_entry(u->now, is, u->after, wrote, u->s->arena))
        return false;
    for (size_t i = 0; i < u->before->count; i++) {
        const struct cli_client_server *was = &u->before->servers[i];
        const bool gate = strcmp(was->name, CLI_GATE_NAME) == 0;
        if (!slice_same_str(was->scope, wrote->scope) || (!gate && server_like(u->after, was)))
            continue;
        if (!gate && server_like(u->now, was)) {
            print_change(u, "kept", was->name, ": you have added it");
            continue;
        }
        if (!entry_of(u->before, was, &old))
            return false;
        put_between(u, is, &text);
        buf_put_slice(&text, old);
        print_change(u, "restored", was->name, "");
    }
    if (text.len)
        return !text.full && replace_entry(u, is, buf_slice(&text));
    return is_toml(u->now) ? replace_entry(u, is, (struct slice){0})
                           : jsonc_drop_members(&u->now->json, u->s, is->obj, &is->key, 1);
}

/* False when an entry of init is missing or was edited: then only the complete file can be restored. */
static bool undo_servers(const struct undo *u) {
    for (size_t i = 0; i < u->before->count; i++) {
        const struct cli_client_server *was = &u->before->servers[i], *wrote = server_like(u->after, was);
        if (!wrote && !server_named(u->after, CLI_GATE_NAME, was->scope))
            return false;
        if (wrote && strcmp(was->name, CLI_GATE_NAME) != 0 && !put_back(u, was, wrote))
            return false;
    }
    for (size_t i = 0; i < u->after->count; i++) {
        const struct cli_client_server *wrote = &u->after->servers[i];
        const struct cli_client_server *was = server_like(u->before, wrote);
        if (strcmp(wrote->name, CLI_GATE_NAME) == 0 &&
            !(was && same_entry(u->before, was, u->after, wrote, u->s->arena)) && !unfold(u, wrote))
            return false;
    }
    return true;
}

/* Complete lines: init wrote them in one place, and they are still there. */
static bool undo_lines(const char *path, struct slice before, struct slice after, struct buf *out,
                       struct buf *ret_text) {
    size_t head = 0, tail = 0, line = 0;
    const size_t shorter = before.len < after.len ? before.len : after.len;
    while (head < shorter && before.ptr[head] == after.ptr[head])
        if (before.ptr[head++] == '\n')
            line = head;
    head = line;
    while (tail < shorter - head && before.ptr[before.len - tail - 1] == after.ptr[after.len - tail - 1])
        tail++;
    while (tail && after.ptr[after.len - tail - 1] != '\n')
        tail--;
    struct slice wrote = slice_of(after.ptr + head, after.len - tail - head);
    struct err ignored;
    cleanup_buf struct buf now;
    buf_init(&now, ret_text->max);
    if (!wrote.len || io_file_read(path, &now, NULL, &ignored) < 0)
        return false;
    const char *at = memmem(now.ptr, now.len, wrote.ptr, wrote.len);
    if (!at || (at > now.ptr && at[-1] != '\n') ||
        memmem(at + 1, now.len - (size_t)(at - now.ptr) - 1, wrote.ptr, wrote.len))
        return false;
    buf_put(ret_text, now.ptr, (size_t)(at - now.ptr));
    buf_put(ret_text, before.ptr + head, before.len - tail - head);
    buf_put_slice(ret_text, slice_from(buf_slice(&now), (size_t)(at - now.ptr) + wrote.len));
    buf_printf(out, "restored  the lines of init in %s\n", path);
    return !ret_text->full;
}

bool cli_init_undo_entries(const char *path, struct slice before, struct slice after, struct buf *out,
                           struct buf *ret_text) {
    cleanup_clients struct cli_clients all = {0};
    cleanup_arena struct arena a;
    struct err ignored;
    arena_init(&a);
    if (slice_ends(slice_str(path), SLICE(".yaml")))
        return undo_lines(path, before, after, out, ret_text);
    if (cli_clients_add(&all, NULL, path, &ignored) < 0)
        return false;
    const struct cli_client_file *now = all.files[0];
    struct cli_client_file *old = file_like(now, before, &ignored), *new = file_like(now, after, &ignored);
    cleanup_buf struct buf report;
    struct splice s;
    buf_init(&report, ret_text->max);
    splice_init(&s, buf_slice(&now->text), &a);
    const bool fine =
        old &&
        new &&undo_servers(&(struct undo){.now = now, .before = old, .after = new, .s = &s, .out = &report});
    if (fine) {
        splice_write(&s, ret_text);
        buf_put_slice(out, buf_slice(&report));
    }
    cli_client_file_free(old);
    cli_client_file_free(new);
    return fine && !ret_text->full;
}
