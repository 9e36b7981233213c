#include "profiles/native.h"

#include "base/clock.h"
#include "base/mem.h"
#include "code/code_answer.h"
#include "code/code_arg.h"
#include "code/code_job.h"
#include "code/code_reply.h"
#include "code/code_session.h"
#include "code/skill.h"
#include "code/snapshot.h"
#include "code/workspace.h"
#include "filter/filter.h"
#include "profiles/discover.h"
#include "profiles/execute.h"
#include "profiles/sanitize.h"
#include "wire/base64.h"

#include <stdio.h>

/* A response that is one JSON object. */
struct note {
    struct buf out;
    struct emit e;
};

static void note_begin(struct note *n) {
    buf_init(&n->out, CODE_ANSWER_MAX);
    emit_init(&n->e, &n->out);
    emit_object(&n->e);
}

static void note_text(struct note *n, const char *key, struct slice text) {
    emit_key(&n->e, key);
    emit_str(&n->e, text);
}

static void note_int(struct note *n, const char *key, int64_t value) {
    emit_key(&n->e, key);
    emit_int(&n->e, value);
}

static void note_bool(struct note *n, const char *key, bool value) {
    emit_key(&n->e, key);
    emit_bool(&n->e, value);
}

static void note_reply(struct code_req *r, struct note *n, bool is_error) {
    emit_object_end(&n->e);
    code_reply_json(r, buf_slice(&n->out), is_error);
    buf_free(&n->out);
}

/* {"success":false,"error":...} */
static void reply_failure(struct code_req *r, struct slice why) {
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", false);
    note_text(&n, "error", why);
    note_reply(r, &n, true);
}

/* {"error":...}, if the model has no success */
static void reply_error(struct code_req *r, struct slice why) {
    struct note n;
    note_begin(&n);
    note_text(&n, "error", why);
    note_reply(r, &n, true);
}

static bool exact(const struct code_req *r) { return r->conn->server->face->exact; }

/* ---- files ---- */

static size_t characters(struct slice text) {
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return count;
}

static bool in_base64(struct code_req *r) {
    return slice_is(code_arg_text(r, "encoding", SLICE("text")), "base64");
}

void native_write_file(struct code_req *r) {
    struct slice path = code_arg_text(r, "filename", (struct slice){0});
    struct slice content = code_arg_text(r, "content", (struct slice){0});
    if (in_base64(r) && !base64_get(content, BASE64_PADDED, &r->arena, &content)) {
        reply_failure(
            r, SLICE("content is not base64: the alphabet with + and /, padded with =, no line breaks"));
        return;
    }
    enum workspace_result result = workspace_write(r->owner->workspace_fd, path, content);
    if (result != WORKSPACE_OK) {
        reply_failure(r, workspace_why(result, path, &r->arena));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    note_text(&n, "message",
              arena_printf(&r->arena, "Written %zu bytes to %.*s", content.len, SLICE_FMT(path)));
    note_reply(r, &n, false);
}

/* Images are returned as images; other binary files as base64 if requested. */
static void reply_bytes(struct code_req *r, struct slice path, struct slice bytes, bool encoded) {
    const char *mime = workspace_mime(path);
    const bool shown = !encoded && bytes.len <= CODE_IMAGE_BYTES_MAX && execute_is_picture(bytes, mime);
    if (!encoded && (!shown || exact(r))) {
        reply_failure(r, arena_printf(&r->arena,
                                      exact(r) ? "Not a text file: %.*s; read it as a resource"
                                               : "Not a text file: %.*s; ask for it with encoding base64, or "
                                                 "read it as a resource",
                                      SLICE_FMT(path)));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    note_text(&n, "filename", path);
    if (encoded) {
        cleanup_buf struct buf text;
        buf_init(&text, CODE_ANSWER_MAX);
        base64_put(&text, bytes, BASE64_PADDED);
        note_text(&n, "content", buf_slice(&text));
        note_text(&n, "encoding", SLICE("base64"));
    }
    note_text(&n, "mime_type", slice_str(mime));
    note_int(&n, "size", (int64_t)bytes.len);
    emit_object_end(&n.e);
    struct code_answer answer;
    code_answer_init(&answer);
    code_answer_json(&answer, buf_slice(&n.out));
    if (shown)
        code_answer_image(&answer, slice_str(mime), bytes);
    code_reply_answer(r, &answer);
    code_answer_free(&answer);
    buf_free(&n.out);
}

void native_read_file(struct code_req *r) {
    struct slice path = code_arg_text(r, "filename", (struct slice){0});
    cleanup_buf struct buf bytes;
    buf_init(&bytes, CODE_FILE_BYTES_MAX + BUFSIZ);
    enum workspace_result result = workspace_read(r->owner->workspace_fd, path, CODE_FILE_BYTES_MAX, &bytes);
    struct slice text = buf_slice(&bytes);
    if (result != WORKSPACE_OK) {
        reply_failure(r, workspace_why(result, path, &r->arena));
        return;
    }
    if (in_base64(r) || !tape_utf8_valid(text)) {
        reply_bytes(r, path, text, in_base64(r));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    note_text(&n, "filename", path);
    note_text(&n, "content", text);
    note_int(&n, "size", (int64_t)characters(text));
    note_reply(r, &n, false);
}

void native_list_files(struct code_req *r) {
    struct slice below = code_arg_text(r, "subpath", SLICE("."));
    struct workspace_list files;
    enum workspace_result result = workspace_list(r->owner->workspace_fd, below, &r->arena, &files);
    if (result != WORKSPACE_OK) {
        reply_failure(r, workspace_why(result, below, &r->arena));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    note_text(&n, "path", below);
    emit_key(&n.e, "files");
    emit_array(&n.e);
    for (size_t i = 0; i < files.count; i++)
        emit_str(&n.e, files.files[i].path);
    emit_array_end(&n.e);
    note_int(&n, "count", (int64_t)files.count);
    note_reply(r, &n, false);
}

/* ---- skills ---- */

static void put_metadata(struct code_req *r, struct note *n, const struct skill *s) {
    emit_object(&n->e);
    note_text(n, "name", s->name);
    note_text(n, "description", s->description);
    note_text(n, "created", s->created);
    note_text(n, "code_hash", exact(r) ? skill_hash("MD5", s->code, &r->arena) : s->hash);
    if (!exact(r)) {
        note_text(n, "language", s->language);
        note_int(n, "version", s->version);
        emit_key(&n->e, "tools");
        emit_raw(&n->e, skill_tools(s->code, &r->arena));
    }
    emit_object_end(&n->e);
}

static struct slice skill_why(struct code_req *r, enum skill_result result, struct slice name) {
    switch (result) {
    case SKILL_BAD_NAME:
        return SLICE("Invalid skill name. Use alphanumeric and underscores only.");
    case SKILL_NOT_FOUND:
        return arena_printf(&r->arena, "Skill not found: %.*s",
                            SLICE_FMT(slice_upto(name, CODE_SKILL_NAME_MAX)));
    case SKILL_TOO_LARGE:
        return arena_printf(&r->arena, "A skill may have %u bytes of code and %u of description",
                            CODE_SKILL_BYTES_MAX, CODE_SKILL_DESCRIPTION_MAX);
    case SKILL_FULL:
        return arena_printf(&r->arena, "There are %u skills already", CODE_SKILLS_MAX);
    default:
        return SLICE("The skill could not be stored");
    }
}

void native_save_skill(struct code_req *r) {
    struct skill s = {.name = code_arg_text(r, "name", (struct slice){0}),
                      .code = code_arg_text(r, "code", (struct slice){0}),
                      .description = code_arg_text(r, "description", (struct slice){0}),
                      .language = code_arg_text(r, "language", SLICE("python"))};
    /* A SKILL.md instead of code: its own fields apply unless the call sets them. */
    struct skill md;
    struct err err;
    if (!exact(r) && skill_is_md(s.code)) {
        if (skill_from_md(s.code, &r->arena, &md, &err) < 0) {
            reply_error(r, arena_printf(&r->arena, "Not a usable SKILL.md: %s", err.text));
            return;
        }
        s.code = md.code;
        s.body = md.body;
        s.language = md.language;
        s.name = s.name.len ? s.name : md.name;
        s.description = s.description.len ? s.description : md.description;
    }
    enum skill_result result = skill_save(r->owner->skills_fd, &s, &r->arena);
    if (result != SKILL_OK) {
        reply_error(r, skill_why(r, result, s.name));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    note_text(&n, "message", arena_printf(&r->arena, "Skill '%.*s' saved successfully", SLICE_FMT(s.name)));
    if (!exact(r)) {
        note_int(&n, "version", s.version);
        note_text(&n, "code_hash", s.hash);
    }
    note_reply(r, &n, false);
}

void native_load_skill(struct code_req *r) {
    const struct code_server *server = r->conn->server;
    struct slice name = code_arg_text(r, "name", (struct slice){0});
    int64_t version = code_arg_int(r, "version", 0);
    struct skill s;
    enum skill_result result = skill_load(r->owner->skills_fd, name, version, &r->arena, &s);
    if (result == SKILL_NOT_FOUND && server->shared_skills_fd >= 0)
        result = skill_load(server->shared_skills_fd, name, version, &r->arena, &s);
    if (result != SKILL_OK) {
        reply_error(r, skill_why(r, result == SKILL_BAD_NAME ? SKILL_NOT_FOUND : result, name));
        return;
    }
    struct note n;
    note_begin(&n);
    note_text(&n, "name", s.name);
    note_text(&n, "code", s.code);
    emit_key(&n.e, "metadata");
    put_metadata(r, &n, &s);
    if (slice_is(code_arg_text(r, "format", SLICE("code")), "skill_md"))
        note_text(&n, "skill_md", skill_to_md(&s, &r->arena));
    note_reply(r, &n, false);
}

void native_list_skills(struct code_req *r) {
    const struct code_server *server = r->conn->server;
    struct skill_list own = {0}, shared = {0};
    skill_all(r->owner->skills_fd, &r->arena, &own);
    if (server->shared_skills_fd >= 0)
        skill_all(server->shared_skills_fd, &r->arena, &shared);
    struct note n;
    note_begin(&n);
    note_int(&n, "count", (int64_t)(own.count + shared.count));
    emit_key(&n.e, "skills");
    emit_array(&n.e);
    for (size_t i = 0; i < own.count; i++)
        put_metadata(r, &n, &own.skills[i]);
    for (size_t i = 0; i < shared.count; i++)
        put_metadata(r, &n, &shared.skills[i]);
    emit_array_end(&n.e);
    note_reply(r, &n, false);
}

/* ---- personal data ---- */

struct token_set {
    struct map seen; /* token → itself */
    uint64_t kinds;
};

static struct filter_scope *tokens_of(const struct code_req *r) {
    const struct code_conn *c = r->conn;
    struct filter_scope *wider = c->ops->pii_scope ? c->ops->pii_scope(c->owner) : NULL;
    return wider ? wider : r->owner->scope;
}

/* KIND_CHARACTERS, with the profile's name of the kind. */
static struct slice spell(struct code_req *r, struct slice id, size_t kind_len) {
    const char *alias = exact(r) ? pii_kind_alias((unsigned)pii_kind_from(slice_upto(id, kind_len))) : NULL;
    return alias ? arena_printf(&r->arena, "%s%.*s", alias, SLICE_FMT(slice_from(id, kind_len))) : id;
}

/* The text with its tokens in this spelling. */
static struct slice respell(struct code_req *r, struct slice text) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct token_match m;
    uint32_t from = 0;
    while (filter_token_find(filter_scope_engine(tokens_of(r)), text, from, &m) && m.end > from) {
        const struct slice id = slice_of(m.id, m.id_len), name = spell(r, id, m.kind_len);
        const bool ours = !m.truncated && !m.invalid && name.len != id.len && m.end - m.start == id.len + 2;
        buf_put(&out, text.ptr + from, m.start - from);
        if (ours)
            buf_printf(&out, "[%.*s]", SLICE_FMT(name));
        else
            buf_put(&out, text.ptr + m.start, m.end - m.start);
        from = m.end;
    }
    buf_put_slice(&out, slice_from(text, from));
    return out.full ? text : arena_dup(&r->arena, buf_slice(&out));
}

/* Code that calls this has the text anyway, so it also gets the value of each token. Tokens that were already
 * in the text reveal nothing. */
static void put_map(struct code_req *r, struct note *n, struct slice text, const struct token_set *tokens) {
    const struct filter_vault *vault = filter_scope_vault(tokens_of(r));
    emit_key(&n->e, "map");
    emit_object(&n->e);
    size_t at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&tokens->seen, &at))) {
        struct filter_entry value;
        if (!vault->ops->get(vault->ctx, entry->key, &r->arena, &value) ||
            !memmem(text.ptr, text.len, value.value.ptr, value.value.len))
            continue;
        emit_key_slice(&n->e,
                       arena_printf(&r->arena, "[%.*s]", SLICE_FMT(spell(r, entry->key, value.kind.len))));
        emit_str(&n->e, value.value);
    }
    emit_object_end(&n->e);
}

static void collect(struct code_req *r, struct slice text, struct token_set *tokens, struct note *n) {
    const struct pii_engine *engine = filter_scope_engine(tokens_of(r));
    struct map kinds;
    map_init(&kinds);
    struct token_match m;
    for (uint32_t at = 0; filter_token_find(engine, text, at, &m); at = m.end > at ? m.end : at + 1) {
        struct slice id = arena_dup(&r->arena, slice_of(m.id, m.id_len));
        struct slice kind = slice_upto(id, m.kind_len);
        if (m.truncated || m.invalid || map_put(&tokens->seen, id, r))
            continue;
        if (!map_put(&kinds, kind, r))
            emit_str(&n->e, spell(r, kind, kind.len));
    }
    map_free(&kinds);
}

void native_sanitize(struct code_req *r) {
    struct slice text = code_arg_text(r, "text", (struct slice){0});
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    if (!sanitize_text(tokens_of(r), slice_str(r->owner->server->config.name), text, &out)) {
        reply_error(r, SLICE("The text is too large to be sanitized"));
        return;
    }
    struct slice clean = buf_slice(&out);
    struct token_set tokens = {0};
    map_init(&tokens.seen);
    struct note n;
    note_begin(&n);
    note_text(&n, "sanitized_text", exact(r) ? respell(r, clean) : clean);
    emit_key(&n.e, "pii_types");
    emit_array(&n.e);
    collect(r, clean, &tokens, &n);
    emit_array_end(&n.e);
    note_int(&n, "pii_found", (int64_t)tokens.seen.count);
    if (r->inner)
        put_map(r, &n, text, &tokens);
    map_free(&tokens.seen);
    note_reply(r, &n, false);
}

void native_restore(struct code_req *r) {
    struct slice text = code_arg_text(r, "text", (struct slice){0});
    /* Behind a gate the tokens in the arguments were already replaced by values if its rules allow it. This
     * vault is for use without a gate: the values that sanitize_pii took from the same principal. */
    struct filter_rules rules = {
        .server = SLICE("code"), .kinds = ~UINT64_C(0), .secrets_from_anywhere = true};
    struct filter_report report = {0};
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    enum filter_result result = text.len > CODE_PII_TEXT_MAX
                                    ? FILTER_FAILED
                                    : filter_restore_text(r->owner->scope, &rules, text, &out, &report);
    if (result == FILTER_FAILED || result == FILTER_BLOCKED) {
        reply_error(r, SLICE("The text is too large to be restored"));
        return;
    }
    struct note n;
    note_begin(&n);
    note_text(&n, "restored_text", result == FILTER_CHANGED ? buf_slice(&out) : text);
    note_reply(r, &n, false);
}

/* ---- jobs ---- */

static void put_time(struct note *n, const char *key, uint64_t wall_ms) {
    char text[CLOCK_TEXT_MAX];
    clock_text(wall_ms, text);
    note_text(n, key, slice_str(text));
}

static void put_job(struct note *n, const struct code_job *j, bool with_output) {
    note_text(n, "job_id", slice_str(j->id));
    note_text(n, "status", slice_str(code_job_state_name(code_job_state(j))));
    note_text(n, "language", slice_str(sandbox_language_name(j->run.language)));
    put_time(n, "created", j->created_ms);
    put_time(n, "updated", j->updated_ms);
    if (j->progress >= 0) {
        emit_key(&n->e, "progress");
        emit_double(&n->e, j->progress);
    }
    if (j->message.len)
        note_text(n, "message", j->message);
    if (!with_output)
        return;
    if (code_job_over(j)) {
        emit_key(&n->e, "result");
        emit_raw(&n->e, buf_slice(&j->answer.structured));
    } else {
        emit_key(&n->e, "output");
        execute_lines(buf_slice(&j->out), &n->e);
        note_text(n, "stderr", buf_slice(&j->err));
    }
}

/* NULL: answered. */
static struct code_job *find_job(struct code_req *r) {
    struct code_job *j = code_job_find(r->owner, code_arg_text(r, "job_id", (struct slice){0}));
    if (!j)
        reply_error(r, SLICE("Job not found"));
    return j;
}

static void answer_status(struct code_req *r) {
    struct note n;
    note_begin(&n);
    put_job(&n, r->job, true);
    note_reply(r, &n, false);
}

void native_job_status(struct code_req *r) {
    int64_t wait = code_arg_int(r, "wait_seconds", 0);
    struct code_job *j = find_job(r); /* NULL: answered, and the request was freed */
    if (!j)
        return;
    if (wait > 0) {
        code_job_wait(r, j, (uint64_t)(wait > 60 ? 60 : wait) * 1000, answer_status);
        return;
    }
    r->job = j;
    answer_status(r);
}

void native_job_cancel(struct code_req *r) {
    struct code_job *j = find_job(r);
    if (!j)
        return;
    bool was_over = code_job_over(j);
    code_job_cancel(j);
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", !was_over);
    note_text(&n, "job_id", slice_str(j->id));
    note_text(&n, "status", slice_str(code_job_state_name(code_job_state(j))));
    note_reply(r, &n, false);
}

void native_list_jobs(struct code_req *r) {
    struct slice only = code_arg_text(r, "status", (struct slice){0});
    int64_t count = 0;
    struct note n;
    note_begin(&n);
    emit_key(&n.e, "jobs");
    emit_array(&n.e);
    LIST_FOR (k, &r->owner->jobs) {
        const struct code_job *j = container_of(k, struct code_job, node);
        if (!j->keep || (only.len && !slice_is(only, code_job_state_name(code_job_state(j)))))
            continue;
        emit_object(&n.e);
        put_job(&n, j, false);
        emit_object_end(&n.e);
        count++;
    }
    emit_array_end(&n.e);
    note_int(&n, "count", count);
    note_reply(r, &n, false);
}

/* ---- sessions ---- */

void native_list_sessions(struct code_req *r) {
    struct note n;
    note_begin(&n);
    emit_key(&n.e, "sessions");
    code_session_write(r->owner, &n.e);
    note_reply(r, &n, false);
}

void native_clear_session(struct code_req *r) {
    struct slice name = code_arg_text(r, "session_id", (struct slice){0});
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", code_session_clear(r->owner, name));
    note_text(&n, "session_id", name);
    note_reply(r, &n, false);
}

/* ---- snapshots ---- */

static void put_snapshot(struct note *n, const struct snapshot *s) {
    note_text(n, "name", s->name);
    note_int(n, "files", (int64_t)s->files);
    note_int(n, "bytes", (int64_t)s->bytes);
    if (s->left_out.len)
        note_text(n, "left_out", s->left_out);
}

static void reply_snapshot(struct code_req *r, int done, const struct snapshot *s, const struct err *err) {
    if (done < 0) {
        reply_failure(r, slice_str(err->text));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    put_snapshot(&n, s);
    note_reply(r, &n, false);
}

void native_save_snapshot(struct code_req *r) {
    struct snapshot s = {0};
    struct err err = {""};
    int done = snapshot_save(r->owner, code_arg_text(r, "name", (struct slice){0}), &r->arena, &s, &err);
    reply_snapshot(r, done, &s, &err);
}

void native_restore_snapshot(struct code_req *r) {
    struct snapshot s = {0};
    struct err err = {""};
    struct slice into = code_arg_text(r, "into", (struct slice){0});
    int done =
        snapshot_restore(r->owner, code_arg_text(r, "name", (struct slice){0}), into, &r->arena, &s, &err);
    reply_snapshot(r, done, &s, &err);
}

void native_delete_snapshot(struct code_req *r) {
    struct snapshot s = {.name = code_arg_text(r, "name", (struct slice){0})};
    struct err err = {""};
    if (snapshot_delete(r->owner, s.name, &err) < 0) {
        reply_failure(r, slice_str(err.text));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    note_text(&n, "name", s.name);
    note_reply(r, &n, false);
}

void native_list_snapshots(struct code_req *r) {
    struct snapshot_list all;
    struct err err = {""};
    if (snapshot_all(r->owner, &r->arena, &all, &err) < 0) {
        reply_failure(r, slice_str(err.text));
        return;
    }
    struct note n;
    note_begin(&n);
    note_bool(&n, "success", true);
    emit_key(&n.e, "snapshots");
    emit_array(&n.e);
    for (size_t i = 0; i < all.count; i++) {
        emit_object(&n.e);
        put_snapshot(&n, &all.all[i]);
        put_time(&n, "created", all.all[i].created_ms);
        emit_object_end(&n.e);
    }
    emit_array_end(&n.e);
    note_int(&n, "bytes", (int64_t)all.bytes);
    note_int(&n, "bytes_max", CODE_SNAPSHOT_BYTES_MAX);
    note_reply(r, &n, false);
}

/* ---- about itself ---- */

static void put_sandbox(struct code_req *r, struct note *n) {
    const struct sandbox *sandbox = r->conn->server->sandbox;
    emit_key(&n->e, "sandbox");
    emit_object(&n->e);
    note_int(n, "tier", sandbox ? sandbox_tier(sandbox) : 4);
    emit_key(&n->e, "languages");
    emit_object(&n->e);
    for (int i = 0; sandbox && i < SANDBOX_LANGUAGES; i++) {
        const char *why = sandbox_why_not(sandbox, (enum sandbox_language)i);
        note_text(n, sandbox_language_name((enum sandbox_language)i),
                  slice_str(why ? why : sandbox_runtime_name(sandbox, (enum sandbox_language)i)));
    }
    emit_object_end(&n->e);
    note_int(n, "runs", (int64_t)r->owner->runs);
    note_int(n, "failures", (int64_t)r->owner->failures);
    note_int(n, "active", r->owner->active_count);
    emit_object_end(&n->e);
    emit_key(&n->e, "sessions");
    code_session_write(r->owner, &n->e);
}

void native_stats(struct code_req *r) {
    struct workspace_list files = {0};
    struct skill_list skills = {0};
    workspace_list(r->owner->workspace_fd, (struct slice){0}, &r->arena, &files);
    skill_all(r->owner->skills_fd, &r->arena, &skills);
    struct note n;
    note_begin(&n);
    emit_key(&n.e, "workspace");
    emit_object(&n.e);
    note_text(&n, "path", SLICE("/workspace"));
    note_int(&n, "file_count", (int64_t)files.count);
    emit_object_end(&n.e);
    emit_key(&n.e, "skills");
    emit_object(&n.e);
    note_int(&n, "count", (int64_t)skills.count);
    note_text(&n, "path", SLICE("skills"));
    emit_object_end(&n.e);
    emit_key(&n.e, "tool_registry");
    discover_write_registry(r, &n.e);
    emit_key(&n.e, "capabilities");
    emit_raw(&n.e,
             SLICE("[\"sandboxed_execution\",\"progressive_tool_discovery\",\"pii_tokenization\",\"skills_"
                   "persistence\",\"workspace_files\"]"));
    emit_key(&n.e, "limits");
    emit_object(&n.e);
    note_int(&n, "default_timeout_seconds", CODE_TIMEOUT_S);
    note_int(&n, "default_memory_mb", SANDBOX_MEMORY_MB);
    emit_object_end(&n.e);
    if (!exact(r))
        put_sandbox(r, &n);
    note_reply(r, &n, false);
}
