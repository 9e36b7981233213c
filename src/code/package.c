#include "code/package.h"

#include "base/mem.h"
#include "code/code_arg.h"
#include "code/code_reply.h"
#include "io/conn.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ENVIRONMENT_MAX 32
#define TEXT_MAX 4096 /* of pip's last words */

extern char **environ;

/* One at a time: they write into the same directory. */
struct package_work {
    struct code_server *server;
    uint64_t token; /* of the spawner; 0 once it has ended */
    int status;
    struct io_conn *words[2];
    struct io_timer limit;
    char *package; /* as the operator wrote it */
    char text[TEXT_MAX];
    size_t len;
};

const char *package_dir(struct code_server *s) {
    if (!s->config.packages || !*s->config.packages)
        return "";
    if (!*s->packages_dir)
        snprintf(s->packages_dir, sizeof(s->packages_dir), "%s/code/packages", s->config.home);
    /* Everybody may read it: a sandbox is nobody here. HOME above it is not for everybody. */
    if (mkdir(s->packages_dir, 0755) != 0 && errno != EEXIST)
        return "";
    return chmod(s->packages_dir, 0755) == 0 ? s->packages_dir : "";
}

/* Letters of names are compared as pip does: case, `-`, `_` and `.` do not matter. */
static char folded(char c) { return c == '_' || c == '.' ? '-' : (char)tolower((unsigned char)c); }

static bool same_name(struct slice a, struct slice b) {
    bool same = a.len == b.len && a.len > 0;
    for (size_t i = 0; same && i < a.len; i++)
        same = folded(a.ptr[i]) == folded(b.ptr[i]);
    return same;
}

/* The operator's entry, "name" or "name==1.2", for that name or word for word; empty for none. */
static struct slice allowed(const struct code_server *s, struct slice name) {
    struct slice rest = slice_str(s->config.packages ? s->config.packages : ""), entry;
    for (bool more = rest.len > 0; more;) {
        more = slice_cut(&rest, ',', &entry);
        entry = slice_trim(entry);
        size_t len = 0;
        while (len < entry.len && !strchr("=<>!~[; ", entry.ptr[len]))
            len++;
        if (same_name(slice_upto(entry, len), name) || same_name(entry, name))
            return entry;
    }
    return (struct slice){0};
}

/* ---- pip ---- */

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

/* What pip needs to find the network and its settings, and nothing else of ours. */
static void choose_environment(const char *ret_envp[ENVIRONMENT_MAX]) {
    static const char *const names[] = {"PATH=",        "HOME=",        "LANG=",       "PIP_",
                                        "http_proxy=",  "https_proxy=", "HTTP_PROXY=", "no_proxy=",
                                        "HTTPS_PROXY=", "NO_PROXY=",    "SSL_CERT_"};
    size_t n = 0;
    for (char **e = environ; *e && n < ENVIRONMENT_MAX - 1; e++)
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (strncmp(*e, names[i], strlen(names[i])) == 0) {
                ret_envp[n++] = *e;
                break;
            }
    ret_envp[n] = NULL;
}

/* Wheels only: no code of a package runs outside the sandbox, not even to build it. */
static int work_start(struct package_work *w, struct err *err) {
    struct code_server *s = w->server;
    const char *python = getenv("SALLYPORT_PYTHON"), *envp[ENVIRONMENT_MAX];
    char version[16] = "";
    unsigned major = 0, minor = 0;
    const char *name = strchr(sandbox_runtime_name(s->sandbox, SANDBOX_PYTHON), ' ');
    char *end = NULL;
    if (name) {
        major = (unsigned)strtoul(name, &end, 10);
        minor = (unsigned)strtoul(end + (*end == '.'), NULL, 10);
    }
    snprintf(version, sizeof(version), "%u.%u", major, minor);
    const char *const argv[] = {"/bin/sh",
                                "-c",
                                "umask 022; exec \"$@\"",
                                "sh",
                                python && *python ? python : "python3",
                                "-m",
                                "pip",
                                "install",
                                "--no-input",
                                "--disable-pip-version-check",
                                "--no-cache-dir",
                                "--upgrade",
                                "--only-binary",
                                ":all:",
                                "--python-version",
                                version,
                                "--target",
                                package_dir(s),
                                "--",
                                w->package,
                                NULL};
    choose_environment(envp);
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

void package_stop(struct code_server *s) {
    if (s->package_work)
        work_free(s->package_work);
}

/* ---- the request ---- */

static void on_look(struct io_timer *timer);

static void look(struct code_req *r) {
    struct code_server *s = r->conn->server;
    struct package_work *w = s->package_work;
    struct slice name =
        slice_upto(code_arg_text(r, "package_name", (struct slice){0}), CODE_PACKAGE_NAME_MAX);
    const struct slice entry = allowed(s, name);
    struct err err = {""};
    if (w && !w->token && !w->words[0] && !w->words[1] && slice_is(entry, w->package)) {
        const bool ok = WIFEXITED(w->status) && WEXITSTATUS(w->status) == 0;
        code_reply_text(r,
                        ok ? arena_printf(&r->arena, "Successfully installed %.*s", SLICE_FMT(name))
                           : arena_printf(&r->arena, "Error installing %.*s:\n%.*s", SLICE_FMT(name),
                                          (int)w->len, w->text),
                        false);
        work_free(w);
        return;
    }
    if (w && !w->token && !w->words[0] && !w->words[1]) { /* its caller has gone */
        work_free(w);
        w = NULL;
    }
    if (!w) {
        w = s->package_work = mem_zalloc(sizeof(*w));
        w->server = s;
        w->package = mem_dup(entry.ptr, entry.len);
        if (work_start(w, &err) != 0) {
            work_free(w);
            code_reply_text(
                r, arena_printf(&r->arena, "Error installing %.*s:\n%s", SLICE_FMT(name), err.text), false);
            return;
        }
    }
    io_timer_arm(s->config.loop, &r->timer, CODE_PACKAGE_LOOK_MS, on_look);
}

static void on_look(struct io_timer *timer) { look(container_of(timer, struct code_req, timer)); }

void package_install(struct code_req *r, struct slice name) {
    struct code_server *s = r->conn->server;
    if (s->sandbox && *package_dir(s) && allowed(s, name).len) {
        look(r);
        return;
    }
    code_reply_text(
        r,
        arena_printf(&r->arena, "Error installing %.*s:\n%s: the operator has not allowed this package",
                     SLICE_FMT(name),
                     s->config.packages && *s->config.packages ? "Not on the list"
                                                               : "Installing packages is turned off"),
        false);
}
