#include "base/hex.h"
#include "base/mem.h"
#include "base/sha.h"
#include "io/file.h"
#include "packages/unpack.h"
#include "packages/wanted.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* One entry of the lock file. */
struct locked {
    struct slice path; /* node_modules/a/node_modules/b */
    struct slice name, version, integrity;
    const char *file;
};

struct npm {
    struct pack_batch *batch;
    const struct pack_spec *spec;
    const char *dir; /* the directory in which the lock file is made */
    const char *tarballs;
    struct tape lock;
    struct buf text; /* of it */
    struct locked entries[PACK_LAYERS_MAX];
    size_t count;
};

#define QUIET "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"

static int run_npm(struct npm *n, const char *const *argv, struct buf *out, struct err *err) {
    const struct pack_installer run = {.argv = argv, .cwd = n->dir, .stop = n->batch->work->stop};
    return pack_installer_run(&run, out, err);
}

/* ---- the choice ---- */

static int resolve(struct npm *n, struct err *err) {
    struct pack_batch *b = n->batch;
    cleanup_buf struct buf text, out;
    struct emit e;
    buf_init(&text, 4096);
    buf_init(&out, PACK_WORDS_MAX);
    emit_init(&e, &text);
    emit_object(&e);
    emit_key(&e, "private");
    emit_bool(&e, true);
    emit_key(&e, "dependencies");
    emit_object(&e);
    emit_key_slice(&e, n->spec->name);
    const struct slice range = slice_from(n->spec->text, n->spec->name.len + 1);
    emit_str(&e, range.len ? range : SLICE("latest"));
    emit_object_end(&e);
    emit_object_end(&e);
    if (mkdir(n->dir, 0700) < 0 || mkdir(n->tarballs, 0700) < 0)
        return err_set(err, "make %s: %s", n->dir, strerror(errno));
    if (io_file_write(arena_printf(b->arena, "%s/package.json", n->dir).ptr, buf_slice(&text), err) < 0)
        return -1;
    const char *const argv[] = {"npm", "install", "--package-lock-only", "--omit=dev", QUIET, NULL};
    if (run_npm(n, argv, &out, err) < 0)
        return -1;
    if (io_file_read(arena_printf(b->arena, "%s/package-lock.json", n->dir).ptr, &n->text, NULL, err) < 0)
        return -1;
    if (tape_parse(&n->lock, buf_slice(&n->text), NULL) != TAPE_OK || !tape_is(&n->lock, 0, TAPE_OBJECT))
        return err_set(err, "npm's lock file cannot be read");
    return 0;
}

/* False for a package that is for other machines. */
static bool is_for_here(const struct npm *n, uint32_t entry) {
    struct utsname here;
    if (uname(&here) < 0)
        return true;
    const char *cpu = strcmp(here.machine, "x86_64") == 0    ? "x64"
                      : strcmp(here.machine, "aarch64") == 0 ? "arm64"
                                                             : here.machine;
    return (!tape_get_str(&n->lock, entry, "os") || tape_list_has(&n->lock, entry, "os", "linux")) &&
           (!tape_get_str(&n->lock, entry, "cpu") || tape_list_has(&n->lock, entry, "cpu", cpu));
}

/* Outlives the lock file. */
static struct slice text_at(struct npm *n, uint32_t entry, const char *key) {
    const uint32_t node = tape_get_str(&n->lock, entry, key);
    if (!node || !tape_is(&n->lock, node, TAPE_STRING))
        return (struct slice){0};
    return arena_dup(n->batch->arena, tape_text(&n->lock, node, n->batch->arena));
}

/* The name of a path: the part after the last node_modules/. An alias has its own name. */
static struct slice name_of(struct npm *n, uint32_t entry, struct slice path) {
    const struct slice own = text_at(n, entry, "name"), mark = SLICE("node_modules/");
    struct slice name = path;
    for (size_t i = 0; i + mark.len <= path.len; i++)
        if (slice_starts(slice_from(path, i), mark))
            name = slice_from(path, i + mark.len);
    return own.len ? own : name;
}

static int read_entry(struct npm *n, uint32_t key, struct err *err) {
    const struct slice path = arena_dup(n->batch->arena, tape_text(&n->lock, key, n->batch->arena));
    struct locked l = {.path = path,
                       .name = name_of(n, key + 1, path),
                       .version = text_at(n, key + 1, "version"),
                       .integrity = text_at(n, key + 1, "integrity")};
    struct pack_spec spec;
    const struct slice text =
        arena_printf(n->batch->arena, "npm:%.*s@%.*s", SLICE_FMT(l.name), SLICE_FMT(l.version));
    if (!path.len || !is_for_here(n, key + 1))
        return 0; /* the project itself; or another machine's */
    if (n->count == PACK_LAYERS_MAX)
        return err_set(err, "it needs more than %d packages", PACK_LAYERS_MAX);
    if (!slice_starts(path, SLICE("node_modules/")) || pack_unpack_check(path, err) < 0 || !l.integrity.len ||
        !l.version.len || pack_spec_parse(text, PACK_NPM, &spec, err) < 0 || spec.range)
        return err_set(err, "it needs `%.*s`, which does not come from the registry", SLICE_FMT(path));
    n->entries[n->count++] = l;
    return 0;
}

static int read_lock(struct npm *n, struct err *err) {
    const uint32_t all = tape_get_str(&n->lock, 0, "packages");
    if (!all || !tape_is(&n->lock, all, TAPE_OBJECT))
        return err_set(err, "npm's lock file has no packages: npm 7 or newer is needed");
    TAPE_FOR_MEMBER(&n->lock, all, key) {
        if (read_entry(n, key, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the tarballs ---- */

static const struct locked *same_before(const struct npm *n, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (slice_eq(n->entries[i].integrity, n->entries[at].integrity))
            return &n->entries[i];
    return NULL;
}

static int download(struct npm *n, struct err *err) {
    struct pack_batch *b = n->batch;
    cleanup_buf struct buf out;
    buf_init(&out, PACK_MANIFEST_MAX);
    const char *argv[PACK_LAYERS_MAX + 16] = {"npm", "pack", QUIET, "--pack-destination", n->tarballs, "--"};
    size_t count = 0;
    while (argv[count])
        count++;
    for (size_t i = 0; i < n->count; i++)
        if (!same_before(n, i))
            argv[count++] = arena_printf(b->arena, "%.*s@%.*s", SLICE_FMT(n->entries[i].name),
                                         SLICE_FMT(n->entries[i].version))
                                .ptr;
    return run_npm(n, argv, &out, err);
}

static int match_files(struct npm *n, struct err *err) {
    struct err why;
    DIR *dir = opendir(n->tarballs);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        const char *file = arena_printf(n->batch->arena, "%s/%s", n->tarballs, e->d_name).ptr;
        for (size_t i = 0; i < n->count; i++)
            if (!n->entries[i].file && pack_layer_check_integrity(file, n->entries[i].integrity, &why) == 0)
                n->entries[i].file = file;
    }
    if (dir)
        closedir(dir);
    for (size_t i = 0; i < n->count; i++)
        if (!n->entries[i].file)
            return err_set(
                err, "the tarball of %.*s is missing, or its SHA-512 is not the one that the registry tells",
                SLICE_FMT(n->entries[i].name));
    return 0;
}

/* ---- the layer ---- */

/* Its name is made from the paths and hashes of its content. */
static struct slice layer_path(struct npm *n) {
    struct sha_state sum;
    unsigned char bytes[SHA_BYTES];
    sha_begin(&sum);
    for (size_t i = 0; i < n->count; i++) {
        const struct slice line = arena_printf(n->batch->arena, "%.*s %.*s\n", SLICE_FMT(n->entries[i].path),
                                               SLICE_FMT(n->entries[i].integrity));
        sha_add(&sum, line);
    }
    sha_end(&sum, bytes);
    char hex[SHA_HEX + 1];
    hex_str(bytes, sizeof(bytes), hex);
    return arena_printf(n->batch->arena, "js/%s", hex);
}

static int add_to_batch(struct npm *n, struct err *err) {
    struct pack_batch *b = n->batch;
    struct pack_layer_part *parts = arena_array(b->arena, struct pack_layer_part, n->count + 1);
    const struct locked *own = NULL;
    const struct slice own_path = arena_printf(b->arena, "node_modules/%.*s", SLICE_FMT(n->spec->name));
    for (size_t i = 0; i < n->count; i++) {
        parts[i] = (struct pack_layer_part){n->entries[i].file, n->entries[i].path};
        if (slice_eq(n->entries[i].path, own_path))
            own = &n->entries[i];
    }
    if (!own || b->chosen_count == PACK_LAYERS_MAX)
        return err_set(err, "npm has not chosen a version of %.*s for this machine",
                       SLICE_FMT(n->spec->name));
    struct pack_package *package = &b->packages[b->package_count++];
    *package = (struct pack_package){.kind = PACK_NPM,
                                     .name = own->name,
                                     .version = own->version,
                                     .layers = {(uint32_t)b->chosen_count},
                                     .layer_count = 1};
    b->chosen[b->chosen_count++] = (struct pack_chosen){
        .layer = {.path = layer_path(n), .name = own->name, .version = own->version},
        .parts = parts,
        .part_count = n->count,
    };
    return 0;
}

static int fetch_one(struct pack_batch *b, const struct pack_spec *spec, struct err *err) {
    cleanup_free struct npm *n = mem_zalloc(sizeof(*n));
    n->batch = b;
    n->spec = spec;
    n->dir = arena_printf(b->arena, "%s/npm-%zu", b->scratch, b->package_count).ptr;
    n->tarballs = arena_printf(b->arena, "%s/tarballs", n->dir).ptr;
    tape_init(&n->lock);
    buf_init(&n->text, PACK_MANIFEST_MAX);
    b->work->say(arena_printf(b->arena, "npm chooses and fetches %.*s", SLICE_FMT(spec->text)).ptr);
    const int done = resolve(n, err) < 0 || read_lock(n, err) < 0 || download(n, err) < 0 ||
                             match_files(n, err) < 0 || add_to_batch(n, err) < 0
                         ? err_wrap(err, "%.*s", SLICE_FMT(spec->text))
                         : 0;
    tape_free(&n->lock);
    buf_free(&n->text);
    return done;
}

int pack_npm_fetch(struct pack_batch *b, struct err *err) {
    for (size_t i = 0; i < b->spec_count; i++)
        if (b->specs[i].kind == PACK_NPM && fetch_one(b, &b->specs[i], err) < 0)
            return -1;
    return 0;
}
