/* init --undo in a client's file that was edited since: only the servers that init changed go back. */
#include "base/mem.h"
#include "cli/init.h"

#include <string.h>

static struct cli_client_file *file_like(const struct cli_client_file *like, struct slice text,
                                         struct err *err) {
    struct cli_client_file *f = cli_client_file_new(like->client, like->path, like->members, like->projects);
    if (buf_put_slice(&f->text, text) && cli_client_file_read(f, err) == 0)
        return f;
    cli_client_file_free(f);
    return NULL;
}

static const struct cli_client_server *server_like(const struct cli_client_file *f,
                                                   const struct cli_client_server *like) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->servers[i].name, like->name) == 0 && slice_same_str(f->servers[i].scope, like->scope))
            return &f->servers[i];
    return NULL;
}

static struct slice entry_of(const struct cli_client_file *f, const struct cli_client_server *s) {
    uint32_t from = jsonc_start(&f->json, s->key + 1), to = jsonc_end(&f->json, s->key + 1);
    return slice_of(f->text.ptr + from, to - from);
}

/* False when an entry of init is gone under its name: then the file has to go back as a whole. */
static bool put_back(const struct cli_client_file *now, const struct cli_client_file *before,
                     const struct cli_client_file *after, struct splice *s, struct buf *out) {
    for (size_t i = 0; i < before->count; i++) {
        const struct cli_client_server *was = &before->servers[i], *wrote = server_like(after, was),
                                       *is = server_like(now, was);
        if (!wrote)
            return false; /* serve: one member stands for many */
        struct slice old = entry_of(before, was), new = entry_of(after, wrote);
        if (slice_eq(old, new) || !is)
            continue;
        if (slice_eq(entry_of(now, is), new)) {
            splice_replace(s, jsonc_start(&now->json, is->key + 1), jsonc_end(&now->json, is->key + 1),
                           arena_dup(s->arena, old));
            buf_printf(out, "restored  server %s in %s\n", was->name, now->path);
        } else if (is->wired) {
            return false;
        } else {
            buf_printf(out, "kept      server %s in %s: you have changed it\n", was->name, now->path);
        }
    }
    return true;
}

bool cli_init_undo_entries(const char *path, struct slice before, struct slice after, struct buf *out,
                           struct buf *ret_text) {
    cleanup_clients struct cli_clients all = {0};
    cleanup_arena struct arena a;
    struct err ignored;
    arena_init(&a);
    if (cli_clients_add(&all, NULL, path, &ignored) < 0 || all.files[0]->client->remote == CLI_REMOTE_TOML)
        return false;
    const struct cli_client_file *now = all.files[0];
    struct cli_client_file *old = file_like(now, before, &ignored), *new = file_like(now, after, &ignored);
    cleanup_buf struct buf said;
    struct splice s;
    buf_init(&said, ret_text->max);
    splice_init(&s, buf_slice(&now->text), &a);
    const bool fine = old && new &&put_back(now, old, new, &s, &said);
    if (fine) {
        splice_write(&s, ret_text);
        buf_put_slice(out, buf_slice(&said));
    }
    cli_client_file_free(old);
    cli_client_file_free(new);
    return fine && !ret_text->full;
}
