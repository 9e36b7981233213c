#include "packages/install.h"

#include "base/clock.h"
#include "base/mem.h"
#include "io/file.h"
#include "packages/wanted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PACKAGES_INSIDE "/opt/packages" /* the path in a sandbox, for tracebacks */

/* ---- directories ---- */

/* All users may read it, because a sandbox runs as another user. The home above it stays private. */
static int make_dirs(const char *dir, struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    const char *const all[] = {dir, arena_printf(&a, "%s/py", dir).ptr, arena_printf(&a, "%s/js", dir).ptr};
    if (io_make_dir(dir, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if ((mkdir(all[i], 0755) < 0 && errno != EEXIST) || chmod(all[i], 0755) < 0)
            return err_set(err, "make %s: %s", all[i], strerror(errno));
    return 0;
}

/* Scratch directories of commands that were killed: tmp-PID-XXXXXX. */
static void sweep_scratch(const char *dir) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct slice rest = slice_str(e->d_name), pid;
        uint64_t number;
        if (!slice_starts(rest, SLICE(PACK_LAYER_SCRATCH)))
            continue;
        rest = slice_from(rest, strlen(PACK_LAYER_SCRATCH));
        if (!slice_cut(&rest, '-', &pid) || !slice_to_u64(pid, &number) || kill((pid_t)number, 0) == 0 ||
            errno != ESRCH)
            continue;
        cleanup_arena struct arena a;
        arena_init(&a);
        pack_layer_remove(arena_printf(&a, "%s/%s", dir, e->d_name).ptr);
    }
    if (d)
        closedir(d);
}

static void sweep_layers(const char *dir, const struct pack_manifest *m, const struct pack_manifest *before) {
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < before->layer_count; i++)
        if (!pack_manifest_needs(m, before->layers[i].path))
            pack_layer_remove(arena_printf(&a, "%s/%.*s", dir, SLICE_FMT(before->layers[i].path)).ptr);
}

/* ---- bytecode ---- */

/* Without this, Python would compile imported files in each run. Compiling runs no code of the package. A
 * file that cannot be compiled is imported as it is, or fails as usual. */
static void compile_wheel(struct pack_batch *b, const struct pack_chosen *c) {
    const char *python = b->work->python && *b->work->python ? b->work->python : "python3";
    const char *const argv[] = {python,
                                "-I",
                                "-S",
                                "-m",
                                "compileall",
                                "-q",
                                "-q",
                                "--invalidation-mode",
                                "unchecked-hash",
                                "-s",
                                c->place,
                                "-p",
                                arena_printf(b->arena, PACKAGES_INSIDE "/%.*s", SLICE_FMT(c->layer.path)).ptr,
                                c->place,
                                NULL};
    const struct pack_installer run = {.argv = argv, .cwd = b->scratch, .stop = b->work->stop};
    struct err ignored;
    cleanup_buf struct buf out;
    buf_init(&out, PACK_WORDS_MAX);
    pack_installer_run(&run, &out, &ignored);
}

/* ---- unpacking ---- */

static const struct pack_layer *known_layer(const struct pack_manifest *m, struct slice path) {
    for (size_t i = 0; i < m->layer_count; i++)
        if (slice_eq(m->layers[i].path, path))
            return &m->layers[i];
    return NULL;
}

static int unpack_all(struct pack_batch *b, const struct pack_manifest *m, struct err *err) {
    for (size_t i = 0; i < b->chosen_count; i++) {
        struct pack_chosen *c = &b->chosen[i];
        const struct pack_layer *known = known_layer(m, c->layer.path);
        if (b->work->stop && *b->work->stop)
            return err_set(err, "interrupted");
        if (known) {
            c->layer = *known;
            continue;
        }
        c->place = arena_printf(b->arena, "%s/layer-%zu", b->scratch, i).ptr;
        if (pack_layer_unpack(slice_starts(c->layer.path, SLICE("js/")) ? PACK_NPM : PACK_PIP, c->parts,
                              c->part_count, c->place, &c->layer, b->arena, err) < 0)
            return -1;
        if (slice_starts(c->layer.path, SLICE("py/")))
            compile_wheel(b, c);
        b->work->say(arena_printf(b->arena, "unpacked %.*s %.*s (%.1f MB)", SLICE_FMT(c->layer.name),
                                  SLICE_FMT(c->layer.version), (double)c->layer.bytes / 1e6)
                         .ptr);
    }
    return 0;
}

/* ---- installing ---- */

static int place_all(struct pack_batch *b, struct pack_manifest *m, uint32_t *ret_indexes, struct err *err) {
    for (size_t i = 0; i < b->chosen_count; i++) {
        const struct pack_chosen *c = &b->chosen[i];
        if (!known_layer(m, c->layer.path)) {
            if (!c->place)
                return err_set(err, "%.*s was removed meanwhile: try again", SLICE_FMT(c->layer.name));
            if (pack_layer_place(c->place, b->work->dir, c->layer.path, err) < 0)
                return -1;
        }
        ret_indexes[i] = pack_manifest_layer(m, &c->layer);
    }
    return 0;
}

static int commit(struct pack_batch *b, struct pack_installed *ret_installed, struct err *err) {
    const char *dir = b->work->dir;
    cleanup_manifest struct pack_manifest m = {0};
    uint32_t indexes[PACK_LAYERS_MAX];
    cleanup_fd int guard = io_file_guard(arena_printf(b->arena, "%s/" PACK_MANIFEST_NAME, dir).ptr);
    cleanup_fd int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (guard < 0 || root < 0)
        return err_set(err, "lock %s: %s", dir, strerror(errno));
    syncfs(root); /* the manifest must not outlive what it names */
    if (pack_manifest_load(dir, &m, err) < 0 || place_all(b, &m, indexes, err) < 0)
        return -1;
    for (size_t i = 0; i < b->package_count; i++) {
        struct pack_package *p = &b->packages[i];
        const struct pack_spec spec = {.kind = p->kind, .name = p->name, .version = p->version};
        const struct pack_package *before = pack_manifest_find(&m, &spec);
        ret_installed[i] = (struct pack_installed){p->name, p->version, p->kind, before != NULL};
        for (size_t k = 0; k < p->layer_count; k++)
            p->layers[k] = indexes[p->layers[k]];
        p->added_ms = clock_wall_ms();
        p->on_request = b->work->on_request && (!before || before->on_request);
        pack_manifest_put(&m, p);
    }
    if (m.package_count > PACK_PACKAGES_MAX)
        return err_set(err, "%d packages can be installed: remove some", PACK_PACKAGES_MAX);
    return pack_manifest_save(dir, &m, err);
}

static bool has_kind(const struct pack_batch *b, enum pack_kind kind) {
    for (size_t i = 0; i < b->spec_count; i++)
        if (b->specs[i].kind == kind)
            return true;
    return false;
}

static int fetch_all(struct pack_batch *b, struct err *err) {
    cleanup_manifest struct pack_manifest m = {0};
    if (has_kind(b, PACK_PIP) && pack_pip_fetch(b, err) < 0)
        return -1;
    if (has_kind(b, PACK_NPM) && pack_npm_fetch(b, err) < 0)
        return -1;
    return pack_manifest_load(b->work->dir, &m, err) < 0 ? -1 : unpack_all(b, &m, err);
}

int pack_install(const struct pack_install *w, const struct pack_spec *specs, size_t count, struct arena *a,
                 struct pack_installed *ret_installed, size_t *ret_count, struct err *err) {
    cleanup_free struct pack_batch *b = mem_zalloc(sizeof(*b));
    if (count > PACK_SPECS_MAX)
        return err_set(err, "%d packages at a time", PACK_SPECS_MAX);
    if (make_dirs(w->dir, err) < 0)
        return -1;
    sweep_scratch(w->dir);
    char *scratch = arena_alloc(a, strlen(w->dir) + 64);
    snprintf(scratch, strlen(w->dir) + 64, "%s/" PACK_LAYER_SCRATCH "%d-XXXXXX", w->dir, (int)getpid());
    if (!mkdtemp(scratch))
        return err_set(err, "make a directory in %s: %s", w->dir, strerror(errno));
    *b = (struct pack_batch){.work = w, .scratch = scratch, .arena = a, .specs = specs, .spec_count = count};
    const int done = fetch_all(b, err) < 0 || commit(b, ret_installed, err) < 0 ? -1 : 0;
    *ret_count = b->package_count;
    pack_layer_remove(scratch);
    return done;
}

int pack_install_remove(const char *dir, const struct pack_spec *specs, size_t count, size_t *ret_removed,
                        struct err *err) {
    cleanup_manifest struct pack_manifest m = {0}, before = {0};
    cleanup_arena struct arena a;
    arena_init(&a);
    if (make_dirs(dir, err) < 0)
        return -1;
    cleanup_fd int guard = io_file_guard(arena_printf(&a, "%s/" PACK_MANIFEST_NAME, dir).ptr);
    if (guard < 0)
        return err_set(err, "lock %s: %s", dir, strerror(errno));
    if (pack_manifest_load(dir, &m, err) < 0 || pack_manifest_load(dir, &before, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const size_t removed = pack_manifest_remove(&m, &specs[i]);
        if (!removed)
            return err_set(err, "`%.*s` is not installed; `sallyport code packages list` shows what is",
                           SLICE_FMT(specs[i].text));
        *ret_removed += removed;
    }
    if (pack_manifest_save(dir, &m, err) < 0)
        return -1;
    sweep_layers(dir, &m, &before);
    return 0;
}
