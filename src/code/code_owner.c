#include "code/code_owner.h"

#include "base/mem.h"
#include "base/rand.h"
#include "code/code_job.h"
#include "code/code_session.h"
#include "code/journal.h"
#include "code/listing.h"
#include "code/skill.h"
#include "code/workspace.h"
#include "filter/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* Names that are valid directory names are used unchanged; all others, and names that look like a hash, are
 * hashed. */
static bool plain_name(struct slice id) {
    if (!id.len || id.len > 48 || slice_is(id, "shared") || slice_is(id, "packages") ||
        slice_starts(id, SLICE("h-")))
        return false;
    for (size_t i = 0; i < id.len; i++) {
        char c = id.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
              (i && strchr("-.:", c))))
            return false;
    }
    return true;
}

static void name_dir(struct code_owner *o) {
    struct arena a;
    arena_init(&a);
    if (plain_name(text_slice(o->id)))
        snprintf(o->dir, sizeof(o->dir), "%.*s", SLICE_FMT(o->id));
    else
        snprintf(o->dir, sizeof(o->dir), "h-%.*s", SLICE_FMT(skill_hash("SHA256", text_slice(o->id), &a)));
    arena_free(&a);
}

static int open_dirs(struct code_owner *o, struct err *err) {
    struct code_server *s = o->server;
    cleanup_fd int dir = -1;
    if (workspace_open(s->root_fd, o->dir, &dir, err) < 0 ||
        (!s->config.dir && workspace_open(dir, "workspace", &o->workspace_fd, err) < 0) ||
        workspace_open(dir, "skills", &o->skills_fd, err) < 0)
        return -1;
    if (s->config.dir) {
        o->workspace_fd = open(s->config.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (o->workspace_fd < 0 ||
            snprintf(o->path, sizeof(o->path), "%s", s->config.dir) >= (int)sizeof(o->path))
            return err_set(err, "open `%s`: %s", s->config.dir, strerror(errno));
        return 0;
    }
    int len = snprintf(o->path, sizeof(o->path), "%s/code/%s/workspace", s->config.home, o->dir);
    return len >= (int)sizeof(o->path) ? err_set(err, "the path of the workspace is too long") : 0;
}

struct code_owner *code_owner_get(struct code_server *s, struct slice principal, struct err *err) {
    struct code_owner *o = map_get(&s->owners, principal);
    if (o)
        return o;
    if (s->owners.count >= CODE_OWNERS_MAX || principal.len > CODE_PRINCIPAL_MAX) {
        err_set(err, "too many principals use the code server");
        return NULL;
    }
    o = mem_zalloc(sizeof(*o));
    o->server = s;
    o->workspace_fd = o->skills_fd = -1;
    o->id = text_dup(principal);
    list_init(&o->jobs);
    list_init(&o->sessions);
    list_init(&o->asks);
    list_init(&o->listing_waits);
    list_init(&o->journals);
    map_init(&o->shapes);
    arena_init(&o->shape_arena);
    name_dir(o);
    if (open_dirs(o, err) < 0) {
        code_owner_free(o);
        return NULL;
    }
    uint8_t key[32];
    rand_bytes(key, sizeof(key));
    o->vault = filter_memory_new();
    o->scope = filter_scope_new(s->pii, key, filter_memory_vault(o->vault));
    map_put(&s->owners, text_slice(o->id), o);
    return o;
}

void code_owner_free(struct code_owner *o) {
    code_jobs_free(o);
    code_sessions_free(o);
    listing_free(o->listing);
    journal_free_all(&o->journals);
    map_free(&o->shapes);
    arena_free(&o->shape_arena);
    filter_scope_free(o->scope);
    filter_memory_free(o->vault);
    if (o->workspace_fd >= 0)
        close(o->workspace_fd);
    if (o->skills_fd >= 0)
        close(o->skills_fd);
    text_free(&o->id);
    free(o);
}
