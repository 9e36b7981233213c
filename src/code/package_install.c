#include "code/package_install.h"

#include "base/mem.h"
#include "code/code_arg.h"
#include "code/code_reply.h"
#include "code/code_req.h"
#include "code/package.h"
#include "io/conn.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define ENVIRONMENT_MAX 96
#define TEXT_MAX 4096 /* bytes of its output */
#define AVAILABLE_MAX 1000

extern char **environ;

/* One at a time. */
struct package_work {
    struct code_server *server;
    uint64_t token; /* of the spawner; 0 after it has ended */
    int status;
    struct io_conn *words[2];
    struct io_timer limit;
    char *package; /* as it is installed: pip:NAME==VERSION */
    char text[TEXT_MAX];
    size_t len;
    size_t notified; /* bytes of the output that were sent to the client */
    uint32_t steps;
};

const struct code_tool package_install_tool = {
    .name = "install_package",
    .title = "Install a package",
    .description = "Installs a package that the operator allows; your later runs can import it. For one "
                   "run, name it "
                   "in `packages` of the tool that runs the code.",
    .input = "{\"type\":\"object\",\"properties\":{\"package_name\":{\"type\":\"string\",\"maxLength\":200,"
             "\"description\":\"pandas or pandas==2.2.0 for Python, npm:zod or zod@3 for JavaScript\"}},"
             "\"required\":[\"package_name\"],\"additionalProperties\":false}",
    .output = "{\"type\":\"object\",\"properties\":{\"success\":{\"type\":\"boolean\"},\"package\":{\"type\":"
              "\"string\"},"
              "\"message\":{\"type\":\"string\"}},\"required\":[\"success\",\"package\",\"message\"]}",
    .hints = "{\"readOnlyHint\":false,\"destructiveHint\":false,\"openWorldHint\":true}",
    .category = "execution",
    .run = package_install,
};

/* ---- the installing program ---- */

static size_t on_words(struct io_conn *c, void *owner, struct block *block, char *ptr, size_t len) {
    (void)c, (void)block;
    struct package_work *w = owner;
    const size_t room = TEXT_MAX - w->len, take = len < room ? len : room;
    memcpy(w->text + w->len, ptr, take);
    w->len += take;
    return len;
}

static void on_words_end(struct io_conn *c, void *owner, int status) {
    (void)status;
    struct package_work *w = owner;
    for (int i = 0; i < 2; i++)
        if (w->words[i] == c)
            w->words[i] = NULL;
    io_conn_close(c);
}

static const struct io_handlers words_handlers = {.data = on_words, .end = on_words_end};

static void on_started(void *owner, struct spawn_child child) {
    struct package_work *w = owner;
    if (child.pid == 0) {
        w->token = 0;
        w->status = -1;
        w->len = (size_t)snprintf(w->text, sizeof(w->text), "%s", spawn_error_text(child.error));
        return;
    }
    close(child.in);
    const int ends[2] = {child.out, child.errors};
    for (int i = 0; i < 2; i++) {
        w->words[i] = io_conn_fd(w->server->config.loop, ends[i], true, &words_handlers, w);
        io_conn_read(w->words[i], true);
    }
}

static void on_exited(void *owner, int status) {
    struct package_work *w = owner;
    w->token = 0;
    w->status = status;
    io_timer_stop(w->server->config.loop, &w->limit);
}

static void on_late(struct io_timer *timer) {
    struct package_work *w = container_of(timer, struct package_work, limit);
    if (w->token)
        spawn_signal(w->server->config.spawn, w->token, SIGKILL);
}

/* The variables that pip and npm need for network and settings, and no others. */
static void choose_environment(const char *home, const char *ret_envp[ENVIRONMENT_MAX]) {
    static const char *const names[] = {
        "PATH=",       "HOME=",       "LANG=",          "TMPDIR=",      "PIP_",         "npm_config_",
        "NPM_CONFIG_", "http_proxy=", "HTTP_PROXY=",    "https_proxy=", "HTTPS_PROXY=", "no_proxy=",
        "NO_PROXY=",   "SSL_CERT_",   "NODE_EXTRA_CA_", "XDG_CONFIG_",  "XDG_CACHE_",   "SALLYPORT_PYTHON="};
    size_t n = 0;
    ret_envp[n++] = home;
    for (char **e = environ; *e && n < ENVIRONMENT_MAX - 1; e++)
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (strncmp(*e, names[i], strlen(names[i])) == 0) {
                ret_envp[n++] = *e;
                break;
            }
    ret_envp[n] = NULL;
}

/* Runs this program itself, because it may take minutes and must not block the gate. */
static int work_start(struct package_work *w, struct err *err) {
    struct code_server *s = w->server;
    const char *envp[ENVIRONMENT_MAX];
    char home[CODE_OWNER_PATH_MAX + 32];
    const char *const argv[] = {"/proc/self/exe", "code", "packages", "add",
                                "--on-request",   "--",   w->package, NULL};
    snprintf(home, sizeof(home), "SALLYPORT_HOME=%s", s->config.home);
    choose_environment(home, envp);
    const struct spawn_request request = {.argv = argv, .envp = envp, .cwd = "/"};
    w->token = spawn_child(s->config.spawn, &request, on_started, on_exited, w, err);
    if (!w->token)
        return -1;
    io_timer_arm(s->config.loop, &w->limit, CODE_PACKAGE_MS, on_late);
    return 0;
}

static void work_free(struct package_work *w) {
    struct code_server *s = w->server;
    io_timer_stop(s->config.loop, &w->limit);
    if (w->token)
        spawn_forget(s->config.spawn, w->token);
    for (int i = 0; i < 2; i++)
        io_conn_close(w->words[i]);
    free(w->package);
    free(w);
    s->package_work = NULL;
}

void package_install_stop(struct code_server *s) {
    if (s->package_work)
        work_free(s->package_work);
}

/* ---- the request ---- */

/* In the form of the profile's own tool, if it has one; otherwise of ours. */
static void reply(struct code_req *r, struct slice name, bool ok, struct slice message) {
    if (r->tool != &package_install_tool) {
        code_reply_text(
            r,
            ok ? arena_printf(&r->arena, "Successfully installed %.*s", SLICE_FMT(name))
               : arena_printf(&r->arena, "Error installing %.*s:\n%.*s", SLICE_FMT(name), SLICE_FMT(message)),
            false);
        return;
    }
    cleanup_buf struct buf json;
    struct emit e;
    buf_init(&json, CODE_TEXT_RESULT_MAX);
    emit_init(&e, &json);
    emit_object(&e);
    emit_key(&e, "success");
    emit_bool(&e, ok);
    emit_key(&e, "package");
    emit_str(&e, name);
    emit_key(&e, "message");
    emit_str(&e, message);
    emit_object_end(&e);
    code_reply_json(r, buf_slice(&json), !ok);
}

static void finish(struct code_req *r, const struct pack_spec *spec, struct slice name) {
    struct err err;
    if (package_keep(r->owner, spec, &r->arena, &err) < 0)
        reply(r, name, false, slice_str(err.text));
    else
        reply(r, name, true, SLICE("installed: your later runs can import it"));
}

static struct slice asked_name(struct code_req *r) {
    return slice_trim(slice_upto(code_arg_text(r, "package_name", (struct slice){0}), CODE_PACKAGE_NAME_MAX));
}

/* Notifies each new line of the output. */
static void notify_progress(struct code_req *r, struct package_work *w) {
    struct slice line, rest = slice_from(slice_of(w->text, w->len), w->notified);
    while (slice_cut(&rest, '\n', &line)) {
        w->notified += line.len + 1;
        if (slice_starts(line, SLICE("sallyport: ")))
            line = slice_from(line, strlen("sallyport: "));
        if (!r->token.len || !line.len)
            continue;
        cleanup_buf struct buf out;
        struct emit e;
        buf_init(&out, 8 * TEXT_MAX);
        buf_put_str(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
        emit_init(&e, &out);
        emit_object(&e);
        emit_key(&e, "progressToken");
        emit_raw(&e, r->token);
        emit_key(&e, "progress");
        emit_int(&e, ++w->steps);
        emit_key(&e, "message");
        emit_str(&e, line);
        emit_object_end(&e);
        buf_put_char(&out, '}');
        code_req_send(r, buf_slice(&out));
    }
}

static void on_poll(struct io_timer *timer);

static bool is_over(const struct package_work *w) { return !w->token && !w->words[0] && !w->words[1]; }

static void look(struct code_req *r) {
    struct code_server *s = r->conn->server;
    struct package_work *w = s->package_work;
    const struct slice name = asked_name(r);
    struct pack_spec spec;
    struct err err = {""};
    const struct slice entry = pack_spec_parse(name, PACK_PIP, &spec, &err) == 0
                                   ? pack_choose_allowed(package_allowed(s), &spec, &r->arena)
                                   : (struct slice){0};
    if (w && slice_is(entry, w->package))
        notify_progress(r, w);
    if (w && is_over(w) && slice_is(entry, w->package)) {
        const bool ok = WIFEXITED(w->status) && WEXITSTATUS(w->status) == 0;
        const struct slice words = arena_dup(&r->arena, slice_of(w->text, w->len));
        work_free(w);
        if (ok)
            finish(r, &spec, name);
        else
            reply(r, name, false, words);
        return;
    }
    if (w && is_over(w)) { /* its caller has disconnected */
        work_free(w);
        w = NULL;
    }
    if (!w) {
        w = s->package_work = mem_zalloc(sizeof(*w));
        w->server = s;
        w->package = mem_dup(entry.ptr, entry.len);
        if (work_start(w, &err) != 0) {
            work_free(w);
            reply(r, name, false, slice_str(err.text));
            return;
        }
    }
    io_timer_arm(s->config.loop, &r->timer, CODE_PACKAGE_POLL_MS, on_poll);
}

static void on_poll(struct io_timer *timer) { look(container_of(timer, struct code_req, timer)); }

/* Names of installed packages, as a hint. */
static struct slice available(struct code_server *s, struct arena *a) {
    cleanup_manifest struct pack_manifest m = {0};
    struct err err;
    struct slice text = {0};
    if (pack_manifest_load(package_dir(s), &m, &err) < 0)
        return text;
    for (size_t i = 0; i < m.package_count && text.len < AVAILABLE_MAX; i++)
        text = arena_printf(a, "%.*s%s%s%.*s", SLICE_FMT(text), text.len ? ", " : "",
                            m.packages[i]->kind == PACK_NPM ? "npm:" : "", SLICE_FMT(m.packages[i]->name));
    return text.len ? arena_printf(a, "; installed are %.*s", SLICE_FMT(text)) : text;
}

static void refuse(struct code_req *r, struct slice name) {
    struct code_server *s = r->conn->server;
    const char *why = *package_allowed(s) ? "Not on the list" : "Installing packages is turned off";
    reply(r, name, false,
          arena_printf(
              &r->arena,
              "%s: the operator has not allowed this package; `sallyport code packages add` installs it, "
              "code.packages.allow lets agents%.*s",
              why, SLICE_FMT(available(s, &r->arena))));
}

void package_install(struct code_req *r) {
    struct code_server *s = r->conn->server;
    const struct slice name = asked_name(r);
    struct pack_spec spec;
    struct err err = {""};
    if (!s->sandbox || !*package_dir(s) || pack_spec_parse(name, PACK_PIP, &spec, &err) < 0) {
        if (*err.text && *package_allowed(s))
            reply(r, name, false, arena_printf(&r->arena, "Not on the list: %s", err.text));
        else
            refuse(r, name);
        return;
    }
    struct pack_choose q =
        package_question(s, spec.kind == PACK_NPM ? SANDBOX_JAVASCRIPT : SANDBOX_PYTHON, &r->arena);
    q.asked = &name;
    q.asked_count = 1;
    cleanup_buf struct buf ignored;
    buf_init(&ignored, PACK_MANIFEST_MAX);
    if (pack_choose(&q, &ignored, &err) == 0)
        finish(r, &spec, name);
    else if (pack_choose_allowed(package_allowed(s), &spec, &r->arena).len)
        look(r);
    else
        refuse(r, name);
}
