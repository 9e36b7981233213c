#include "front/policies.h"

#include "audit/audit.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/core.h"
#include "io/file.h"
#include "io/watch.h"
#include "policy/limits.h"

#include <string.h>

struct policy_file {
    struct list node;
    struct front_policies *all;
    struct policy *policy;
    struct list places;
    struct io_watch watch;
    char *fault;       /* why the file's content is not in force, or NULL */
    uint64_t revision; /* number of reloads */
    char path[];
};

struct front_policies {
    struct io_loop *loop;
    struct audit *audit;
    struct list files;
    void (*replaced)(void *ctx, struct slice hash);
    void *ctx;
};

/* Logs all errors; returns the first one. */
static int policy_faults(const char *path, const struct policy_problems *problems, struct err *err) {
    const struct policy_problem *first = NULL;
    size_t errors = 0;
    for (size_t i = 0; i < problems->count; i++) {
        const struct policy_problem *p = &problems->items[i];
        if (p->severity != POLICY_ERROR)
            continue;
        first = errors++ ? first : p;
        log_error("%s:%u:%u: %.*s%s%.*s", path, p->line, p->column, SLICE_FMT(p->text),
                  p->hint.len ? "; " : "", SLICE_FMT(p->hint));
    }
    if (!first)
        return err_set(err, "load policy `%s`", path);
    return err_set(err, "load policy `%s`: %zu error(s), the first at %u:%u: %.*s", path, errors, first->line,
                   first->column, SLICE_FMT(first->text));
}

int front_policy_load(const char *path, struct policy **ret_policy, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, POLICY_BYTES_MAX);
    if (io_file_read(path, &text, NULL, err) < 0)
        return err_wrap(err, "load policy");
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    /* Agents see the name in denials, so it does not include the directory. */
    const char *slash = strrchr(path, '/');
    int rc = policy_load(buf_slice(&text), slash ? slash + 1 : path, ret_policy, &problems);
    for (size_t i = 0; rc == 0 && i < problems.count; i++)
        log_warn("policy `%s`: %.*s", path, SLICE_FMT(problems.items[i].text));
    return rc < 0 ? policy_faults(path, &problems, err) : 0;
}

struct front_policies *front_policies_new(struct io_loop *loop) {
    struct front_policies *ps = mem_zalloc(sizeof(*ps));
    ps->loop = loop;
    list_init(&ps->files);
    return ps;
}

void front_policies_set_audit(struct front_policies *ps, struct audit *audit) { ps->audit = audit; }

void front_policies_on_replaced(struct front_policies *ps, void (*replaced)(void *ctx, struct slice hash),
                                void *ctx) {
    ps->replaced = replaced;
    ps->ctx = ctx;
}

static void file_free(struct policy_file *f) {
    io_watch_stop(&f->watch);
    struct list *n;
    while ((n = list_pop(&f->places)))
        container_of(n, struct front_policy_place, node)->file = NULL;
    list_remove(&f->node);
    policy_unref(f->policy);
    free(f->fault);
    free(f);
}

void front_policies_free(struct front_policies *ps) {
    if (!ps)
        return;
    while (!list_empty(&ps->files))
        file_free(container_of(ps->files.next, struct policy_file, node));
    free(ps);
}

static void on_changed(struct io_watch *w) {
    struct policy_file *f = container_of(w, struct policy_file, watch);
    struct policy *fresh = NULL;
    struct err err;
    if (front_policy_load(f->path, &fresh, &err) < 0) {
        free(f->fault);
        f->fault = mem_dup(err.text, strlen(err.text));
        log_error("%s; the old policy stays in force", err.text);
        if (f->all->audit)
            audit_put_event(f->all->audit, SLICE("reload_failed"), slice_str(f->path), (struct slice){0},
                            slice_str(err.text));
        return;
    }
    if (!f->fault && strcmp(policy_hash(fresh), policy_hash(f->policy)) == 0) {
        policy_unref(fresh);
        return;
    }
    free(f->fault);
    f->fault = NULL;
    policy_set_revision(fresh, ++f->revision);
    struct policy *old = f->policy;
    f->policy = fresh;
    LIST_FOR (n, &f->places) {
        struct front_policy_place *place = container_of(n, struct front_policy_place, node);
        policy_unref(*place->at);
        *place->at = policy_ref(fresh);
    }
    if (f->all->replaced && strcmp(policy_hash(old), policy_hash(fresh)) != 0)
        f->all->replaced(f->all->ctx, slice_str(policy_hash(old)));
    policy_unref(old);
    log_info("policy reloaded successfully");
    const struct audit_action reload = {.name = SLICE("reload"),
                                        .policy = slice_str(f->path),
                                        .policy_hash = slice_of(policy_hash(fresh), 64),
                                        .policy_version = policy_version(fresh)};
    if (f->all->audit)
        audit_put_action(f->all->audit, &reload);
}

void front_policies_reload(struct front_policies *ps) {
    LIST_FOR (n, &ps->files) {
        struct policy_file *f = container_of(n, struct policy_file, node);
        io_watch_seen(&f->watch);
        on_changed(&f->watch);
    }
}

void front_policies_each(struct front_policies *ps, void (*each)(void *ctx, const struct core_policy *one),
                         void *ctx) {
    LIST_FOR (n, &ps->files) {
        const struct policy_file *f = container_of(n, struct policy_file, node);
        each(ctx, &(struct core_policy){f->path, f->policy, f->fault});
    }
}

void front_policies_check(struct front_policies *ps, const char *path) {
    LIST_FOR (n, &ps->files) {
        struct policy_file *f = container_of(n, struct policy_file, node);
        if (strcmp(f->path, path) != 0)
            continue;
        io_watch_seen(&f->watch);
        on_changed(&f->watch);
        return;
    }
}

static struct policy_file *file_get(struct front_policies *ps, const char *path, struct err *err) {
    LIST_FOR (n, &ps->files) {
        struct policy_file *f = container_of(n, struct policy_file, node);
        if (strcmp(f->path, path) == 0)
            return f;
    }
    struct policy *policy;
    if (front_policy_load(path, &policy, err) < 0)
        return NULL;
    size_t size = strlen(path) + 1;
    struct policy_file *f = mem_zalloc(sizeof(*f) + size);
    memcpy(f->path, path, size);
    f->all = ps;
    f->policy = policy;
    list_init(&f->places);
    list_push(&ps->files, &f->node);
    io_watch_start(&f->watch, ps->loop, f->path, on_changed);
    f->watch.gone = on_changed;
    return f;
}

int front_policies_bind(struct front_policies *ps, const char *path, struct policy **at,
                        struct front_policy_place *place, struct err *err) {
    struct policy_file *f = file_get(ps, path, err);
    if (!f)
        return -1;
    *at = policy_ref(f->policy);
    place->at = at;
    place->file = f;
    list_push(&f->places, &place->node);
    return 0;
}

void front_policies_unbind(struct front_policy_place *place) {
    struct policy_file *f = place->file;
    if (!f)
        return;
    list_remove(&place->node);
    place->file = NULL;
    if (list_empty(&f->places))
        file_free(f);
}
