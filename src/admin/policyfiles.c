/* Policy files: reading, writing, history, and edits that keep comments. */
#include "admin/api.h"
#include "audit/audit.h"
#include "base/mem.h"
#include "base/sha.h"
#include "call/principal.h"
#include "io/file.h"
#include "policy/board.h"
#include "policy/limits.h"
#include "policy/policy.h"
#include "server/server.h"
#include "state/versions.h"
#include "wire/tree_edit.h"
#include "wire/tree_parse.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* A file in use, by the id in the path of the request. */
struct policy_file {
    const char *id;
    const char *path; /* owned by the core; valid until the policies change */
    struct policy *policy;
};

void api_policy_id(const char *path, char ret_id[API_POLICY_ID]) {
    char hex[SHA_HEX];
    sha_256_hex(slice_str(path), hex);
    memcpy(ret_id, hex, API_POLICY_ID - 1);
    ret_id[API_POLICY_ID - 1] = '\0';
}

static void match_file(void *ctx, const struct core_policy *one) {
    struct policy_file *f = ctx;
    char id[API_POLICY_ID];
    api_policy_id(one->path, id);
    if (strcmp(id, f->id) != 0)
        return;
    f->path = one->path;
    f->policy = one->policy;
}

/* Responds with an error and returns false if there is none. The path is allocated in the arena. */
static bool find_file(struct api_call *c, struct policy_file *ret) {
    const struct core_files *files = &c->admin->core->files;
    *ret = (struct policy_file){.id = c->arg.ptr};
    if (files->each_policy)
        files->each_policy(files->owner, match_file, ret);
    if (!ret->path)
        return api_error(c, 404, "no policy file with this id is in use"), false;
    ret->path = arena_dup(&c->arena, slice_str(ret->path)).ptr;
    return true;
}

/* The file's text, in the arena. */
static int load_text(const char *path, struct arena *a, struct slice *ret_text, char ret_hash[SHA_HEX + 1],
                     struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, POLICY_BYTES_MAX);
    if (io_file_read(path, &text, NULL, err) < 0)
        return -1;
    *ret_text = arena_dup(a, buf_slice(&text));
    sha_256_hex(*ret_text, ret_hash);
    ret_hash[SHA_HEX] = '\0';
    return 0;
}

/* Responds with an error and returns false if it cannot be read. */
static bool read_text(struct api_call *c, const char *path, struct slice *ret_text,
                      char ret_hash[SHA_HEX + 1]) {
    struct err err = {0};
    if (load_text(path, &c->arena, ret_text, ret_hash, &err) < 0)
        return api_error(c, 503, "%s", err.text), false;
    return true;
}

static void put_text(struct emit *e, const char *key, struct slice text) {
    emit_key(e, key);
    emit_str(e, text);
}

/* The parsed text, unless it is not a mapping. */
static void put_tree(struct api_call *c, struct slice text) {
    const struct tree *root = NULL;
    if (tree_parse(text, &c->arena, &root, NULL) < 0 || root->type != TREE_MAP)
        return;
    emit_key(&c->e, "policy");
    tree_json(root, &c->e);
}

static void put_file(struct api_call *c, const struct policy_file *f, struct slice text, const char *hash) {
    const struct core *core = c->admin->core;
    const char *slash = strrchr(f->path, '/');
    struct emit *e = &c->e;
    emit_object(e);
    put_text(e, "id", c->arg);
    put_text(e, "name", slice_str(slash ? slash + 1 : f->path));
    put_text(e, "path", slice_str(f->path));
    put_text(e, "hash", slice_str(hash));
    put_text(e, "text", text);
    put_tree(c, text);
    emit_key(e, "is_default");
    emit_bool(e, core->policy == f->policy);
    emit_key(e, "servers");
    emit_array(e);
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i] && core->servers[i]->policy == f->policy)
            emit_cstr(e, core->servers[i]->up.name);
    emit_array_end(e);
    emit_object_end(e);
    c->more = arena_printf(&c->arena, "ETag: \"%s\"\r\n", hash);
}

void api_policy(struct api_call *c) {
    struct policy_file f;
    struct slice text;
    char hash[SHA_HEX + 1];
    if (!find_file(c, &f) || !read_text(c, f.path, &text, hash))
        return;
    put_file(c, &f, text, hash);
    api_answer(c, 200);
}

/* ---- writing ---- */

/* A text to be written to a file. */
struct writing {
    const char *path;
    struct slice text, note, by;
    struct slice match; /* If-Match; empty: any */
    uint64_t version;   /* the version to restore; 0: the text is given */
    char hash[SHA_HEX];
};

static int check_text(struct slice text, struct err *err) {
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *p = NULL;
    policy_problems_init(&problems);
    if (policy_load(text, "policy", &p, &problems) == 0)
        return 0;
    const struct policy_problem *first = &problems.items[0];
    return err_set(err, "line %u: %.*s", first->line, SLICE_FMT(first->text));
}

/* Resolves a link: replacing the link itself would leave the file unchanged. */
static const char *real_path(struct arena *a, const char *path) {
    cleanup_free char *real = realpath(path, NULL);
    return real ? arena_dup(a, slice_str(real)).ptr : path;
}

/* Writes only if the file still has the text that the writer has seen. */
static bool may_replace(struct api_call *c, const struct writing *w, const char *hash) {
    if (!w->match.len || slice_is(w->match, "*") ||
        slice_is(w->match, arena_printf(&c->arena, "\"%s\"", hash).ptr))
        return true;
    err_set(&c->err, "the policy was changed by someone else in the meantime");
    return !api_store_failed(c, 412, true);
}

/* 0, or -1 with the call failed. */
static int find_version(struct api_call *c, struct state_versions *versions, struct writing *w) {
    int rc = state_versions_get(versions, slice_str(w->path), w->version, &c->arena, &w->text, &c->err);
    if (rc == 0)
        err_set(&c->err, "no such version");
    if (api_store_failed(c, rc < 0 ? 503 : 404, rc <= 0) ||
        api_store_failed(c, 422, check_text(w->text, &c->err) < 0))
        return -1;
    return 0;
}

/* The text is valid. It and the previous text are both kept as versions. */
static void run_write(struct api_call *c) {
    struct writing *w = c->what;
    struct slice path = slice_str(w->path), before;
    struct state_versions *versions = api_store_versions(c);
    uint64_t now_ms = c->now_ms;
    char hash[SHA_HEX + 1];
    if (!versions || (w->version && find_version(c, versions, w) < 0))
        return;
    cleanup_fd int guard = io_file_guard(w->path);
    if (guard < 0)
        err_set(&c->err, "the policy's directory cannot be locked");
    if (api_store_failed(c, 503, guard < 0 || load_text(w->path, &c->arena, &before, hash, &c->err) < 0) ||
        !may_replace(c, w, hash))
        return;
    bool failed = state_versions_add(versions, path, before, SLICE("before the console"), (struct slice){0},
                                     now_ms, &c->err) < 0 ||
                  io_file_replace(real_path(&c->arena, w->path), w->text, 0600, &c->err) < 0 ||
                  state_versions_add(versions, path, w->text, w->by, w->note, now_ms, &c->err) < 0;
    api_store_failed(c, 503, failed);
    sha_256_hex(w->text, w->hash);
}

/* It is in force when the response is sent. */
static void on_written(struct api_call *c) {
    const struct writing *w = c->what;
    struct core *core = c->admin->core;
    api_record(c, (struct audit_action){.name = SLICE("policy_saved"),
                                        .policy = slice_str(w->path),
                                        .policy_hash = slice_of(w->hash, SHA_HEX),
                                        .text = w->note});
    if (!c->admin->closing)
        core->files.policy_written(core->files.owner, w->path);
    api_policy(c);
}

static void write_file(struct api_call *c, const struct writing *what) {
    struct writing *w = c->what = arena_new(&c->arena, struct writing);
    *w = *what;
    w->by = arena_dup(&c->arena, slice_str(c->request->who->id));
    api_store(c, run_write, on_written);
}

void api_policy_save(struct api_call *c) {
    struct policy_file f;
    struct slice text = api_member(c, "policy_text");
    struct slice match = http_value_of(c->request->head, SLICE("If-Match"));
    struct err err = {0};
    if (!find_file(c, &f))
        return;
    if (check_text(text, &err) < 0)
        api_error(c, 422, "%s", err.text);
    else if (!match.len)
        api_error(c, 428, "If-Match is required: the hash of the text that is replaced");
    else
        write_file(c, &(struct writing){.path = f.path,
                                        .text = text,
                                        .note = api_member(c, "note"),
                                        .match = arena_dup(&c->arena, match)});
}

/* ---- history ---- */

struct history {
    struct emit *e;
    struct api_page page;
    const char *hash; /* of the current text; NULL after the newest version with it */
};

static void put_version(void *ctx, const struct state_version *v) {
    struct history *h = ctx;
    bool current = h->hash && memcmp(v->hash, h->hash, SHA_HEX) == 0;
    if (current)
        h->hash = NULL; /* the newest of several versions with this text */
    if (!api_page_takes(&h->page, arena_printf(h->page.arena, "%llu", (unsigned long long)v->number)))
        return;
    emit_object(h->e);
    emit_key(h->e, "version");
    emit_int(h->e, (int64_t)v->number);
    put_text(h->e, "hash", slice_of(v->hash, SHA_HEX));
    put_text(h->e, "by", v->by);
    if (v->note.len)
        put_text(h->e, "note", v->note);
    emit_time(h->e, "at", v->at_ms);
    emit_key(h->e, "current");
    emit_bool(h->e, current);
    emit_object_end(h->e);
}

struct looking {
    struct policy_file file;
    uint64_t number;
    struct history history;
    char hash[SHA_HEX + 1];
};

static void run_history(struct api_call *c) {
    struct looking *w = c->what;
    struct state_versions *versions = api_store_versions(c);
    if (!versions)
        return;
    w->history.e = &c->e;
    w->history.hash = w->hash;
    w->history.page.arena = &c->arena;
    api_store_failed(
        c, 503,
        state_versions_list(versions, slice_str(w->file.path), put_version, &w->history, &c->err) < 0);
}

static void on_history(struct api_call *c) {
    const struct looking *w = c->what;
    api_page_answer(c, &w->history.page);
}

void api_policy_history(struct api_call *c) {
    struct looking *w = c->what = arena_new(&c->arena, struct looking);
    struct slice text;
    if (find_file(c, &w->file) && read_text(c, w->file.path, &text, w->hash) &&
        api_page_open(c, ADMIN_LIST_MAX, &w->history.page))
        api_store(c, run_history, on_history);
}

static void on_version(struct api_call *c) { api_answer(c, 200); }

static void run_version(struct api_call *c) {
    struct looking *w = c->what;
    struct slice text, path = slice_str(w->file.path);
    struct state_versions *versions = api_store_versions(c);
    if (!versions)
        return;
    int rc = state_versions_get(versions, path, w->number, &c->arena, &text, &c->err);
    if (rc == 0)
        err_set(&c->err, "no such version");
    if (api_store_failed(c, rc < 0 ? 503 : 404, rc <= 0))
        return;
    emit_object(&c->e);
    emit_key(&c->e, "version");
    emit_int(&c->e, (int64_t)w->number);
    put_text(&c->e, "text", text);
    emit_object_end(&c->e);
}

void api_policy_version(struct api_call *c) {
    struct looking *w = c->what = arena_new(&c->arena, struct looking);
    if (!slice_to_u64(c->arg2, &w->number))
        api_error(c, 404, "no such version");
    else if (find_file(c, &w->file))
        api_store(c, run_version, on_version);
}

void api_policy_revert(struct api_call *c) {
    struct policy_file f;
    uint64_t number;
    if (!find_file(c, &f) || !api_member_number(c, "version", INT64_MAX, 0, &number))
        return;
    if (!number) {
        api_error(c, 404, "no such version");
        return;
    }
    struct slice note = arena_printf(&c->arena, "back to version %llu", (unsigned long long)number);
    write_file(c, &(struct writing){.path = f.path, .version = number, .note = note});
}

/* ---- edits ---- */

static bool read_path(struct api_call *c, uint32_t node, struct tree_edit *ret) {
    if (!node || !tape_is(&c->body, node, TAPE_ARRAY) || !tape_node(&c->body, node)->count ||
        tape_node(&c->body, node)->count > ADMIN_EDIT_DEPTH_MAX)
        return false;
    struct tree_step *steps = arena_array(&c->arena, struct tree_step, ADMIN_EDIT_DEPTH_MAX);
    TAPE_FOR_ELEM(&c->body, node, i) {
        int64_t index = 0;
        bool key = tape_is(&c->body, i, TAPE_STRING);
        if (!key && (!tape_int(&c->body, i, &index) || index < 0 || index > UINT32_MAX))
            return false;
        steps[ret->depth++] = (struct tree_step){
            .key = key ? tape_text(&c->body, i, &c->arena) : (struct slice){0}, .index = (uint32_t)index};
    }
    ret->path = steps;
    return true;
}

/* Applies the edits in order. Responds with an error and returns false if one fails. */
static bool make_edits(struct api_call *c, struct slice *text) {
    uint32_t edits = tape_get_str(&c->body, 0, "edits");
    if (edits && !tape_is(&c->body, edits, TAPE_ARRAY))
        return api_error(c, 400, "edits must be a list of {path, value}"), false;
    if (!edits)
        return true;
    TAPE_FOR_ELEM(&c->body, edits, i) {
        struct tree_edit edit = {0};
        struct err err = {0};
        uint32_t value = tape_is(&c->body, i, TAPE_OBJECT) ? tape_get_str(&c->body, i, "value") : 0;
        if (!tape_is(&c->body, i, TAPE_OBJECT) || !read_path(c, tape_get_str(&c->body, i, "path"), &edit))
            return api_error(c, 400, "edits must be a list of {path, value}"), false;
        if (value && tree_parse_json(tape_raw(&c->body, value), &c->arena, &edit.value, &err) < 0)
            return api_error(c, 400, "%s", err.text), false;
        cleanup_buf struct buf out;
        buf_init(&out, POLICY_BYTES_MAX);
        if (tree_edit(*text, &edit, &out, &err) < 0)
            return api_error(c, 422, "%s", err.text), false;
        *text = arena_dup(&c->arena, buf_slice(&out));
    }
    return true;
}

/* {"tool","to","rate"}: moves a tool to another column of the board. */
static bool make_move(struct api_call *c, struct slice *text) {
    uint32_t move = tape_get_str(&c->body, 0, "move");
    if (!move)
        return true;
    enum policy_column to;
    struct slice parts[3] = {{0}};
    static const char *const names[] = {"tool", "to", "rate"};
    for (size_t i = 0; i < ARRAY_LEN(names) && tape_is(&c->body, move, TAPE_OBJECT); i++) {
        uint32_t node = tape_get_str(&c->body, move, names[i]);
        if (node && tape_is(&c->body, node, TAPE_STRING))
            parts[i] = tape_text(&c->body, node, &c->arena);
    }
    if (policy_column_from(parts[1], &to) < 0)
        return api_error(c, 400, "move must be {tool, to: allow, limit, approve, deny or hide, rate}"), false;
    struct err err = {0};
    cleanup_buf struct buf out;
    buf_init(&out, POLICY_BYTES_MAX);
    if (policy_board_move(*text, parts[0], to, parts[2].len ? parts[2] : SLICE("10/minute"), &out, &err) < 0)
        return api_error(c, 422, "%s", err.text), false;
    *text = arena_dup(&c->arena, buf_slice(&out));
    return true;
}

void api_policy_edit(struct api_call *c) {
    struct slice text = api_member(c, "policy_text");
    if (!make_edits(c, &text) || !make_move(c, &text))
        return;
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *p = NULL;
    policy_problems_init(&problems);
    bool valid = policy_load(text, "policy", &p, &problems) == 0;
    if (valid)
        api_lint(c, p, &problems);
    struct emit *e = &c->e;
    emit_object(e);
    put_text(e, "policy_text", text);
    emit_key(e, "valid");
    emit_bool(e, valid);
    put_tree(c, text);
    api_problems(e, &problems);
    emit_object_end(e);
    api_answer(c, 200);
}
