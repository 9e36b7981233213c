#include "base/hex.h"
#include "base/mem.h"
#include "io/file.h"
#include "packages/wanted.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

/* One wheel of pip's report. */
struct wheel {
    struct slice name, version, sha256;
    uint32_t needs; /* node of its requirements, or 0 */
    const char *file;
};

struct pip {
    struct pack_batch *batch;
    const char *program; /* a Python that has pip */
    const char *version; /* of the sandbox's Python, "3.11" */
    const char *dir;     /* of the wheels */
    struct tape report;
    struct buf text; /* of it */
    struct wheel wheels[PACK_LAYERS_MAX];
    size_t count;
};

/* ---- which Python ---- */

static int ask_version(struct pip *p, const char *python, struct err *err) {
    cleanup_buf struct buf out;
    buf_init(&out, 4096);
    const char *const argv[] = {python, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])",
                                NULL};
    const struct pack_installer run = {.argv = argv, .stop = p->batch->work->stop};
    if (pack_installer_run(&run, &out, err) < 0)
        return -1;
    p->version = arena_dup(p->batch->arena, slice_trim(buf_slice(&out))).ptr;
    return 0;
}

/* The sandbox's own Python if it has pip; else any Python, which then chooses for that version. */
static int find_pip(struct pip *p, struct err *err) {
    const char *const given = p->batch->work->python;
    const char *const tried[] = {given && *given ? given : "python3", "python3", "/usr/bin/python3",
                                 "python"};
    if (ask_version(p, tried[0], err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(tried); i++) {
        cleanup_buf struct buf out;
        struct err ignored;
        buf_init(&out, 4096);
        const char *const argv[] = {tried[i], "-m", "pip", "--version", NULL};
        const struct pack_installer run = {.argv = argv, .stop = p->batch->work->stop};
        p->program = tried[i];
        if (pack_installer_run(&run, &out, &ignored) == 0)
            return 0;
    }
    return err_set(err, "pip is not installed: with Debian, `apt install python3-pip`");
}

/* ---- the choice ---- */

#define COMMON                                                                                               \
    "--no-input", "--disable-pip-version-check", "--only-binary", ":all:", "--python-version", p->version,   \
        "--progress-bar", "off"

static int resolve(struct pip *p, struct err *err) {
    struct pack_batch *b = p->batch;
    const char *path = arena_printf(b->arena, "%s/report.json", b->scratch).ptr;
    const char *argv[PACK_SPECS_MAX + 32] = {p->program,
                                             "-m",
                                             "pip",
                                             "install",
                                             "--dry-run",
                                             "--ignore-installed",
                                             "--quiet",
                                             "--report",
                                             path,
                                             "--target",
                                             arena_printf(b->arena, "%s/none", b->scratch).ptr,
                                             COMMON,
                                             "--"};
    size_t n = 0;
    while (argv[n])
        n++;
    for (size_t i = 0; i < b->spec_count; i++)
        if (b->specs[i].kind == PACK_PIP)
            argv[n++] = arena_dup(b->arena, b->specs[i].text).ptr;
    cleanup_buf struct buf out;
    buf_init(&out, PACK_WORDS_MAX);
    const struct pack_installer run = {.argv = argv, .cwd = b->scratch, .stop = b->work->stop};
    if (pack_installer_run(&run, &out, err) < 0)
        return -1;
    if (io_file_read(path, &p->text, NULL, err) < 0)
        return -1;
    if (tape_parse(&p->report, buf_slice(&p->text), NULL) != TAPE_OK || !tape_is(&p->report, 0, TAPE_OBJECT))
        return err_set(err, "pip's report cannot be read");
    return 0;
}

/* Outlives the report. */
static struct slice text_at(struct pip *p, uint32_t node) {
    if (!node || !tape_is(&p->report, node, TAPE_STRING))
        return (struct slice){0};
    return arena_dup(p->batch->arena, tape_text(&p->report, node, p->batch->arena));
}

static int read_wheels(struct pip *p, struct err *err) {
    const struct tape *t = &p->report;
    const uint32_t list = tape_get_str(t, 0, "install");
    unsigned char sum[32];
    if (!list || !tape_is(t, list, TAPE_ARRAY) || tape_node(t, list)->count > PACK_LAYERS_MAX)
        return err_set(err, "pip's report cannot be read, or names more than %d packages", PACK_LAYERS_MAX);
    TAPE_FOR_ELEM(t, list, i) {
        struct wheel *w = &p->wheels[p->count++];
        w->name = text_at(p, tape_path(t, i, "metadata", "name", NULL));
        w->version = text_at(p, tape_path(t, i, "metadata", "version", NULL));
        w->sha256 = text_at(p, tape_path(t, i, "download_info", "archive_info", "hashes", "sha256", NULL));
        if (!w->sha256.len) { /* older pips */
            w->sha256 = text_at(p, tape_path(t, i, "download_info", "archive_info", "hash", NULL));
            w->sha256 =
                slice_starts(w->sha256, SLICE("sha256=")) ? slice_from(w->sha256, 7) : (struct slice){0};
        }
        w->needs = tape_path(t, i, "metadata", "requires_dist", NULL);
        if (!hex_get(w->sha256, sum, sizeof(sum)))
            return err_set(err, "the index tells no SHA-256 of %.*s", SLICE_FMT(w->name));
    }
    return 0;
}

/* ---- the wheels ---- */

static int download(struct pip *p, struct err *err) {
    struct pack_batch *b = p->batch;
    cleanup_buf struct buf list, out;
    buf_init(&list, PACK_MANIFEST_MAX);
    buf_init(&out, PACK_WORDS_MAX);
    for (size_t i = 0; i < p->count; i++)
        buf_printf(&list, "%.*s==%.*s --hash=sha256:%.*s\n", SLICE_FMT(p->wheels[i].name),
                   SLICE_FMT(p->wheels[i].version), SLICE_FMT(p->wheels[i].sha256));
    const char *path = arena_printf(b->arena, "%s/requirements.txt", b->scratch).ptr;
    p->dir = arena_printf(b->arena, "%s/wheels", b->scratch).ptr;
    if (mkdir(p->dir, 0700) < 0)
        return err_set(err, "make %s: %s", p->dir, strerror(errno));
    if (io_file_write(path, buf_slice(&list), err) < 0)
        return -1;
    const char *const argv[] = {
        p->program, "-m",     "pip",  "download",      "--quiet", "--no-deps", "--require-hashes",
        COMMON,     "--dest", p->dir, "--requirement", path,      NULL};
    const struct pack_installer run = {.argv = argv, .cwd = b->scratch, .stop = b->work->stop};
    return pack_installer_run(&run, &out, err);
}

/* Files are matched to wheels by hash, not by name. */
static int match_files(struct pip *p, struct err *err) {
    DIR *dir = opendir(p->dir);
    int done = dir ? 0 : err_set(err, "open %s: %s", p->dir, strerror(errno));
    for (struct dirent *e; done == 0 && (e = readdir(dir));) {
        char hex[65];
        if (e->d_name[0] == '.')
            continue;
        const char *file = arena_printf(p->batch->arena, "%s/%s", p->dir, e->d_name).ptr;
        done = pack_layer_sha256(file, hex, err);
        for (size_t i = 0; done == 0 && i < p->count; i++)
            if (slice_is(p->wheels[i].sha256, hex))
                p->wheels[i].file = file;
    }
    if (dir)
        closedir(dir);
    for (size_t i = 0; done == 0 && i < p->count; i++)
        if (!p->wheels[i].file)
            done = err_set(err,
                           "the wheel of %.*s is missing, or its SHA-256 is not the one that the index tells",
                           SLICE_FMT(p->wheels[i].name));
    return done;
}

/* ---- what each package needs ---- */

static ptrdiff_t find_wheel(const struct pip *p, struct slice name) {
    for (size_t i = 0; i < p->count; i++)
        if (pack_spec_same_name(PACK_PIP, p->wheels[i].name, name))
            return (ptrdiff_t)i;
    return -1;
}

/* "httpcore[h2] (==1.*) ; python_version < '3.13' and extra == 'x'": the name, and whether it is asked for in
 * brackets only. Markers of the machine need no look: what they exclude is not among the wheels, unless
 * something else needs it. */
static struct slice required_name(struct slice text, bool *ret_extra, bool *ret_brackets) {
    struct slice rest = text, head;
    slice_cut(&rest, ';', &head);
    *ret_extra = memmem(rest.ptr, rest.len, "extra", 5) != NULL;
    *ret_brackets = slice_find(head, '[') >= 0;
    size_t len = 0;
    head = slice_trim(head);
    while (len < head.len && !strchr(" [(<>=!~", head.ptr[len]))
        len++;
    return slice_upto(head, len);
}

/* Breadth first: direct requirements before indirect ones. */
static void close_over(struct pip *p, struct pack_package *package, bool extras, size_t first) {
    bool with_extras[PACK_LAYERS_MAX] = {extras};
    for (size_t at = 0; at < package->layer_count; at++) {
        const struct wheel *w = &p->wheels[package->layers[at] - first];
        if (!w->needs || !tape_is(&p->report, w->needs, TAPE_ARRAY))
            continue;
        TAPE_FOR_ELEM(&p->report, w->needs, i) {
            bool extra, brackets;
            const ptrdiff_t found = find_wheel(p, required_name(text_at(p, i), &extra, &brackets));
            if (found < 0 || (extra && !with_extras[at]))
                continue;
            const uint32_t index = (uint32_t)(first + (size_t)found);
            size_t k = 0;
            while (k < package->layer_count && package->layers[k] != index)
                k++;
            with_extras[k] |= brackets;
            if (k == package->layer_count)
                package->layers[package->layer_count++] = index;
        }
    }
}

static int add_to_batch(struct pip *p, struct err *err) {
    struct pack_batch *b = p->batch;
    const size_t first = b->chosen_count;
    if (p->count > PACK_LAYERS_MAX - first)
        return err_set(err, "these packages need more than %d others", PACK_LAYERS_MAX);
    for (size_t i = 0; i < p->count; i++) {
        const struct wheel *w = &p->wheels[i];
        struct pack_layer_part *part = arena_new(b->arena, struct pack_layer_part);
        part->file = w->file;
        b->chosen[b->chosen_count++] = (struct pack_chosen){
            .layer = {.path = arena_printf(b->arena, "py/%.*s", SLICE_FMT(w->sha256)),
                      .name = w->name,
                      .version = w->version},
            .parts = part,
            .part_count = 1,
        };
    }
    for (size_t i = 0; i < b->spec_count; i++) {
        if (b->specs[i].kind != PACK_PIP)
            continue;
        const ptrdiff_t found = find_wheel(p, b->specs[i].name);
        if (found < 0)
            return err_set(err, "pip has not chosen a wheel of %.*s", SLICE_FMT(b->specs[i].name));
        struct pack_package *package = &b->packages[b->package_count++];
        *package = (struct pack_package){.kind = PACK_PIP,
                                         .name = p->wheels[found].name,
                                         .version = p->wheels[found].version,
                                         .python = slice_str(p->version),
                                         .layers = {(uint32_t)(first + (size_t)found)},
                                         .layer_count = 1};
        close_over(p, package, slice_find(b->specs[i].text, '[') >= 0, first);
    }
    return 0;
}

int pack_pip_fetch(struct pack_batch *b, struct err *err) {
    cleanup_free struct pip *p = mem_zalloc(sizeof(*p));
    p->batch = b;
    tape_init(&p->report);
    buf_init(&p->text, PACK_MANIFEST_MAX);
    int done = find_pip(p, err);
    if (done == 0) {
        b->work->say(arena_printf(b->arena, "pip chooses wheels for Python %s", p->version).ptr);
        done = resolve(p, err) < 0 || read_wheels(p, err) < 0 ? -1 : 0;
    }
    if (done == 0) {
        b->work->say(
            arena_printf(b->arena, "pip fetches %zu wheel%s", p->count, p->count == 1 ? "" : "s").ptr);
        done = download(p, err) < 0 || match_files(p, err) < 0 || add_to_batch(p, err) < 0 ? -1 : 0;
    }
    tape_free(&p->report);
    buf_free(&p->text);
    return done;
}
