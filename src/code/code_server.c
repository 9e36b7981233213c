/* The life cycle of the server and of its connections, and the dispatch of messages. */
#include "base/check.h"
#include "base/mem.h"
#include "code/code_job.h"
#include "code/code_log.h"
#include "code/code_method.h"
#include "code/code_owner.h"
#include "code/code_reply.h"
#include "code/code_req.h"
#include "code/outgoing.h"
#include "code/package.h"
#include "code/package_install.h"
#include "code/prelude.h"
#include "egress/egress.h"
#include "filter/engine.h"
#include "policy/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- life cycle ---- */

static void on_ready(void *owner) {
    struct code_server *s = owner;
    s->ready = true;
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&s->parked)))
        list_push(&due, n);
    while ((n = list_pop(&due)))
        code_method_run(container_of(n, struct code_req, wait));
}

static int make_dirs(const char *path, struct err *err) {
    char text[CODE_OWNER_PATH_MAX];
    if (snprintf(text, sizeof(text), "%s", path) >= (int)sizeof(text))
        return err_set(err, "`%s` is too long", path);
    for (char *at = text + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        if (mkdir(text, 0700) < 0 && errno != EEXIST)
            return err_set(err, "make directory `%s`: %s", text, strerror(errno));
        *at = '/';
    }
    return mkdir(text, 0700) < 0 && errno != EEXIST
               ? err_set(err, "make directory `%s`: %s", text, strerror(errno))
               : 0;
}

static int open_root(struct code_server *s, struct err *err) {
    char path[CODE_OWNER_PATH_MAX];
    snprintf(path, sizeof(path), "%s/code", s->config.home);
    if (make_dirs(path, err) < 0)
        return -1;
    s->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root_fd < 0)
        return err_set(err, "open `%s`: %s", path, strerror(errno));
    /* Created by the operator if there are shared skills. */
    s->shared_skills_fd =
        openat(s->root_fd, "shared/skills", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return 0;
}

int code_server_open(const struct code_config *config, struct code_server **ret_server, struct err *err) {
    struct code_server *s = mem_zalloc(sizeof(*s));
    s->config = *config;
    s->root_fd = s->shared_skills_fd = -1;
    s->face = config->face;
    s->package_tool = &package_install_tool;
    s->schemas = mem_zalloc(s->face->tool_count * sizeof(*s->schemas));
    if (!s->config.wait_ms)
        s->config.wait_ms = CODE_WAIT_MS;
    map_init(&s->owners);
    list_init(&s->conns);
    list_init(&s->parked);
    list_init(&s->listings);
    if (outgoing_open(s, err) < 0 || open_root(s, err) < 0 || pii_engine_new(NULL, 0, &s->pii, err) < 0) {
        code_server_close(s);
        return -1;
    }
    *ret_server = s;
    return 0;
}

/* At the first conn: a gate whose clients never run code starts no helper. */
static void sandbox_start_once(struct code_server *s) {
    if (s->sandbox || s->ready)
        return;
    struct sandbox_prelude preludes[CODE_PRELUDES];
    code_preludes(preludes);
    struct sandbox_config sandbox = {
        .uids = s->config.uids,
        .min_tier = s->config.min_tier,
        .ceiling = s->config.ceiling,
        .share_ceiling = s->config.grant_ceiling,
        .memory_mb_max = s->config.memory_mb_max,
        .timeout_ms_max = s->config.timeout_ms_max,
        .profile = SANDBOX_FILES,
        .packages = package_dir(s),
        .preludes = preludes,
        .prelude_count = CODE_PRELUDES,
    };
    struct err why;
    outgoing_configure(s, &sandbox);
    if (sandbox_open(s->config.loop, s->config.spawn, &sandbox, on_ready, s, &s->sandbox, &why) < 0) {
        snprintf(s->sandbox_fault, sizeof(s->sandbox_fault), "%s", why.text);
        s->ready = true; /* without it the tools that run code are not offered */
    }
}

void code_server_close(struct code_server *s) {
    if (!s)
        return;
    package_install_stop(s);
    if (s->sandbox)
        sandbox_close(s->sandbox);
    size_t at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&s->owners, &at)))
        code_owner_free(entry->value);
    map_free(&s->owners);
    for (size_t i = 0; i < s->face->tool_count; i++)
        policy_schema_free(s->schemas[i]);
    free(s->schemas);
    pii_engine_free(s->pii);
    egress_close(s->egress);
    if (s->root_fd >= 0)
        close(s->root_fd);
    if (s->shared_skills_fd >= 0)
        close(s->shared_skills_fd);
    free(s);
}

struct code_conn *code_conn_new(struct code_server *s, const struct code_conn_ops *ops, void *owner,
                                struct slice principal) {
    struct code_conn *c = mem_zalloc(sizeof(*c));
    *c = (struct code_conn){.magic = CODE_CONN_MAGIC, .server = s, .ops = ops, .owner = owner};
    c->principal = text_dup(principal);
    list_init(&c->reqs);
    list_init(&c->jobs);
    list_push(&s->conns, &c->node);
    sandbox_start_once(s);
    return c;
}

void code_conn_close(struct code_conn *c) {
    CHECK_MAGIC(c, CODE_CONN_MAGIC);
    LIST_FOR_SAFE (n, next, &c->reqs) {
        struct code_req *r = container_of(n, struct code_req, node);
        code_job_leave(r, false);
        code_req_free(r);
    }
    code_jobs_detach(c);
    list_remove(&c->node);
    text_free(&c->principal);
    c->magic = 0;
    free(c);
}

/* ---- requests ---- */

static void cancel_request(struct code_conn *c, const struct code_req *note) {
    uint32_t params = note->rpc.params;
    uint32_t node = params ? tape_get_str(&note->tape, params, "requestId") : 0;
    if (!node)
        return;
    LIST_FOR_SAFE (n, next, &c->reqs) {
        struct code_req *r = container_of(n, struct code_req, node);
        if (r != note && r->id.len && slice_eq(r->id, tape_raw(&note->tape, node))) {
            code_job_leave(r, true);
            code_req_free(r);
            return;
        }
    }
}

static void read_params(struct code_req *r) {
    uint32_t params = r->rpc.params;
    if (!params)
        return;
    const struct tape *t = &r->tape;
    uint32_t token = tape_path(t, params, "_meta", "progressToken", NULL);
    if (token)
        r->token = tape_raw(t, token);
    uint32_t version = tape_path(t, params, "_meta", "io.modelcontextprotocol/protocolVersion", NULL);
    r->modern = version != 0;
    uint32_t level = tape_path(t, params, "_meta", "io.modelcontextprotocol/logLevel", NULL);
    if (r->modern && level && tape_is(t, level, TAPE_STRING))
        r->log_rank = code_log_rank(tape_text(t, level, &r->arena));
    r->takes_tasks = tape_path(t, params, "_meta", "io.modelcontextprotocol/clientCapabilities", "extensions",
                               "io.modelcontextprotocol/tasks", NULL) != 0;
    uint32_t task = tape_get_str(t, params, "task");
    r->wants_task = !r->modern && task && tape_is(t, task, TAPE_OBJECT);
}

void code_conn_receive(struct code_conn *c, struct slice bytes, bool inner, uint64_t record) {
    CHECK_MAGIC(c, CODE_CONN_MAGIC);
    struct code_req *r = code_req_new(c, bytes);
    const char *why;
    /* The gate has already parsed it and forwards only well-formed messages. */
    if (tape_parse(&r->tape, text_slice(r->bytes), NULL) != TAPE_OK ||
        rpc_read(&r->tape, &r->rpc, &why) != 0) {
        code_req_free(r);
        return;
    }
    r->inner = inner;
    r->record = record;
    if (r->rpc.kind == RPC_REQUEST || r->rpc.kind == RPC_NOTIFICATION)
        r->method = tape_text(&r->tape, r->rpc.method, &r->arena);
    if (r->rpc.kind != RPC_REQUEST) {
        if (slice_is(r->method, "notifications/cancelled"))
            cancel_request(c, r);
        code_req_free(r);
        return;
    }
    int64_t id;
    r->id = tape_raw(&r->tape, r->rpc.id);
    if (tape_int(&r->tape, r->rpc.id, &id) && id > 0)
        r->about = (uint64_t)id;
    read_params(r);
    struct err err;
    r->owner = code_owner_get(c->server, text_slice(c->principal), &err);
    if (!r->owner)
        code_reply_error(r, RPC_INTERNAL, err.text);
    else if (c->req_count > CODE_REQUESTS_MAX)
        code_reply_error(r, RPC_INTERNAL, "too many requests under way");
    else
        code_method_run(r);
}

bool code_server_stats(const struct code_server *s, struct sandbox_stats *ret_stats) {
    if (s->sandbox)
        sandbox_stats(s->sandbox, ret_stats);
    return s->sandbox != NULL;
}

void code_server_list_jobs(struct code_server *s, bool (*takes)(void *ctx, struct slice id), void *ctx,
                           struct emit *e) {
    size_t at = 0;
    for (struct map_entry *entry; (entry = map_next(&s->owners, &at));) {
        const struct code_owner *o = entry->value;
        LIST_FOR (n, &o->jobs) {
            const struct code_job *j = container_of(n, struct code_job, node);
            if (takes(ctx, slice_str(j->id)))
                code_job_write(j, false, e);
        }
    }
}

bool code_server_write_job(struct code_server *s, struct slice id, struct emit *e) {
    size_t at = 0;
    for (struct map_entry *entry; (entry = map_next(&s->owners, &at));) {
        const struct code_owner *o = entry->value;
        LIST_FOR (n, &o->jobs) {
            const struct code_job *j = container_of(n, struct code_job, node);
            if (!slice_is(id, j->id))
                continue;
            code_job_write(j, true, e);
            return true;
        }
    }
    return false;
}

void code_server_write_packages(struct code_server *s, struct emit *e) {
    emit_object(e);
    emit_key(e, "installed");
    emit_array(e);
    package_write_installed(s, e);
    emit_array_end(e);
    emit_key(e, "allowed");
    emit_array(e);
    package_write_allowed(s, e);
    emit_array_end(e);
    emit_object_end(e);
}

bool code_server_leads(const struct code_server *s, struct slice name) {
    bool any = false;
    for (size_t i = 0; i < s->face->tool_count; i++) {
        if (s->face->tools[i].leads && slice_is(name, s->face->tools[i].name))
            return true;
        any |= s->face->tools[i].leads;
    }
    return !any;
}
