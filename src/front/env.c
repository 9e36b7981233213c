#include "front/env.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/limits.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

/* A name, or a prefix of names if it ends in `*`. */
static const char *const allowed[] = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_*",
    "NVM_*",
    "VOLTA_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYENV_*",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYTHON*",
    "UV_CACHE_DIR",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "CARGO_HOME",
    "DISPLAY",
    "WAYLAND_DISPLAY",
};

static const char *const credential_marks[] = {"TOKEN",      "KEY",  "SECRET", "PASSWORD",
                                               "CREDENTIAL", "_URL", "DSN"};

/* Of the shell, the desktop or this program; no server needs them. */
static const char *const of_session[] = {
    "PWD",    "OLDPWD",   "SHLVL",      "_",           "HOSTNAME",      "MAIL",
    "PS1",    "HIST*",    "LS_COLORS",  "LESS*",       "EDITOR",        "PAGER",
    "LINES",  "COLUMNS",  "TERM_*",     "COLORTERM",   "SSH_*",         "GPG_*",
    "DBUS_*", "VSCODE_*", "ELECTRON_*", "SALLYPORT_*", "INVOCATION_ID", "JOURNAL_STREAM"};

static bool matches(const char *pattern, const char *name, size_t len) {
    size_t want = strlen(pattern);
    if (pattern[want - 1] == '*')
        return len >= want - 1 && memcmp(pattern, name, want - 1) == 0;
    return len == want && memcmp(pattern, name, len) == 0;
}

static bool is_one_of(const char *const *patterns, size_t count, const char *name, size_t len) {
    for (size_t i = 0; i < count; i++)
        if (matches(patterns[i], name, len))
            return true;
    return false;
}

static bool is_extra(const char *name, size_t len, const char *const *extra, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t extra_len = strcspn(extra[i], "=");
        if (extra_len == len && memcmp(extra[i], name, len) == 0)
            return true;
    }
    return false;
}

static void env_add(struct env_list *list, const char *text) {
    list->items = mem_realloc(list->items, (list->count + 2) * sizeof(*list->items));
    list->items[list->count++] = mem_dup(text, strlen(text));
    list->items[list->count] = NULL;
}

/* Credentials have a line each; the names of the others are collected for one. */
static void note_kept_back(struct buf *others, const char *name, size_t len) {
    for (size_t i = 0; i < ARRAY_LEN(credential_marks); i++) {
        if (memmem(name, len, credential_marks[i], strlen(credential_marks[i]))) {
            log_info("not passed to the server: %.*s (pass it with --env %.*s)", (int)len, name, (int)len,
                     name);
            return;
        }
    }
    if (!is_one_of(of_session, ARRAY_LEN(of_session), name, len))
        buf_printf(others, "%s%.*s", others->len ? ", " : "", (int)len, name);
}

void env_select(struct env_list *list, const char *const *extra, size_t extra_count, bool log_withheld) {
    cleanup_buf struct buf others;
    buf_init(&others, FRONT_ENV_NAMES_MAX);
    *list = (struct env_list){.items = mem_zalloc(sizeof(char *))};
    for (char **e = environ; *e; e++) {
        size_t len = strcspn(*e, "=");
        bool named = is_extra(*e, len, extra, extra_count);
        if (!named && is_one_of(allowed, ARRAY_LEN(allowed), *e, len))
            env_add(list, *e);
        else if (!named && log_withheld)
            note_kept_back(&others, *e, len);
    }
    if (others.len)
        log_info("also not passed to the server: %.*s%s (pass what it needs with --env NAME)",
                 (int)others.len, others.ptr, others.full ? ", ..." : "");
    for (size_t i = 0; i < extra_count; i++) {
        size_t len = strcspn(extra[i], "=");
        if (extra[i][len] == '=') {
            env_add(list, extra[i]);
            continue;
        }
        for (char **e = environ; *e; e++)
            if (strcspn(*e, "=") == len && memcmp(*e, extra[i], len) == 0)
                env_add(list, *e);
    }
}

void env_free(struct env_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}
