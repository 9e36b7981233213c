#include "packages/layer.h"

#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/sha.h"
#include "packages/untar.h"
#include "packages/unzip.h"
#include "wire/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define WALK_FDS 16

/* ---- archives ---- */

struct mapped {
    struct slice bytes;
};

static void unmap(struct mapped *m) {
    if (m->bytes.len)
        munmap((void *)(uintptr_t)m->bytes.ptr, m->bytes.len);
}

/* The directory is private: no other process writes there. */
static int map_file(const char *file, struct mapped *ret_map, struct err *err) {
    struct stat st;
    cleanup_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, "open %s: %s", file, fd < 0 ? strerror(errno) : "no plain file");
    if (st.st_size == 0 || (uint64_t)st.st_size > PACK_ARCHIVE_BYTES_MAX)
        return err_set(err, "%s is empty, or has more than %llu MB", file, PACK_ARCHIVE_BYTES_MAX >> 20);
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return err_set(err, "read %s: %s", file, strerror(errno));
    ret_map->bytes = slice_of(at, (size_t)st.st_size);
    return 0;
}

int pack_layer_sha256(const char *file, char ret_hex[65], struct err *err) {
    __attribute__((cleanup(unmap))) struct mapped m = {0};
    if (map_file(file, &m, err) < 0)
        return -1;
    sha_256_hex(m.bytes, ret_hex);
    ret_hex[64] = '\0';
    return 0;
}

int pack_layer_check_integrity(const char *file, struct slice integrity, struct err *err) {
    __attribute__((cleanup(unmap))) struct mapped m = {0};
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice want;
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (!slice_starts(integrity, SLICE("sha512-")) ||
        !base64_get(slice_from(integrity, 7), BASE64_PADDED, &a, &want))
        return err_set(err, "the registry tells no SHA-512 of it");
    if (map_file(file, &m, err) < 0)
        return -1;
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    const bool ok = c && EVP_DigestInit_ex(c, EVP_sha512(), NULL) == 1 &&
                    EVP_DigestUpdate(c, m.bytes.ptr, m.bytes.len) == 1 &&
                    EVP_DigestFinal_ex(c, sum, &len) == 1;
    EVP_MD_CTX_free(c);
    if (!ok || !slice_eq(want, slice_of((const char *)sum, len)))
        return err_set(err, "it is not what the registry says: its SHA-512 is another one");
    return 0;
}

/* ---- making one ---- */

int pack_layer_unpack(enum pack_kind kind, const struct pack_layer_part *parts, size_t count, const char *to,
                      struct pack_layer *layer, struct arena *a, struct err *err) {
    cleanup_buf struct buf modules;
    buf_init(&modules, 65536);
    if (mkdir(to, 0755) < 0)
        return err_set(err, "make %s: %s", to, strerror(errno));
    cleanup_fd int root = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0)
        return err_set(err, "open %s: %s", to, strerror(errno));
    layer->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        __attribute__((cleanup(unmap))) struct mapped m = {0};
        struct pack_unpack u;
        if (map_file(parts[i].file, &m, err) < 0)
            return -1;
        pack_unpack_begin(&u, root);
        const int done = kind == PACK_NPM ? pack_untar_npm(m.bytes, parts[i].prefix, &u, err)
                                          : pack_unzip_wheel(m.bytes, &u, &modules, err);
        pack_unpack_end(&u);
        if (done < 0)
            return err_wrap(err, "%s", strrchr(parts[i].file, '/') + 1);
        layer->bytes += u.bytes;
    }
    layer->modules = kind == PACK_NPM ? layer->name : arena_dup(a, slice_trim(buf_slice(&modules)));
    return 0;
}

static int close_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)walk;
    return chmod(path, kind == FTW_DP ? 0555 : 0444);
}

int pack_layer_place(const char *from, const char *dir, struct slice path, struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    const char *to = arena_printf(&a, "%s/%.*s", dir, SLICE_FMT(path)).ptr;
    pack_layer_remove(to); /* left by a command that was ended before it wrote the manifest */
    if (rename(from, to) < 0 || nftw(to, close_one, WALK_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        return err_set(err, "put %s in its place: %s", to, strerror(errno));
    return 0;
}

static int open_dir(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)walk;
    if (kind == FTW_D)
        chmod(path, 0700);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)walk, (void)kind;
    remove(path);
    return 0;
}

void pack_layer_remove(const char *path) {
    nftw(path, open_dir, WALK_FDS, FTW_PHYS | FTW_MOUNT);
    nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
