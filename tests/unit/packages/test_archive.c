#include "base/buf.h"
#include "base/mem.h"
#include "packages/inflate.h"
#include "packages/layer.h"
#include "packages/untar.h"
#include "packages/unzip.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

/* ---- archives ---- */

static void put_number(struct buf *b, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++, value >>= 8)
        buf_put_char(b, (char)(value & 0xff));
}

struct item {
    const char *name, *text;
    uint32_t mode;       /* 0: not stored */
    const char *other;   /* name in the local header, when it is another one */
    uint32_t size, type; /* declared sizes and kinds, when they differ from the true ones */
};

/* Stored, as compression is tested by itself. */
static void make_zip(const struct item *items, size_t count, struct buf *out) {
    cleanup_buf struct buf directory;
    buf_init(&directory, 65536);
    buf_init(out, 1u << 20);
    for (size_t i = 0; i < count; i++) {
        const struct item *f = &items[i];
        const struct slice text = slice_str(f->text), name = slice_str(f->name);
        const struct slice local = f->other ? slice_str(f->other) : name;
        const uint32_t crc = pack_inflate_crc(0, text), at = (uint32_t)out->len;
        const uint32_t size = f->size ? f->size : (uint32_t)text.len;
        buf_put(out, "PK\3\4\24\0\0\0\0\0\0\0\0\0", 14);
        put_number(out, crc, 4);
        put_number(out, text.len, 4);
        put_number(out, size, 4);
        put_number(out, local.len, 2);
        put_number(out, 0, 2);
        buf_put_slice(out, local);
        buf_put_slice(out, text);
        buf_put(&directory, "PK\1\2\24\3\24\0\0\0", 10);
        put_number(&directory, f->type, 2); /* the way it is compressed */
        put_number(&directory, 0, 4);
        put_number(&directory, crc, 4);
        put_number(&directory, text.len, 4);
        put_number(&directory, size, 4);
        put_number(&directory, name.len, 2);
        put_number(&directory, 0, 8);
        put_number(&directory, (uint64_t)f->mode << 16, 4);
        put_number(&directory, at, 4);
        buf_put_slice(&directory, name);
    }
    const uint32_t start = (uint32_t)out->len;
    buf_put_slice(out, buf_slice(&directory));
    buf_put(out, "PK\5\6\0\0\0\0", 8);
    put_number(out, count, 2);
    put_number(out, count, 2);
    put_number(out, directory.len, 4);
    put_number(out, start, 4);
    put_number(out, 0, 2);
}

static void put_block(struct buf *tar, const struct item *f) {
    unsigned char head[512] = {0};
    unsigned sum = 0;
    snprintf((char *)head, 100, "%s", f->name);
    snprintf((char *)head + 124, 12, "%011o", f->size ? f->size : (unsigned)strlen(f->text));
    memset(head + 148, ' ', 8);
    head[156] = (unsigned char)(f->type ? f->type : '0');
    for (size_t i = 0; i < sizeof(head); i++)
        sum += head[i];
    snprintf((char *)head + 148, 7, "%06o", sum);
    buf_put(tar, head, sizeof(head));
    buf_put_str(tar, f->text);
    while (tar->len % 512)
        buf_put_char(tar, '\0');
}

static void make_tar(const struct item *items, size_t count, struct buf *out) {
    cleanup_buf struct buf tar;
    buf_init(&tar, 1u << 20);
    buf_init(out, 1u << 20);
    for (size_t i = 0; i < count; i++)
        put_block(&tar, &items[i]);
    for (int i = 0; i < 1024; i++)
        buf_put_char(&tar, '\0');
    buf_put(out, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
    for (struct slice rest = buf_slice(&tar); rest.len;) {
        const struct slice piece = slice_upto(rest, 65535);
        rest = slice_from(rest, piece.len);
        buf_put_char(out, rest.len ? 0 : 1);
        put_number(out, piece.len, 2);
        put_number(out, piece.len ^ 0xffff, 2);
        buf_put_slice(out, piece);
    }
    put_number(out, pack_inflate_crc(0, buf_slice(&tar)), 4);
    put_number(out, tar.len, 4);
}

/* ---- what becomes of them ---- */

static void expect(bool zip, const struct item *items, size_t count, const char *why, const char *modules) {
    char root[] = "/tmp/sallyport-test-XXXXXX";
    struct err err = {""};
    cleanup_buf struct buf archive, names;
    struct pack_unpack u;
    assert_non_null(mkdtemp(root));
    buf_init(&names, 4096);
    (zip ? make_zip : make_tar)(items, count, &archive);
    const int dir = open(root, O_RDONLY | O_DIRECTORY);
    pack_unpack_begin(&u, dir);
    const int got = zip ? pack_unzip_wheel(buf_slice(&archive), &u, &names, &err)
                        : pack_untar_npm(buf_slice(&archive), SLICE("node_modules/x"), &u, &err);
    pack_unpack_end(&u);
    close(dir);
    pack_layer_remove(root);
    assert_int_equal(mkdir(root, 0700), 0); /* it is gone, with all that was in it */
    rmdir(root);
    if (got != (why ? -1 : 0) || (why && !strstr(err.text, why)))
        fail_msg("`%s`: %s, not %s", items[0].name, got ? err.text : "taken", why ? why : "taken");
    if (modules && !slice_is(buf_slice(&names), modules))
        fail_msg("modules: `%.*s`", SLICE_FMT(buf_slice(&names)));
}

#define META                                                                                                 \
    { .name = "x-1.dist-info/METADATA", .text = "Name: x" }
#define GOOD                                                                                                 \
    { .name = "x.py", .text = "value = 1" }

static void test_wheels(void **state) {
    (void)state;
    static const struct {
        struct item items[4];
        const char *why, *modules;
    } rows[] = {
        {{GOOD, META}, NULL, "x "},
        {{{.name = "a/b/c.py", .text = ""},
          {.name = "a/", .text = ""},
          {.name = "e.cpython-311.so", .text = ""},
          META},
         NULL,
         "a e "},
        {{{.name = "x-1.data/purelib/p/q.py", .text = ""},
          {.name = "x-1.data/scripts/run", .text = "#!"},
          META},
         NULL,
         "p "},
        {{{.name = "a.py", .text = "", .mode = S_IFREG | 0777}, META}, NULL, "a "},
        {{{.name = "../x.py", .text = ""}, META}, "leads elsewhere", NULL},
        {{{.name = "a/../../x.py", .text = ""}, META}, "leads elsewhere", NULL},
        {{{.name = "/etc/x.py", .text = ""}, META}, "leads elsewhere", NULL},
        {{{.name = "a//x.py", .text = ""}, META}, "leads elsewhere", NULL},
        {{{.name = "./x.py", .text = ""}, META}, "leads elsewhere", NULL},
        {{{.name = "x-1.data/purelib/../../x.py", .text = ""}, META}, "leads elsewhere", NULL},
        {{{.name = "a\\..\\x.py", .text = ""}, META}, "backslash", NULL},
        {{{.name = "a\nb.py", .text = ""}, META}, "control character", NULL},
        {{{.name = "\xff.py", .text = ""}, META}, "not UTF-8", NULL},
        {{{.name = "x.py", .text = "/etc/passwd", .mode = S_IFLNK | 0777}, META}, "link or a device", NULL},
        {{{.name = "x.py", .text = "", .mode = S_IFCHR | 0777}, META}, "link or a device", NULL},
        {{GOOD, GOOD, META}, "there twice", NULL},
        {{{.name = "a", .text = ""}, {.name = "a/b.py", .text = ""}, META}, "open the directory", NULL},
        {{{.name = "x.py", .text = "value", .size = 4}, META}, "larger than the archive says", NULL},
        {{{.name = "x.py", .text = "value", .size = 6}, META}, "checksum or size", NULL},
        {{{.name = "x.py", .text = "value", .size = 0xfffffff0}, META}, "more than 2048 MB", NULL},
        {{{.name = "x.py", .text = "value", .other = "y.py"}, META}, "two names", NULL},
        {{{.name = "x.py", .text = "value", .type = 99}, META}, "not known here", NULL},
        {{{.name = "x.py", .text = "value", .type = 8}, META}, "damaged data", NULL},
        {{GOOD}, "no METADATA", NULL},
        {{{.name = "x-1.data/scripts/run", .text = "#!"}, META}, "no module to import", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t count = 0;
        while (count < 4 && rows[i].items[count].name)
            count++;
        expect(true, rows[i].items, count, rows[i].why, rows[i].modules);
    }
}

#define PACKAGE                                                                                              \
    { .name = "package/package.json", .text = "{}" }

static void test_tarballs(void **state) {
    (void)state;
    static const struct {
        struct item items[4];
        const char *why;
    } rows[] = {
        {{PACKAGE, {.name = "package/a/b.js", .text = "1"}}, NULL},
        {{{.name = "other/package.json", .text = "{}"}, {.name = "other/a", .text = "", .type = '5'}}, NULL},
        {{{.name = "x", .text = "27 path=package/long/name.js\n12 mtime=1.5\n", .type = 'x'},
          {.name = "package/y", .text = "1"},
          PACKAGE},
         "damaged"},
        {{{.name = "x", .text = "29 path=package/long/name.js\n", .type = 'x'},
          {.name = "package/y", .text = "1"},
          PACKAGE},
         NULL},
        {{{.name = "x", .text = "27 path=package/../../x.js\n", .type = 'x'},
          {.name = "package/y", .text = "1"},
          PACKAGE},
         "leads elsewhere"},
        {{{.name = "x", .text = "package/long.js", .type = 'L'}, {.name = "y", .text = "1"}, PACKAGE}, NULL},
        {{{.name = "x", .text = "package/../x.js", .type = 'L'}, {.name = "y", .text = "1"}, PACKAGE},
         "leads elsewhere"},
        {{{.name = "package/../x.js", .text = ""}, PACKAGE}, "leads elsewhere"},
        {{{.name = "../x/y.js", .text = ""}, PACKAGE}, "leads elsewhere"},
        {{{.name = "/etc/x.js", .text = ""}, PACKAGE}, "leads elsewhere"},
        {{{.name = "x.js", .text = ""}, PACKAGE}, "leads elsewhere"},
        {{{.name = "package/x", .text = "", .type = '1'}, PACKAGE}, "link or a device"},
        {{{.name = "package/x", .text = "", .type = '2'}, PACKAGE}, "link or a device"},
        {{{.name = "package/x", .text = "", .type = '4'}, PACKAGE}, "link or a device"},
        {{{.name = "package/x", .text = "", .size = 0xfffffff0}, PACKAGE}, "more than 2048 MB"},
        {{{.name = "package/x", .text = "", .size = 4096}, PACKAGE}, "too early"},
        {{PACKAGE, PACKAGE}, "there twice"},
        {{{.name = "package/x.js", .text = ""}}, "no package.json"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t count = 0;
        while (count < 4 && rows[i].items[count].name)
            count++;
        expect(false, rows[i].items, count, rows[i].why, NULL);
    }
}

/* ---- compression ---- */

static int collect(void *owner, struct slice bytes, struct err *err) {
    return buf_put_slice(owner, bytes) ? 0 : err_set(err, "too much");
}

static void test_inflate(void **state) {
    (void)state;
    static const struct {
        const char *in;
        size_t len;
        const char *out; /* NULL: refused */
    } rows[] = {
        {"\x4b\x4c\x4a\x4e\x49\x4d\x43\x27\x00", 9, "abcdefbcdefbcdefbcdefb"}, /* and a repetition */
        {"\x4b\x4c\x4a\x06\x00", 5, "abc"},                                    /* fixed codes */
        {"\x4b\x84\x81\x24\x00", 5, "aaaaaaaaab"}, /* a repetition of what it makes */
        {"\x01\x03\x00\xfc\xff"
         "abc",
         8, "abc"}, /* stored */
        {"\x01\x03\x00\xfc\xfe"
         "abc",
         8, NULL}, /* with a wrong length */
        {"\x01\x04\x00\xfb\xff"
         "abc",
         8, NULL},           /* ends too early */
        {"\x07", 1, NULL},   /* no such block */
        {"\x03\x00", 2, ""}, /* nothing */
        {"\x03", 1, NULL},
        {"", 0, NULL},
        {"\x4b\x04\x12\x00", 4, NULL}, /* a distance before the start */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_buf struct buf out;
        struct err err = {""};
        size_t used = 0;
        buf_init(&out, 4096);
        const struct pack_inflate_sink sink = {collect, &out};
        cleanup_free char *copy = mem_dup(rows[i].in, rows[i].len);
        const int got = pack_inflate(slice_of(copy, rows[i].len), &sink, &used, &err);
        if (rows[i].out && (got < 0 || !slice_is(buf_slice(&out), rows[i].out) || used != rows[i].len))
            fail_msg("row %zu: %s, %zu used", i, err.text, used);
        if (!rows[i].out && got == 0)
            fail_msg("row %zu is taken: `%.*s`", i, SLICE_FMT(buf_slice(&out)));
    }
    assert_int_equal(pack_inflate_crc(0, SLICE("123456789")), 0xcbf43926);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wheels), cmocka_unit_test(test_tarballs),
                                       cmocka_unit_test(test_inflate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
