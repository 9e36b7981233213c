/* Any bytes as a wheel or as a tarball of npm: whatever they are, what is written lies beneath one directory
 * and is plain files and directories, within the given limits of number and size. Input: one byte that says
 * which, then the archive. */
#include "fuzz.h"
#include "packages/layer.h"
#include "packages/untar.h"
#include "packages/unzip.h"

#include "base/buf.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t bytes;
static uint32_t files;

static int count(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)path, (void)walk;
    CHECK(kind == FTW_F || kind == FTW_D);
    bytes += kind == FTW_F ? (uint64_t)st->st_size : 0;
    files += kind == FTW_F;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    const bool zip = fuzz_byte(&in) % 2 == 0;
    char parent[] = "/tmp/sallyport-fuzz-XXXXXX", root[64];
    CHECK(mkdtemp(parent));
    snprintf(root, sizeof(root), "%s/root", parent);
    CHECK(mkdir(root, 0700) == 0);
    cleanup_free char *copy = fuzz_copy(in);
    cleanup_buf struct buf modules;
    buf_init(&modules, 65536);
    struct pack_unpack u;
    struct err err = {""};
    const int dir = open(root, O_RDONLY | O_DIRECTORY);
    pack_unpack_begin(&u, dir);
    const int done = zip ? pack_unzip_wheel(slice_of(copy, in.len), &u, &modules, &err)
                         : pack_untar_npm(slice_of(copy, in.len), SLICE("node_modules/x"), &u, &err);
    pack_unpack_end(&u);
    close(dir);
    CHECK(done == 0 || *err.text);
    bytes = files = 0;
    CHECK(nftw(parent, count, 8, FTW_PHYS) == 0);
    CHECK(bytes == u.bytes && files == u.files && u.bytes <= u.claimed);
    pack_layer_remove(root);
    CHECK(rmdir(parent) == 0); /* nothing lies beside it */
    return 0;
}
