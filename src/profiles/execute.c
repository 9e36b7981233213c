#include "profiles/execute.h"

#include "base/mem.h"
#include "code/code_arg.h"
#include "code/code_reply.h"
#include "code/code_session.h"
#include "code/code_start.h"
#include "code/prelude.h"
#include "code/resource.h"
#include "code/workspace.h"
#include "runner/shape.h"

#include <stdio.h>

/* ---- the run ---- */

bool execute_language(struct slice name, enum sandbox_language *ret_language) {
    static const struct {
        struct slice name;
        enum sandbox_language language;
    } names[] = {
        {SLICE("python"), SANDBOX_PYTHON},
        {SLICE("py"), SANDBOX_PYTHON},
        {SLICE("typescript"), SANDBOX_TYPESCRIPT},
        {SLICE("ts"), SANDBOX_TYPESCRIPT},
        {SLICE("javascript"), SANDBOX_JAVASCRIPT},
        {SLICE("js"), SANDBOX_JAVASCRIPT},
        {SLICE("sql"), SANDBOX_SQL},
        {SLICE("bash"), SANDBOX_BASH},
        {SLICE("sh"), SANDBOX_BASH},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_eq_nocase(name, names[i].name)) {
            *ret_language = names[i].language;
            return true;
        }
    return false;
}

static bool read_language(struct code_req *r, enum sandbox_language *ret_language) {
    bool typed = code_arg_bool(r, "typescript", true);
    struct slice fallback = !code_arg_node(r, "typescript") ? SLICE("python")
                            : typed                         ? SLICE("typescript")
                                                            : SLICE("javascript");
    if (!execute_language(code_arg_text(r, "language", fallback), ret_language))
        return false;
    if (*ret_language == SANDBOX_TYPESCRIPT && !typed)
        *ret_language = SANDBOX_JAVASCRIPT;
    return true;
}

static uint64_t within(int64_t value, int64_t min, int64_t max) {
    return (uint64_t)(value < min ? min : value > max ? max : value);
}

void execute_tool(struct code_req *r) {
    const struct code_server *s = r->conn->server;
    bool exact = s->face->exact;
    struct code_run run = {
        .code = code_arg_text(r, "code", (struct slice){0}),
        .timeout_ms =
            within(code_arg_int(r, "timeout_seconds", CODE_TIMEOUT_S), 1, CODE_TIMEOUT_S_MAX) * 1000,
        .memory_mb = within(code_arg_int(r, "memory_mb", SANDBOX_MEMORY_MB), 16, SANDBOX_MEMORY_MB_MAX),
        .session = code_arg_text(r, "session_id", (struct slice){0}),
        .background = code_arg_bool(r, "background", false),
        .exact = exact,
        .last_value = !exact,
        .format = execute_format,
        .handle = execute_handle,
    };
    uint32_t context = code_arg_node(r, "context_vars");
    if (context)
        run.context = tape_raw(&r->tape, context);
    if (!read_language(r, &run.language)) {
        code_reply_text(r, SLICE("language must be python, typescript, javascript, sql or bash"), true);
        return;
    }
    if (run.session.len && !code_session_name_ok(run.session)) {
        code_reply_text(r, SLICE("session_id may have letters, digits and . _ : - and at most 64 of them"),
                        true);
        return;
    }
    if (run.session.len && !code_session_allowed(r->owner, run.session)) {
        code_reply_text(r, SLICE("too many sessions: clear one first"), true);
        return;
    }
    /* SQL too: the next run of its session may be Python */
    if (run.language == SANDBOX_PYTHON || run.language == SANDBOX_SQL)
        run.prelude = exact ? CODE_PRELUDE_RESTRICTED : CODE_PRELUDE_PYTHON;
    code_start_run(r, &run);
}

/* ---- its result ---- */

struct slice execute_error(const struct code_job *j, const struct sandbox_outcome *o, struct arena *a) {
    switch (o->exit) {
    case SANDBOX_OK:
        return (struct slice){0};
    case SANDBOX_TIMEOUT:
        return arena_printf(a, "Execution timed out after %llu seconds",
                            (unsigned long long)(j->run.timeout_ms / 1000));
    case SANDBOX_MEMORY:
        return arena_printf(a, "Memory limit of %llu MB exceeded", (unsigned long long)j->run.memory_mb);
    case SANDBOX_CPU:
        return SLICE("CPU time limit exceeded");
    case SANDBOX_OUTPUT:
        return arena_printf(a, "Output limit of %u MB exceeded", SANDBOX_FLOOD_MAX >> 20);
    case SANDBOX_KILLED:
        if (j->asked_to_end)
            return SLICE("Execution was cancelled");
        break;
    default:
        break;
    }
    if (o->error.len)
        return shape_text(o->error, CODE_RESULT_MAX);
    return o->kind.len ? o->kind : SLICE("Execution failed");
}

void execute_result(const struct sandbox_outcome *o, struct emit *e, bool *ret_cut) {
    *ret_cut = o->result_cut;
    emit_raw(e, o->result.len ? o->result : SLICE("null"));
}

void execute_lines(struct slice text, struct emit *e) {
    emit_array(e);
    struct slice rest = shape_text(text, CODE_RESULT_MAX), line;
    if (slice_ends(rest, SLICE("\n")))
        rest.len--;
    bool more = text.len > 0;
    while (more) {
        more = slice_cut(&rest, '\n', &line);
        emit_str(e, line);
    }
    emit_array_end(e);
}

static bool changed(const struct code_job *j, const struct workspace_file *f) {
    for (size_t i = 0; i < j->before_count; i++)
        if (slice_eq(j->before[i].path, f->path))
            return j->before[i].size != f->size || j->before[i].changed_ms != f->changed_ms;
    return true;
}

bool execute_is_picture(struct slice bytes, const char *mime) {
    static const struct {
        const char *mime;
        struct slice start;
    } kinds[] = {{"image/png", SLICE("\x89PNG\r\n\x1a\n")},
                 {"image/jpeg", SLICE("\xff\xd8\xff")},
                 {"image/gif", SLICE("GIF8")},
                 {"image/webp", SLICE("RIFF")}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(mime, kinds[i].mime) == 0)
            return slice_starts(bytes, kinds[i].start);
    return false;
}

static void attach_image(struct code_job *j, const struct workspace_file *f, struct code_answer *answer) {
    cleanup_buf struct buf bytes;
    buf_init(&bytes, CODE_IMAGE_BYTES_MAX + BUFSIZ);
    if (workspace_read(j->owner->workspace_fd, f->path, CODE_IMAGE_BYTES_MAX, &bytes) == WORKSPACE_OK &&
        execute_is_picture(buf_slice(&bytes), workspace_mime(f->path)))
        code_answer_image(answer, slice_str(workspace_mime(f->path)), buf_slice(&bytes));
}

/* Vector images are text for a model, so only other images are shown. */
static bool is_picture(const struct workspace_file *f) {
    struct slice mime = slice_str(workspace_mime(f->path));
    return slice_starts(mime, SLICE("image/")) && !slice_is(mime, "image/svg+xml") &&
           f->size <= CODE_IMAGE_BYTES_MAX;
}

/* Images and pages that the code displayed. The guest chose types and bytes: only types that clients accept
 * are passed on. */
static size_t attach_shown(const struct sandbox_outcome *o, struct code_answer *answer) {
    size_t count = 0;
    for (size_t i = 0; i < o->image_count && count < CODE_IMAGES_MAX; i++) {
        const struct slice mime = o->images[i].mime, bytes = o->images[i].bytes;
        const bool is_text = slice_starts(mime, SLICE("text/"));
        if (bytes.len > (is_text ? CODE_RESULT_MAX : CODE_IMAGE_BYTES_MAX) ||
            (is_text && !tape_utf8_valid(bytes)))
            continue;
        count++;
        if (slice_is(mime, "text/html"))
            code_answer_page(answer, count, bytes);
        else if (is_text)
            code_answer_text(answer, bytes);
        else
            code_answer_image(answer, mime, bytes);
    }
    return count;
}

size_t execute_attach(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer,
                      struct emit *names) {
    struct arena a;
    arena_init(&a);
    size_t images = attach_shown(o, answer), found = 0;
    struct workspace_list files;
    if (workspace_list(j->owner->workspace_fd, (struct slice){0}, &a, &files) != WORKSPACE_OK)
        files.count = 0;
    for (size_t i = 0; i < files.count && found < CODE_FILES_SHOWN_MAX; i++) {
        const struct workspace_file *f = &files.files[i];
        if (!changed(j, f))
            continue;
        found++;
        emit_str(names, f->path);
        if (is_picture(f) && images < CODE_IMAGES_MAX) {
            attach_image(j, f, answer);
            images++;
        }
        if (!j->owner->server->face->files)
            continue;
        if (j->calls.conn && strcmp(j->calls.conn->version, "2025-06-18") < 0 && j->calls.conn->version[0])
            continue; /* its client does not support links */
        code_answer_link(answer, resource_file_uri(f->path, &a), f->path, workspace_mime(f->path), f->size);
    }
    arena_free(&a);
    return found;
}

/* Fields of the native profile beyond its model. */
static void put_extras(struct code_job *j, const struct sandbox_outcome *o, bool cut, struct slice files,
                       struct emit *e) {
    emit_key(e, "exit");
    emit_cstr(e, sandbox_exit_name(o->exit));
    if (o->err.len) {
        emit_key(e, "stderr");
        emit_str(e, shape_text(o->err, CODE_RESULT_MAX));
    }
    if (cut || o->out_cut || o->err_cut) {
        emit_key(e, "truncated");
        emit_bool(e, true);
    }
    if (o->kind.len && o->exit != SANDBOX_OK) {
        emit_key(e, "error_type");
        emit_str(e, o->kind);
    }
    emit_key(e, "tool_calls");
    emit_int(e, o->tool_calls);
    if (o->waited_us >= SANDBOX_WAITED_MS * 1000u) {
        emit_key(e, "waited_ms");
        emit_int(e, (int64_t)(o->waited_us / 1000));
    }
    if (j->calls.approval.len) {
        emit_key(e, "approval");
        emit_raw(e, j->calls.approval);
    }
    if (j->resumable) {
        emit_key(e, "resume");
        emit_cstr(e, "Run the same code again once that is settled: calls that were made are not made again");
    }
    if (o->violation_count) {
        emit_key(e, "violations");
        emit_array(e);
        for (size_t i = 0; i < o->violation_count; i++)
            emit_cstr(e, o->violations[i].name);
        emit_array_end(e);
    }
    if (files.len > 2) {
        emit_key(e, "files");
        emit_raw(e, files);
    }
    if (o->copy_error) {
        emit_key(e, "workspace_error");
        emit_cstr(e, o->copy_error);
    }
    if (j->run.session.len) {
        emit_key(e, "session_id");
        emit_str(e, j->run.session);
        emit_key(e, "session_lost");
        emit_bool(e, o->session_lost);
    }
}

void execute_format(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer) {
    struct arena a;
    arena_init(&a);
    bool ok = o->exit == SANDBOX_OK, cut = false;
    struct code_answer attached;
    code_answer_init(&attached);
    cleanup_buf struct buf files, out;
    buf_init(&files, CODE_ANSWER_MAX);
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit names, e;
    emit_init(&names, &files);
    emit_array(&names);
    if (!j->run.exact)
        execute_attach(j, o, &attached, &names);
    emit_array_end(&names);

    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "success");
    emit_bool(&e, ok);
    if (ok) {
        emit_key(&e, "result");
        execute_result(o, &e, &cut);
    } else {
        emit_key(&e, "error");
        emit_str(&e, execute_error(j, o, &a));
        if (o->exit == SANDBOX_ERROR) {
            emit_key(&e, "traceback");
            emit_str(&e, shape_text(o->traceback, CODE_RESULT_MAX));
        }
    }
    emit_key(&e, "output");
    execute_lines(o->out, &e);
    if (ok || !j->run.exact) {
        emit_key(&e, "execution_time_ms");
        emit_int(&e, (int64_t)(o->wall_us / 1000));
    }
    if (!j->run.exact)
        put_extras(j, o, cut, buf_slice(&files), &e);
    emit_object_end(&e);
    code_answer_json(answer, buf_slice(&out));
    if (attached.content.len) {
        buf_put_char(&answer->content, ',');
        buf_put_slice(&answer->content, buf_slice(&attached.content));
    }
    answer->is_error = !ok && !j->run.exact;
    code_answer_free(&attached);
    arena_free(&a);
}

void execute_handle(struct code_job *j, struct code_answer *answer) {
    struct arena a;
    arena_init(&a);
    code_answer_json(answer,
                     arena_printf(&a,
                                  "{\"success\":true,\"job_id\":\"%s\",\"status\":\"%s\",\"message\":\"Still "
                                  "running: ask job_status for its result\"}",
                                  j->id, code_job_state_name(code_job_state(j))));
    arena_free(&a);
}
