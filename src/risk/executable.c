#include "risk/executable.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "risk/fingerprint.h"
#include "risk/supply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536
#define PATH_BYTES_MAX 4096

static int open_file(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static int open_in(struct slice dir, struct slice name) {
    char path[PATH_BYTES_MAX];
    int len = snprintf(path, sizeof path, "%.*s/%.*s", SLICE_FMT(dir), SLICE_FMT(name));
    return len > 0 && (size_t)len < sizeof path ? open_file(path) : -1;
}

/* A name with a slash is a path relative to `cwd`; a command without one is searched in PATH. */
static int open_program(struct slice name, bool command, const char *cwd, const char *path) {
    bool has_slash = slice_find(name, '/') >= 0;
    if (!command || has_slash)
        return name.len && name.ptr[0] == '/' ? open_in(SLICE(""), slice_from(name, 1))
                                              : open_in(slice_str(cwd ? cwd : "."), name);
    struct slice rest = slice_str(path ? path : "/usr/local/bin:/usr/bin:/bin"), dir;
    for (bool more = true; more;) {
        more = slice_cut(&rest, ':', &dir);
        int fd = open_in(dir.len ? dir : SLICE("."), name);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static bool hash_file(int fd, uint8_t ret_hash[RISK_HASH_BYTES]) {
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;
    cleanup_free char *bytes = mem_zalloc(READ_BYTES);
    while (ok) {
        ssize_t got = read(fd, bytes, READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            break;
        ok = got > 0 && EVP_DigestUpdate(ctx, bytes, (size_t)got) == 1;
    }
    ok = ok && EVP_DigestFinal_ex(ctx, ret_hash, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

struct slice risk_executable_hash(const struct slice *argv, size_t count, const char *cwd, const char *path,
                                  struct arena *a) {
    struct risk_supply supply;
    risk_supply_read(argv, count, &supply);
    if (!count || supply.runner)
        return (struct slice){0};
    size_t subject = risk_supply_subject(argv, count);
    cleanup_fd int fd = open_program(argv[subject], subject == 0, cwd, path);
    uint8_t hash[RISK_HASH_BYTES];
    if (fd < 0 || !hash_file(fd, hash))
        return (struct slice){0};
    cleanup_buf struct buf text;
    buf_init(&text, 128);
    risk_fingerprint_text(hash, &text);
    return arena_dup(a, buf_slice(&text));
}

bool risk_executable_found(struct slice command, const char *cwd, const char *path) {
    cleanup_fd int fd = open_program(command, true, cwd, path);
    return fd >= 0;
}
