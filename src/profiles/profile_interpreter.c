/* MCP Python Interpreter: its ten tools, four resources and three prompts; every result is plain text. Code
 * that the original runs in the server's process runs in the sandbox here, with the same texts. */
#include "base/hex.h"
#include "base/mem.h"
#include "code/code_answer.h"
#include "code/code_arg.h"
#include "code/code_reply.h"
#include "code/code_session.h"
#include "code/code_start.h"
#include "code/contents.h"
#include "code/package_install.h"
#include "code/prelude.h"
#include "code/workspace.h"
#include "profiles/execute.h"
#include "runner/shape.h"

#include <stdio.h>

#define ROOT "/workspace"
#define TIMEOUT_S 300

/* ---- paths: relative to the working directory, or absolute inside it ---- */

static struct slice inside(struct slice path) {
    if (slice_is(path, ROOT))
        return SLICE(".");
    return slice_starts(path, SLICE(ROOT "/")) ? slice_from(path, sizeof(ROOT)) : path;
}

static struct slice path_arg(struct code_req *r, const char *key) {
    return inside(code_arg_text(r, key, (struct slice){0}));
}

static const char *version(struct code_req *r) {
    const struct code_server *s = r->conn->server;
    const char *name = s->sandbox ? sandbox_runtime_name(s->sandbox, SANDBOX_PYTHON) : "";
    const char *space = strrchr(name, ' ');
    return space ? space + 1 : name;
}

/* False: answered. There is one environment with two names. */
static bool environment_ok(struct code_req *r, const char *fallback) {
    struct slice name = code_arg_text(r, "environment", slice_str(fallback));
    if (slice_is(name, "system") || slice_is(name, "default"))
        return true;
    code_reply_text(r,
                    arena_printf(&r->arena, "Environment '%.*s' not found. Available: system",
                                 SLICE_FMT(slice_upto(name, 128))),
                    false);
    return false;
}

/* ---- running ---- */

static void note_variables(struct code_job *j, const struct tape *t) {
    uint32_t count = tape_get_str(t, 0, "variables");
    struct code_session *s = j->run.session.len ? code_session_find(j->owner, j->run.session) : NULL;
    int64_t n;
    if (s && count && tape_int(t, count, &n) && n >= 0)
        s->variables = (uint64_t)n;
}

static void put_section(struct buf *out, const char *title, struct slice text, const char *nothing) {
    buf_printf(out, "--- %s ---\n", title);
    if (text.len)
        buf_put_slice(out, shape_text(text, CODE_RESULT_MAX));
    else
        buf_put_str(out, nothing);
}

static void format_run(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer) {
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct slice error = {0};
    int64_t status = 0;
    if (o->exit != SANDBOX_OK) {
        error = o->traceback.len ? o->traceback : execute_error(j, o, &a);
        status = o->exit == SANDBOX_TIMEOUT ? -1 : 1;
    } else if (tape_parse(&t, o->result, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT)) {
        uint32_t text = tape_get_str(&t, 0, "error"), code = tape_get_str(&t, 0, "exit");
        if (text && tape_is(&t, text, TAPE_STRING))
            error = tape_text(&t, text, &a);
        if (code)
            tape_int(&t, code, &status);
        note_variables(j, &t);
    }
    if (o->err.len)
        error = error.len ? arena_printf(&a, "%.*s%.*s", SLICE_FMT(o->err), SLICE_FMT(error))
                : status  ? o->err
                          : error;
    if (o->exit == SANDBOX_TIMEOUT || o->session_lost)
        error = arena_printf(&a, "%.*s\n%s", SLICE_FMT(error),
                             o->session_lost ? "The variables of this session are lost.\n" : "");
    buf_put_slice(&out, j->run.head);
    buf_put_str(&out, ":\n\n");
    if (!status) {
        put_section(&out, "Output", o->out, "(No output)\n");
    } else {
        char title[64] = "Error";
        if (j->run.as_process)
            snprintf(title, sizeof(title), "Error (status code: %lld)", (long long)status);
        put_section(&out, title, error, "(No error message)\n");
        if (o->out.len) {
            buf_put_char(&out, '\n');
            put_section(&out, "Output", o->out, "");
        }
    }
    code_answer_text(answer, buf_slice(&out));
    cleanup_buf struct buf files;
    buf_init(&files, CODE_ANSWER_MAX);
    struct emit names;
    emit_init(&names, &files);
    emit_array(&names);
    struct sandbox_outcome images = *o;
    execute_attach(j, &images, answer, &names);
}

/* The code is passed as data; the prompt of the prelude runs it. */
static void run(struct code_req *r, struct slice code, struct slice file, uint32_t argv,
                struct code_run *how) {
    cleanup_buf struct buf context;
    buf_init(&context, SANDBOX_CODE_MAX);
    struct emit e;
    emit_init(&e, &context);
    emit_object(&e);
    emit_key(&e, "_sallyport_args");
    emit_array(&e);
    emit_str(&e, code);
    emit_str(&e, file);
    if (how->as_process) {
        emit_array(&e);
        emit_str(&e, file);
        if (argv && tape_is(&r->tape, argv, TAPE_ARRAY))
            TAPE_FOR_ELEM(&r->tape, argv, i)
        emit_raw(&e, tape_raw(&r->tape, i));
        emit_array_end(&e);
    } else {
        emit_null(&e);
    }
    emit_array_end(&e);
    emit_object_end(&e);
    int64_t timeout = code_arg_int(r, "timeout", TIMEOUT_S);
    how->language = SANDBOX_PYTHON;
    how->prelude = CODE_PRELUDE_REPL;
    how->code = SLICE("result = _sallyport_run(*_sallyport_args)");
    how->written = code;
    how->context = buf_slice(&context);
    how->timeout_ms = (uint64_t)(timeout < 1                    ? 1
                                 : timeout > CODE_TIMEOUT_S_MAX ? CODE_TIMEOUT_S_MAX
                                                                : timeout) *
                      1000;
    how->memory_mb = SANDBOX_MEMORY_MB;
    how->format = format_run;
    how->handle = code_job_answer_text;
    if (context.full)
        code_reply_text(r, SLICE("Error: the code is too large"), false);
    else
        code_start_run(r, how);
}

/* False: answered. Checks the name like every other path; the original does not. */
static bool save_first(struct code_req *r, struct slice code, struct slice *ret_suffix) {
    struct slice name = path_arg(r, "save_as");
    *ret_suffix = (struct slice){0};
    if (!name.len)
        return true;
    struct slice path =
        slice_ends(name, SLICE(".py")) ? name : arena_printf(&r->arena, "%.*s.py", SLICE_FMT(name));
    enum workspace_result result = workspace_write(r->owner->workspace_fd, path, code);
    *ret_suffix = arena_printf(&r->arena, " (saved to %.*s)", SLICE_FMT(name));
    if (result == WORKSPACE_OK)
        return true;
    struct slice why = workspace_why(result, path, &r->arena);
    code_reply_text(r, arena_printf(&r->arena, "Error saving code to file: %.*s", SLICE_FMT(why)), false);
    return false;
}

static void run_code(struct code_req *r) {
    struct slice code = code_arg_text(r, "code", (struct slice){0});
    struct slice mode = code_arg_text(r, "execution_mode", SLICE("inline"));
    struct slice session = code_arg_text(r, "session_id", SLICE("default")), saved;
    bool inline_mode = slice_is(mode, "inline");
    if (!inline_mode && !slice_is(mode, "subprocess")) {
        code_reply_text(r,
                        arena_printf(&r->arena, "Unknown execution mode: %.*s. Use 'inline' or 'subprocess'.",
                                     SLICE_FMT(slice_upto(mode, 128))),
                        false);
        return;
    }
    if (inline_mode && (!code_session_name_ok(session) || !code_session_allowed(r->owner, session))) {
        code_reply_text(r,
                        SLICE("Error in inline execution: this session cannot be used; clear another one "
                              "first, and use letters, digits and . _ : - in its name"),
                        false);
        return;
    }
    if (!environment_ok(r, "system") || !save_first(r, code, &saved))
        return;
    struct code_run how = {.session = inline_mode ? session : (struct slice){0}, .as_process = !inline_mode};
    how.head = inline_mode
                   ? arena_printf(&r->arena, "Execution in session '%.*s' (inline mode)%.*s",
                                  SLICE_FMT(session), SLICE_FMT(saved))
                   : arena_printf(&r->arena, "Execution in 'system' environment (subprocess mode)%.*s",
                                  SLICE_FMT(saved));
    run(r, code, inline_mode ? SLICE("<stdin>") : SLICE("script.py"), 0, &how);
}

static void run_file(struct code_req *r) {
    struct slice path = path_arg(r, "file_path");
    cleanup_buf struct buf code;
    buf_init(&code, CODE_FILE_BYTES_MAX + BUFSIZ);
    enum workspace_result result = workspace_read(r->owner->workspace_fd, path, CODE_FILE_BYTES_MAX, &code);
    struct slice full = arena_printf(&r->arena, ROOT "/%.*s", SLICE_FMT(path));
    if (result == WORKSPACE_OUTSIDE) {
        code_reply_text(r, SLICE("Access denied: Can only run files in working directory: " ROOT), false);
    } else if (result != WORKSPACE_OK) {
        code_reply_text(r, arena_printf(&r->arena, "File '%.*s' not found.", SLICE_FMT(full)), false);
    } else if (environment_ok(r, "default")) {
        struct code_run how = {.as_process = true};
        how.head = arena_printf(&r->arena, "Execution of '%.*s' in 'system' environment", SLICE_FMT(full));
        run(r, buf_slice(&code), full, code_arg_node(r, "arguments"), &how);
    }
}

/* ---- environments and packages ---- */

static void list_environments(struct code_req *r) {
    code_reply_text(
        r,
        arena_printf(
            &r->arena,
            "Available Python Environments:\n\n- Name: system\n  Path: python3\n  Version: Python %s\n\n",
            version(r)),
        false);
}

static const char packages_code[] = "import importlib.metadata as _m\n"
                                    "result = sorted({(d.metadata['Name'] or '', d.version or '') for d in "
                                    "_m.distributions() if d.metadata})\n";

static void format_packages(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer) {
    (void)j;
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    bool some = o->exit == SANDBOX_OK && tape_parse(&t, o->result, NULL) == TAPE_OK &&
                tape_is(&t, 0, TAPE_ARRAY) && tape_node(&t, 0)->count;
    buf_put_str(&out,
                some ? "Installed Packages in 'system':\n\n" : "No packages found in environment 'system'.");
    if (some)
        TAPE_FOR_ELEM(&t, 0, i)
    if (tape_is(&t, i, TAPE_ARRAY)) /* the last element describes what was omitted from a long list */
        buf_printf(&out, "- %.*s %.*s\n", SLICE_FMT(tape_text(&t, i + 1, &a)),
                   SLICE_FMT(tape_text(&t, i + 2, &a)));
    code_answer_text(answer, buf_slice(&out));
}

static void ask_packages(struct code_req *r,
                         void (*format)(struct code_job *, const struct sandbox_outcome *,
                                        struct code_answer *),
                         void (*reply)(struct code_req *)) {
    struct code_run how = {
        .language = SANDBOX_PYTHON,
        .prelude = CODE_PRELUDE_REPL,
        .code = slice_str(packages_code),
        .timeout_ms = CODE_TIMEOUT_S * 1000,
        .memory_mb = SANDBOX_MEMORY_MB,
        .format = format,
        .handle = code_job_answer_text,
        .reply = reply,
    };
    code_start_run(r, &how);
}

static void list_packages(struct code_req *r) {
    if (environment_ok(r, "default"))
        ask_packages(r, format_packages, NULL);
}

static void install_package(struct code_req *r) {
    if (environment_ok(r, "default"))
        package_install(r);
}

/* ---- files ---- */

static void read_file(struct code_req *r) {
    struct slice given = code_arg_text(r, "file_path", (struct slice){0}), path = inside(given);
    int64_t max_kb = code_arg_int(r, "max_size_kb", 1024);
    cleanup_buf struct buf bytes;
    buf_init(&bytes, CODE_FILE_BYTES_MAX + BUFSIZ);
    enum workspace_result result = workspace_read(r->owner->workspace_fd, path, CODE_FILE_BYTES_MAX, &bytes);
    struct slice text = buf_slice(&bytes);
    double kb = (double)text.len / 1024;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    const char *dot = memrchr(path.ptr, '.', path.len);
    struct slice ending =
        dot ? slice_of(dot + 1, (size_t)(path.ptr + path.len - dot - 1)) : (struct slice){0};
    static const char *const sources[] = {"py", "js",  "html", "css", "json", "xml",
                                          "md", "txt", "sh",   "bat", "ps1"};
    bool fenced = false;
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        fenced = fenced || slice_eq_nocase(ending, slice_str(sources[i]));
    if (result == WORKSPACE_OUTSIDE) {
        buf_put_str(&out, "Access denied: Can only read files in working directory: " ROOT);
    } else if (result == WORKSPACE_NOT_FOUND) {
        buf_printf(&out, "Error: File '%.*s' not found", SLICE_FMT(given));
    } else if (result != WORKSPACE_OK) {
        buf_printf(&out, "Error reading file: %.*s", SLICE_FMT(workspace_why(result, path, &r->arena)));
    } else if (kb > (double)max_kb) {
        buf_printf(&out, "Error: File size (%.2f KB) exceeds maximum (%lld KB)", kb, (long long)max_kb);
    } else if (!tape_utf8_valid(text)) {
        buf_printf(&out, "Binary file: %.*s\nSize: %zu bytes\nHex (first 1024 chars):\n", SLICE_FMT(given),
                   text.len);
        size_t shown = text.len < 512 ? text.len : 512;
        char *digits = buf_reserve(&out, 2 * shown);
        if (digits) {
            hex_put((const unsigned char *)text.ptr, shown, digits);
            out.len += 2 * shown;
        }
    } else if (fenced) {
        buf_printf(&out, "File: %.*s\n\n```%.*s\n%.*s\n```", SLICE_FMT(given), SLICE_FMT(ending),
                   SLICE_FMT(text));
    } else {
        buf_printf(&out, "File: %.*s\n\n%.*s", SLICE_FMT(given), SLICE_FMT(text));
    }
    code_reply_text(r, buf_slice(&out), false);
}

static void write_file(struct code_req *r) {
    struct slice path = path_arg(r, "file_path"), content = code_arg_text(r, "content", (struct slice){0});
    struct slice full = arena_printf(&r->arena, ROOT "/%.*s", SLICE_FMT(slice_upto(path, CODE_PATH_MAX)));
    cleanup_buf struct buf old;
    buf_init(&old, CODE_FILE_BYTES_MAX + BUFSIZ);
    enum workspace_result there = workspace_read(r->owner->workspace_fd, path, CODE_FILE_BYTES_MAX, &old);
    if ((there == WORKSPACE_OK || there == WORKSPACE_TOO_LARGE) && !code_arg_bool(r, "overwrite", false)) {
        code_reply_text(
            r, arena_printf(&r->arena, "File '%.*s' exists. Use overwrite=True to replace.", SLICE_FMT(full)),
            false);
        return;
    }
    enum workspace_result result = workspace_write(r->owner->workspace_fd, path, content);
    if (result == WORKSPACE_OK)
        code_reply_text(r,
                        arena_printf(&r->arena, "Successfully wrote to %.*s. Size: %.2f KB", SLICE_FMT(full),
                                     (double)content.len / 1024),
                        false);
    else if (result == WORKSPACE_OUTSIDE)
        code_reply_text(r, SLICE("Access denied: Can only write files in working directory: " ROOT), false);
    else
        code_reply_text(r,
                        arena_printf(&r->arena, "Error writing file: %.*s",
                                     SLICE_FMT(workspace_why(result, path, &r->arena))),
                        false);
}

static struct slice parent_of(struct slice path) {
    const char *slash = memrchr(path.ptr, '/', path.len);
    return slash ? slice_of(path.ptr, (size_t)(slash - path.ptr)) : SLICE("(root)");
}

static void list_directory(struct code_req *r) {
    struct slice given = code_arg_text(r, "directory_path", (struct slice){0});
    struct workspace_list files;
    enum workspace_result result = workspace_list(r->owner->workspace_fd, inside(given), &r->arena, &files);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct slice parent = {0};
    for (size_t i = 0; result == WORKSPACE_OK && i < files.count; i++) {
        struct slice path = files.files[i].path, above = parent_of(path);
        if (!slice_ends(path, SLICE(".py")))
            continue;
        if (!out.len)
            buf_printf(&out, "Python files in: %.*s\n\n", SLICE_FMT(given.len ? given : SLICE(ROOT)));
        if (!slice_eq(above, parent))
            buf_printf(&out, "%s📁 %.*s:\n", parent.len ? "\n" : "", SLICE_FMT(above));
        parent = above;
        struct slice name = slice_find(path, '/') < 0 ? path : slice_from(path, above.len + 1);
        buf_printf(&out, "  📄 %.*s (%.1f KB)\n", SLICE_FMT(name), (double)files.files[i].size / 1024);
    }
    if (result == WORKSPACE_OUTSIDE)
        buf_put_str(&out, "Access denied: Can only list files in working directory: " ROOT);
    else if (result != WORKSPACE_OK)
        buf_printf(&out, "Error: Directory '%.*s' not found", SLICE_FMT(given));
    else if (!out.len)
        buf_printf(&out, "No Python files found in %.*s",
                   SLICE_FMT(given.len ? given : SLICE("working directory")));
    else
        buf_put_char(&out, '\n');
    code_reply_text(r, buf_slice(&out), false);
}

/* ---- sessions ---- */

static void clear_session(struct code_req *r) {
    struct slice name = code_arg_text(r, "session_id", SLICE("default"));
    bool was = code_session_clear(r->owner, name);
    code_reply_text(r,
                    arena_printf(&r->arena, "Session '%.*s' %s.", SLICE_FMT(slice_upto(name, 128)),
                                 was ? "cleared" : "not found"),
                    false);
}

static void list_sessions(struct code_req *r) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    LIST_FOR (n, &r->owner->sessions) {
        const struct code_session *s = container_of(n, struct code_session, node);
        if (!out.len)
            buf_put_str(&out, "Active REPL Sessions:\n\n");
        buf_printf(&out, "- Session: %.*s\n  History entries: %u\n  Variables: %llu\n\n", SLICE_FMT(s->name),
                   s->history_count, (unsigned long long)s->variables);
    }
    code_reply_text(r, out.len ? buf_slice(&out) : SLICE("No active sessions."), false);
}

/* ---- resources ---- */

static void list_resources(struct code_req *r, struct emit *e) {
    (void)r;
    emit_raw(e, SLICE("{\"uri\":\"python://"
                      "environments\",\"name\":\"get_environments_resource\",\"description\":\"All Python "
                      "environments\",\"mimeType\":\"text/plain\"}"));
    emit_raw(e, SLICE("{\"uri\":\"python://"
                      "directory\",\"name\":\"get_working_directory_listing\",\"description\":\"The Python "
                      "files of the working directory\",\"mimeType\":\"text/plain\"}"));
}

static void list_templates(struct code_req *r, struct emit *e) {
    (void)r;
    emit_raw(e, SLICE("{\"uriTemplate\":\"python://packages/"
                      "{env_name}\",\"name\":\"get_packages_resource\",\"description\":\"The "
                      "packages of an environment\",\"mimeType\":\"text/plain\"}"));
    emit_raw(e, SLICE("{\"uriTemplate\":\"python://session/{session_id}/"
                      "history\",\"name\":\"get_session_history\",\"description\":"
                      "\"What a session has run\",\"mimeType\":\"text/plain\"}"));
}

static void reply_resource(struct code_req *r, struct slice uri, struct buf *text) {
    contents_reply(r, uri, "text/plain", buf_slice(text), true);
}

static void format_package_list(struct code_job *j, const struct sandbox_outcome *o,
                                struct code_answer *answer) {
    (void)j;
    cleanup_tape struct tape t;
    tape_init(&t);
    struct emit e;
    emit_init(&e, &answer->structured);
    emit_array(&e);
    if (o->exit == SANDBOX_OK && tape_parse(&t, o->result, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_ARRAY))
        TAPE_FOR_ELEM(&t, 0, i) {
            if (!tape_is(&t, i, TAPE_ARRAY))
                continue;
            emit_object(&e);
            emit_key(&e, "name");
            emit_raw(&e, tape_raw(&t, i + 1));
            emit_key(&e, "version");
            emit_raw(&e, tape_raw(&t, i + 2));
            emit_object_end(&e);
        }
    emit_array_end(&e);
}

static void reply_package_list(struct code_req *r) {
    struct slice uri = tape_text(&r->tape, tape_get_str(&r->tape, r->rpc.params, "uri"), &r->arena);
    contents_reply(r, uri, "text/plain", buf_slice(&r->job->answer.structured), true);
}

static void read_history(struct code_req *r, struct slice uri, struct slice name) {
    const struct code_session *s = code_session_find(r->owner, name);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    if (!s) {
        emit_key(&e, "error");
        emit_str(&e, arena_printf(&r->arena, "Session '%.*s' not found", SLICE_FMT(slice_upto(name, 128))));
    } else {
        emit_key(&e, "session_id");
        emit_str(&e, text_slice(s->name));
        emit_key(&e, "history");
        emit_array(&e);
        LIST_FOR (n, &s->history) {
            emit_object(&e);
            emit_key(&e, "code");
            emit_str(&e, text_slice(container_of(n, struct code_history, node)->code));
            emit_object_end(&e);
        }
        emit_array_end(&e);
    }
    emit_object_end(&e);
    reply_resource(r, uri, &out);
}

static void read_listing(struct code_req *r, struct slice uri) {
    struct workspace_list files = {0};
    workspace_list(r->owner->workspace_fd, (struct slice){0}, &r->arena, &files);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "working_directory");
    emit_cstr(&e, ROOT);
    emit_key(&e, "files");
    emit_array(&e);
    for (size_t i = 0; i < files.count; i++) {
        struct slice path = files.files[i].path;
        if (!slice_ends(path, SLICE(".py")))
            continue;
        emit_object(&e);
        emit_key(&e, "path");
        emit_str(&e, arena_printf(&r->arena, ROOT "/%.*s", SLICE_FMT(path)));
        emit_key(&e, "name");
        emit_str(&e, slice_find(path, '/') < 0 ? path : slice_from(path, parent_of(path).len + 1));
        emit_key(&e, "size");
        emit_int(&e, (int64_t)files.files[i].size);
        emit_key(&e, "modified");
        emit_double(&e, (double)files.files[i].changed_ms / 1000);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    emit_object_end(&e);
    reply_resource(r, uri, &out);
}

static bool read_resource(struct code_req *r, struct slice uri) {
    static const struct slice session = SLICE("python://session/"), history = SLICE("/history");
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    if (slice_is(uri, "python://environments")) {
        buf_printf(&out, "[{\"name\":\"system\",\"path\":\"python3\",\"version\":\"%s\"}]", version(r));
        reply_resource(r, uri, &out);
    } else if (slice_is(uri, "python://directory")) {
        read_listing(r, uri);
    } else if (slice_is(uri, "python://packages/system") || slice_is(uri, "python://packages/default")) {
        ask_packages(r, format_package_list, reply_package_list);
    } else if (slice_starts(uri, SLICE("python://packages/"))) {
        buf_put_str(&out, "{\"error\":\"Environment not found\"}");
        reply_resource(r, uri, &out);
    } else if (slice_starts(uri, session) && slice_ends(uri, history) &&
               uri.len > session.len + history.len) {
        read_history(r, uri, slice_of(uri.ptr + session.len, uri.len - session.len - history.len));
    } else {
        return false;
    }
    return true;
}

/* ---- the tables ---- */

/* clang-format off */
#define OBJECT(name, properties, required) \
    "{\"properties\":{" properties "}," required "\"title\":\"" name "Arguments\",\"type\":\"object\"}"
#define TEXT(title) "{\"title\":\"" title "\",\"type\":\"string\"}"
#define TEXT_OR(title, fallback) "{\"default\":\"" fallback "\",\"title\":\"" title "\",\"type\":\"string\"}"
#define INT_OR(title, fallback) "{\"default\":" fallback ",\"title\":\"" title "\",\"type\":\"integer\"}"
#define FLAG(title) "{\"default\":false,\"title\":\"" title "\",\"type\":\"boolean\"}"
#define OR_NULL(type, title) "{\"anyOf\":[" type ",{\"type\":\"null\"}],\"default\":null,\"title\":\"" title "\"}"
#define REQUIRED(keys) "\"required\":[" keys "],"

static const struct code_tool interpreter_tools[] = {
    {.name = "list_python_environments",
     .description = "List the Python environments that code can run in.",
     .input = OBJECT("list_python_environments", "", ""),
     .run = list_environments},
    {.name = "list_installed_packages",
     .description = "List the packages of a Python environment.",
     .input = OBJECT("list_installed_packages", "\"environment\":" TEXT_OR("Environment", "default"), ""),
     .run = list_packages,
     .executes = true},
    {.name = "run_python_code",
     .description = "Run Python code. execution_mode inline keeps variables under session_id; subprocess starts afresh. save_as "
                    "keeps the code as a file first.",
     .input = OBJECT("run_python_code",
                     "\"code\":" TEXT("Code") ","
                     "\"execution_mode\":" TEXT_OR("Execution Mode", "inline") ","
                     "\"session_id\":" TEXT_OR("Session Id", "default") ","
                     "\"environment\":" TEXT_OR("Environment", "system") ","
                     "\"save_as\":" OR_NULL("{\"type\":\"string\"}", "Save As") ","
                     "\"timeout\":" INT_OR("Timeout", "300"),
                     REQUIRED("\"code\"")),
     .run = run_code,
     .packages = true,
     .executes = true},
    {.name = "run_python_file",
     .description = "Run a Python file of the working directory, with arguments.",
     .input = OBJECT("run_python_file",
                     "\"file_path\":" TEXT("File Path") ","
                     "\"environment\":" TEXT_OR("Environment", "default") ","
                     "\"arguments\":" OR_NULL("{\"items\":{\"type\":\"string\"},\"type\":\"array\"}", "Arguments") ","
                     "\"timeout\":" INT_OR("Timeout", "300"),
                     REQUIRED("\"file_path\"")),
     .run = run_file,
     .packages = true,
     .executes = true},
    {.name = "install_package",
     .description = "Install a package, when the operator allows it.",
     .input = OBJECT("install_package",
                     "\"package_name\":" TEXT("Package Name") ","
                     "\"environment\":" TEXT_OR("Environment", "default") ","
                     "\"upgrade\":" FLAG("Upgrade") ","
                     "\"timeout\":" INT_OR("Timeout", "300"),
                     REQUIRED("\"package_name\"")),
     .run = install_package},
    {.name = "read_file",
     .description = "Read a file of the working directory.",
     .input = OBJECT("read_file",
                     "\"file_path\":" TEXT("File Path") ","
                     "\"max_size_kb\":" INT_OR("Max Size Kb", "1024"),
                     REQUIRED("\"file_path\"")),
     .run = read_file},
    {.name = "write_file",
     .description = "Write a file to the working directory.",
     .input = OBJECT("write_file",
                     "\"file_path\":" TEXT("File Path") ","
                     "\"content\":" TEXT("Content") ","
                     "\"overwrite\":" FLAG("Overwrite"),
                     REQUIRED("\"file_path\",\"content\"")),
     .run = write_file},
    {.name = "list_directory",
     .description = "List the Python files of a directory.",
     .input = OBJECT("list_directory", "\"directory_path\":" TEXT_OR("Directory Path", ""), ""),
     .run = list_directory},
    {.name = "clear_session",
     .description = "Forget the variables and the history of a session.",
     .input = OBJECT("clear_session", "\"session_id\":" TEXT_OR("Session Id", "default"), ""),
     .run = clear_session},
    {.name = "list_sessions",
     .description = "List the sessions.",
     .input = OBJECT("list_sessions", "", ""),
     .run = list_sessions},
};
/* clang-format on */

static const struct code_prompt interpreter_prompts[] = {
    {"python_function_template", "Ask for a Python function",
     "[{\"name\":\"description\",\"required\":true}]",
     "Write a Python function that does this:\n\n${description}\n\nGive it type hints, a docstring with "
     "parameters, return value and "
     "an example, and handle errors where they can happen."},
    {"refactor_python_code", "Ask for better Python code", "[{\"name\":\"code\",\"required\":true}]",
     "Refactor this Python code so that it is easier to read, faster and "
     "sturdier:\n\n```python\n${code}\n```\n\nSay what you changed "
     "and why."},
    {"debug_python_error", "Ask about a Python error",
     "[{\"name\":\"code\",\"required\":true},{\"name\":\"error_message\",\"required\":true}]",
     "This code fails:\n\n```python\n${code}\n```\n\nwith this "
     "error:\n\n```\n${error_message}\n```\n\nExplain what the error means, find "
     "its cause and suggest how to fix it."},
};

const struct code_face profile_interpreter = {
    .server_name = "mcp-python-interpreter",
    .server_version = "1.2.4",
    .instructions = "Run Python code; variables stay in sessions, files in the working directory.",
    .tools = interpreter_tools,
    .tool_count = ARRAY_LEN(interpreter_tools),
    .languages = 1u << SANDBOX_PYTHON,
    .prompts = interpreter_prompts,
    .prompt_count = ARRAY_LEN(interpreter_prompts),
    .list_resources = list_resources,
    .list_templates = list_templates,
    .read_resource = read_resource,
};
