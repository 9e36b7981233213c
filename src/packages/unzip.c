#include "packages/unzip.h"

#include "base/buf.h"
#include "packages/inflate.h"

#include <sys/stat.h>

#define END_BYTES 22
#define CENTRAL_BYTES 46
#define LOCAL_BYTES 30
#define COMMENT_MAX 65535
#define STORED 0
#define DEFLATED 8
#define ENCRYPTED 1
#define UNIX 3 /* created on Unix: the upper half of the attributes is a mode */

struct entry {
    struct slice name;
    unsigned method, flags;
    uint32_t crc, packed, size, at;
    uint32_t mode;
};

struct unzip {
    struct slice archive;
    struct pack_unpack *to;
    struct buf *modules;
    uint64_t packed; /* size of the entries so far: if it exceeds the archive, some overlap */
    uint32_t left, crc;
    bool has_metadata, has_module;
};

static uint32_t number(const char *at, unsigned bytes) {
    uint32_t value = 0;
    for (unsigned i = bytes; i > 0; i--)
        value = value << 8 | (unsigned char)at[i - 1];
    return value;
}

/* ---- one file ---- */

static int put(void *owner, struct slice bytes, struct err *err) {
    struct unzip *z = owner;
    if (bytes.len > z->left)
        return err_set(err, "a file is larger than the archive says");
    z->left -= (uint32_t)bytes.len;
    z->crc = pack_inflate_crc(z->crc, bytes);
    return pack_unpack_put(z->to, bytes, err);
}

/* The file's bytes in the archive. Both headers must name the same file, because readers use either. */
static int find_bytes(const struct unzip *z, const struct entry *e, struct slice *ret_bytes,
                      struct err *err) {
    const struct slice head = slice_from(z->archive, e->at);
    if (head.len < LOCAL_BYTES || memcmp(head.ptr, "PK\3\4", 4) != 0)
        return err_set(err, "no file lies where the archive says");
    const size_t name = number(head.ptr + 26, 2), extra = number(head.ptr + 28, 2);
    if (!slice_eq(slice_upto(slice_from(head, LOCAL_BYTES), name), e->name))
        return err_set(err, "a file has two names");
    const struct slice rest = slice_from(head, LOCAL_BYTES + name + extra);
    if (rest.len < e->packed)
        return err_set(err, "it ends too early");
    *ret_bytes = slice_upto(rest, e->packed);
    return 0;
}

static int write_file(struct unzip *z, const struct entry *e, struct slice path, struct err *err) {
    const struct pack_inflate_sink sink = {put, z};
    struct slice bytes;
    size_t used = e->packed;
    if (find_bytes(z, e, &bytes, err) < 0 || pack_unpack_claim(z->to, e->size, err) < 0 ||
        pack_unpack_open(z->to, path, err) < 0)
        return -1;
    z->left = e->size;
    z->crc = 0;
    const int done = e->method == STORED ? put(z, bytes, err) : pack_inflate(bytes, &sink, &used, err);
    if (done < 0)
        return -1;
    if (z->left || z->crc != e->crc || used != e->packed)
        return err_set(err, "its checksum or size is wrong");
    return pack_unpack_close(z->to, err);
}

/* ---- the layout of a wheel ---- */

/* The file's path beside the modules; empty when it is left out. */
static struct slice place_of(struct slice name) {
    struct slice rest = name, top, kind;
    if (!slice_cut(&rest, '/', &top) || !slice_ends(top, SLICE(".data")))
        return name;
    if (!slice_cut(&rest, '/', &kind) || (!slice_is(kind, "purelib") && !slice_is(kind, "platlib")))
        return (struct slice){0};
    return rest;
}

static void note_module(struct unzip *z, struct slice path) {
    struct slice rest = path, top;
    const bool in_dir = slice_cut(&rest, '/', &top);
    if (in_dir && slice_ends(top, SLICE(".dist-info"))) {
        z->has_metadata |= slice_is(rest, "METADATA");
        return;
    }
    const bool code = slice_ends(path, SLICE(".py")) || slice_ends(path, SLICE(".so"));
    const ptrdiff_t dot = slice_find(top, '.');
    const struct slice name = slice_upto(top, in_dir || dot < 0 ? top.len : (size_t)dot);
    if (!code || !name.len || slice_find(name, ' ') >= 0 || (in_dir && dot >= 0))
        return;
    z->has_module = true;
    for (struct slice names = buf_slice(z->modules), one; names.len;) {
        slice_cut(&names, ' ', &one);
        if (slice_eq(one, name))
            return;
    }
    buf_put_slice(z->modules, name);
    buf_put_char(z->modules, ' ');
}

static int take_entry(struct unzip *z, const struct entry *e, struct err *err) {
    if (e->flags & ENCRYPTED || (e->method != STORED && e->method != DEFLATED))
        return err_set(err, "a file is encrypted, or compressed in a way that is not known here");
    if (e->mode && !S_ISREG(e->mode) && !S_ISDIR(e->mode))
        return err_set(err, "`%.*s` is a link or a device", SLICE_FMT(slice_upto(e->name, 200)));
    z->packed += e->packed;
    if (z->packed > z->archive.len)
        return err_set(err, "its files overlap");
    if (slice_ends(e->name, SLICE("/")))
        return pack_unpack_check(slice_upto(e->name, e->name.len - 1), err);
    if (pack_unpack_check(e->name, err) < 0)
        return -1;
    const struct slice path = place_of(e->name);
    if (!path.len)
        return 0;
    note_module(z, path);
    return write_file(z, e, path, err);
}

/* ---- the directory at the end ---- */

static int find_directory(struct slice archive, struct slice *ret_directory, unsigned *ret_count,
                          struct err *err) {
    size_t back = END_BYTES;
    for (; back <= archive.len && back <= END_BYTES + COMMENT_MAX; back++) {
        const char *at = archive.ptr + archive.len - back;
        if (memcmp(at, "PK\5\6", 4) == 0 && number(at + 20, 2) == back - END_BYTES)
            break;
    }
    if (back > archive.len || back > END_BYTES + COMMENT_MAX)
        return err_set(err, "it is not a zip archive");
    const char *end = archive.ptr + archive.len - back;
    const uint32_t len = number(end + 12, 4), at = number(end + 16, 4);
    *ret_count = number(end + 10, 2);
    if (at > archive.len - back || len > archive.len - back - at || *ret_count == 0xffff)
        return err_set(err, "its directory is damaged, or in the form for very large archives");
    *ret_directory = slice_of(archive.ptr + at, len);
    return 0;
}

static int read_entry(struct slice *rest, struct entry *ret_entry, struct err *err) {
    const char *at = rest->ptr;
    if (rest->len < CENTRAL_BYTES || memcmp(at, "PK\1\2", 4) != 0)
        return err_set(err, "its directory is damaged");
    const size_t name = number(at + 28, 2);
    const size_t entry_len = CENTRAL_BYTES + name + number(at + 30, 2) + number(at + 32, 2);
    if (rest->len < entry_len)
        return err_set(err, "its directory is damaged");
    *ret_entry = (struct entry){
        .name = slice_of(at + CENTRAL_BYTES, name),
        .flags = number(at + 8, 2),
        .method = number(at + 10, 2),
        .crc = number(at + 16, 4),
        .packed = number(at + 20, 4),
        .size = number(at + 24, 4),
        .at = number(at + 42, 4),
        .mode = number(at + 4, 2) >> 8 == UNIX ? number(at + 38, 4) >> 16 : 0,
    };
    if (!(ret_entry->mode & S_IFMT))
        ret_entry->mode = 0; /* some writers store permissions only */
    *rest = slice_from(*rest, entry_len);
    return 0;
}

int pack_unzip_wheel(struct slice archive, struct pack_unpack *to, struct buf *modules, struct err *err) {
    struct unzip z = {.archive = archive, .to = to, .modules = modules};
    struct slice directory = {0};
    unsigned count = 0;
    if (find_directory(archive, &directory, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        struct entry e = {0};
        if (read_entry(&directory, &e, err) < 0 || take_entry(&z, &e, err) < 0)
            return -1;
    }
    if (!z.has_metadata)
        return err_set(err, "it is not a wheel: it has no METADATA");
    if (!z.has_module)
        return err_set(err, "it has no module to import, only programs or data");
    return 0;
}
