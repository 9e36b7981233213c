#include "code/package.h"

#include "base/mem.h"
#include "io/file.h"
#include "packages/choose.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- installed packages ---- */

const char *package_dir(struct code_server *s) {
    if (!*s->packages_dir)
        snprintf(s->packages_dir, sizeof(s->packages_dir), "%s/code/packages", s->config.home);
    /* Readable for every user, because a sandbox runs as another one. The home above it is not. */
    if (mkdir(s->packages_dir, 0755) != 0 && errno != EEXIST)
        return "";
    return chmod(s->packages_dir, 0755) == 0 ? s->packages_dir : "";
}

const char *package_allowed(const struct code_server *s) {
    return s->config.packages ? s->config.packages : "";
}

bool package_offered(const struct code_server *s) {
    char path[CODE_OWNER_PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/code/packages/" PACK_MANIFEST_NAME, s->config.home);
    return *package_allowed(s) || access(path, R_OK) == 0;
}

/* "3.11" of "CPython 3.11.2". */
static const char *python_of(const struct code_server *s, struct arena *a) {
    struct slice rest = slice_str(s->sandbox ? sandbox_runtime_name(s->sandbox, SANDBOX_PYTHON) : ""), major,
                 minor;
    slice_cut(&rest, ' ', &major);
    slice_cut(&rest, '.', &major);
    slice_cut(&rest, '.', &minor);
    return minor.len ? arena_printf(a, "%.*s.%.*s", SLICE_FMT(major), SLICE_FMT(minor)).ptr : NULL;
}

struct pack_choose package_question(struct code_server *s, enum sandbox_language language, struct arena *a) {
    return (struct pack_choose){.dir = package_dir(s),
                                .allow = package_allowed(s),
                                .kind = sandbox_is_javascript(language) ? PACK_NPM : PACK_PIP,
                                .python = python_of(s, a)};
}

void package_write_installed(struct code_server *s, struct emit *e) {
    cleanup_manifest struct pack_manifest m = {0};
    struct err err;
    if (pack_manifest_load(package_dir(s), &m, &err) == 0)
        pack_manifest_write(&m, e);
}

void package_write_allowed(const struct code_server *s, struct emit *e) {
    for (struct slice rest = slice_str(package_allowed(s)), entry; rest.len;) {
        slice_cut(&rest, '\n', &entry);
        if (slice_trim(entry).len)
            emit_str(e, slice_trim(entry));
    }
}

/* ---- packages of a principal ---- */

/* HOME/code/PRINCIPAL/packages: one spec per line. Other processes write it too. */
static const char *kept_path(const struct code_owner *o, struct arena *a) {
    return arena_printf(a, "%s/code/%s/packages", o->server->config.home, o->dir).ptr;
}

static size_t read_kept(const struct code_owner *o, struct arena *a, struct slice specs[PACK_SPECS_MAX]) {
    const char *path = kept_path(o, a);
    struct err err;
    size_t count = 0;
    if (access(path, F_OK) != 0)
        return 0;
    cleanup_buf struct buf text;
    buf_init(&text, CODE_PACKAGES_TEXT_MAX);
    if (io_file_read(path, &text, NULL, &err) < 0)
        return 0;
    struct slice rest = arena_dup(a, buf_slice(&text)), line;
    while (rest.len && count < PACK_SPECS_MAX) {
        slice_cut(&rest, '\n', &line);
        if (line.len)
            specs[count++] = line;
    }
    return count;
}

/* Replaces another version of it. */
int package_keep(const struct code_owner *o, const struct pack_spec *spec, struct arena *a, struct err *err) {
    struct slice specs[PACK_SPECS_MAX];
    const size_t count = read_kept(o, a, specs);
    cleanup_buf struct buf text;
    buf_init(&text, CODE_PACKAGES_TEXT_MAX);
    buf_printf(&text, "%s:%.*s\n", pack_spec_kind_name(spec->kind), SLICE_FMT(spec->text));
    for (size_t i = 0; i < count && i < PACK_SPECS_MAX - 1; i++) {
        struct pack_spec other;
        if (pack_spec_parse(specs[i], PACK_PIP, &other, err) == 0 &&
            (other.kind != spec->kind || !pack_spec_same_name(spec->kind, other.name, spec->name)))
            buf_printf(&text, "%.*s\n", SLICE_FMT(specs[i]));
    }
    return io_file_replace(kept_path(o, a), buf_slice(&text), 0600, err);
}

/* ---- packages of a run ---- */

int package_choose(const struct code_owner *o, enum sandbox_language language, const struct slice *asked,
                   size_t asked_count, struct arena *a, struct slice *ret_packages, struct err *err) {
    struct slice kept[PACK_SPECS_MAX];
    const size_t kept_count = read_kept(o, a, kept);
    if (!asked_count && !kept_count)
        return 0;
    struct pack_choose q = package_question(o->server, language, a);
    q.asked = asked;
    q.asked_count = asked_count;
    q.kept = kept;
    q.kept_count = kept_count;
    cleanup_buf struct buf json;
    buf_init(&json, PACK_MANIFEST_MAX);
    if (pack_choose(&q, &json, err) < 0)
        return -1;
    *ret_packages = arena_dup(a, buf_slice(&json));
    return 0;
}

/* The name between the quotes after `before`. */
static struct slice quoted_behind(struct slice text, struct slice before) {
    const char *at = text.len ? memmem(text.ptr, text.len, before.ptr, before.len) : NULL;
    struct slice name = {0};
    if (!at)
        return name;
    struct slice rest = slice_from(text, (size_t)(at - text.ptr) + before.len);
    return slice_cut(&rest, '\'', &name) ? name : (struct slice){0};
}

/* The interpreter also names the operator's command, which a package that is there or allowed does not need.
 */
static struct slice without_command(struct slice error) {
    const struct slice command = SLICE("; the operator can install it with `");
    const char *at = memmem(error.ptr, error.len, command.ptr, command.len);
    return at ? slice_upto(error, (size_t)(at - error.ptr)) : error;
}

/* The text is output of code and can contain anything: the name is only looked up. */
struct slice package_explain(struct code_server *s, enum sandbox_language language, struct slice error,
                             struct arena *a) {
    const bool python = !sandbox_is_javascript(language);
    struct slice rest = quoted_behind(error,
                                      python ? SLICE("No module named '") : SLICE("Cannot find module '")),
                 name;
    bool installed = false;
    if (!rest.len && python) /* the wording of pandas, for instance for to_excel */
        rest = quoted_behind(error, SLICE("Missing optional dependency '"));
    if (!rest.len || rest.len > CODE_PACKAGE_NAME_MAX || !package_offered(s))
        return error;
    if (python)
        slice_cut(&rest, '.', &name);
    else if (rest.ptr[0] == '@')
        name = rest;
    else
        slice_cut(&rest, '/', &name);
    const struct pack_choose q = package_question(s, language, a);
    const struct slice spec = pack_choose_for_module(&q, name, &installed, a);
    if (!spec.len)
        return error;
    error = without_command(error);
    return installed
               ? arena_printf(a, "%.*s. Ask for its package: packages: [\"%.*s\"]", SLICE_FMT(error),
                              SLICE_FMT(spec))
               : arena_printf(
                     a, "%.*s. Its package is allowed: call install_package with package_name \"%s%.*s\"",
                     SLICE_FMT(error), python ? "" : "npm:", SLICE_FMT(spec));
}
