/* Nothing leads out of a workspace: not a name, not a link, not what was left there. */
#include "code/workspace.h"

#include "base/mem.h"
#include "code/limits.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static char place[] = "/tmp/sallyport-workspace-XXXXXX";
static int place_fd, ws;

static int make_place(void **state) {
    (void)state;
    struct err err;
    if (!mkdtemp(place))
        return -1;
    place_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place_fd < 0 ? -1 : workspace_open(place_fd, "workspace", &ws, &err);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int remove_place(void **state) {
    (void)state;
    close(ws);
    close(place_fd);
    return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum workspace_result reads(const char *path, struct slice *ret_text) {
    static char text[256];
    cleanup_buf struct buf out;
    buf_init(&out, 1u << 20);
    enum workspace_result result = workspace_read(ws, slice_str(path), 1024, &out);
    size_t len = out.len < sizeof(text) ? out.len : sizeof(text);
    if (len)
        memcpy(text, out.ptr, len);
    *ret_text = slice_of(text, len);
    return result;
}

static void files_are_written_read_listed_deleted(void **state) {
    (void)state;
    struct slice text;
    assert_int_equal(workspace_write(ws, SLICE("a/b/c.txt"), SLICE("12345")), WORKSPACE_OK);
    assert_int_equal(workspace_write(ws, SLICE("a/b/c.txt"), SLICE("other")), WORKSPACE_OK);
    assert_int_equal(workspace_write(ws, SLICE("top.txt"), SLICE("")), WORKSPACE_OK);
    assert_int_equal(reads("a/b/c.txt", &text), WORKSPACE_OK);
    assert_true(slice_is(text, "other"));
    cleanup_arena struct arena a;
    arena_init(&a);
    struct workspace_list list;
    assert_int_equal(workspace_list(ws, SLICE("."), &a, &list), WORKSPACE_OK);
    assert_int_equal(list.count, 2);
    assert_true(slice_is(list.files[0].path, "a/b/c.txt") && list.files[0].size == 5);
    assert_int_equal(workspace_list(ws, SLICE("a/"), &a, &list), WORKSPACE_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(workspace_list(ws, SLICE("none"), &a, &list), WORKSPACE_NOT_FOUND);
    assert_int_equal(workspace_delete(ws, SLICE("a/b/c.txt")), WORKSPACE_OK);
    assert_int_equal(workspace_delete(ws, SLICE("a/b/c.txt")), WORKSPACE_NOT_FOUND);
    assert_int_equal(workspace_delete(ws, SLICE("a/b")), WORKSPACE_NOT_FOUND);
    assert_int_equal(reads("a/b/c.txt", &text), WORKSPACE_NOT_FOUND);
}

static void names_that_lead_out_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {
        "/etc/passwd",
        "..",
        "../x",
        "../workspace-evil/secret",
        "a/../../x",
        "a/..",
        "",
        "a//b",
        "a/\nb",
        "\x01",
        "a/\x7f",
        "\xff\xfe",
        "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17",
    };
    struct slice text;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_false(workspace_path_ok(slice_str(names[i])));
        assert_int_equal(reads(names[i], &text), WORKSPACE_OUTSIDE);
        assert_int_equal(workspace_write(ws, slice_str(names[i]), SLICE("x")), WORKSPACE_OUTSIDE);
        assert_int_equal(workspace_delete(ws, slice_str(names[i])), WORKSPACE_OUTSIDE);
    }
    assert_false(workspace_path_ok(SLICE("a\0b")));
    char longest[CODE_PATH_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    assert_false(workspace_path_ok(slice_of(longest, sizeof(longest))));
    assert_false(workspace_path_ok(slice_of(longest, 256)));
    assert_true(workspace_path_ok(slice_of(longest, 255)));
}

static void what_code_left_there_is_no_way_out(void **state) {
    (void)state;
    struct slice text;
    cleanup_fd int outside = openat(place_fd, "secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(outside, "secret", 6), 6);
    assert_int_equal(symlinkat("../secret", ws, "link"), 0);
    assert_int_equal(symlinkat("..", ws, "up"), 0);
    assert_int_equal(symlinkat("/etc", ws, "etc"), 0);
    assert_int_equal(mkfifoat(ws, "fifo", 0600), 0);
    assert_int_equal(mkdirat(ws, "dir", 0700), 0);
    assert_int_equal(reads("link", &text), WORKSPACE_OUTSIDE);
    assert_int_equal(reads("up/secret", &text), WORKSPACE_OUTSIDE);
    assert_int_equal(reads("etc/passwd", &text), WORKSPACE_OUTSIDE);
    assert_int_equal(reads("fifo", &text), WORKSPACE_NOT_FOUND); /* and the read does not wait for a writer */
    assert_int_equal(reads("dir", &text), WORKSPACE_NOT_FOUND);
    assert_int_equal(workspace_write(ws, SLICE("up/new"), SLICE("x")), WORKSPACE_OUTSIDE);
    assert_int_equal(workspace_delete(ws, SLICE("link")), WORKSPACE_NOT_FOUND);
    assert_int_equal(workspace_delete(ws, SLICE("up/secret")), WORKSPACE_OUTSIDE);
    /* Writing to the name of a link replaces the link, not what it points at. */
    assert_int_equal(workspace_write(ws, SLICE("link"), SLICE("mine")), WORKSPACE_OK);
    char byte;
    cleanup_fd int same = openat(place_fd, "secret", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(same, &byte, 1), 1);
    assert_int_equal(byte, 's');
    cleanup_arena struct arena a;
    arena_init(&a);
    struct workspace_list list;
    assert_int_equal(workspace_list(ws, SLICE("."), &a, &list), WORKSPACE_OK);
    for (size_t i = 0; i < list.count; i++)
        assert_false(slice_starts(list.files[i].path, SLICE("up/")) ||
                     slice_starts(list.files[i].path, SLICE("etc/")) || slice_is(list.files[i].path, "fifo"));
    assert_int_equal(workspace_list(ws, SLICE("up"), &a, &list), WORKSPACE_OUTSIDE);
}

static void sizes_have_ceilings(void **state) {
    (void)state;
    struct slice text;
    cleanup_fd int sparse = openat(ws, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(sparse, (off_t)1 << 40), 0);
    assert_int_equal(reads("sparse", &text), WORKSPACE_TOO_LARGE);
    assert_int_equal(workspace_write(ws, SLICE("more"), SLICE("x")),
                     WORKSPACE_FULL); /* it counts as it is long */
    assert_int_equal(workspace_delete(ws, SLICE("sparse")), WORKSPACE_OK);
    assert_int_equal(workspace_write(ws, SLICE("more"), SLICE("x")), WORKSPACE_OK);
    struct slice huge = slice_of(mem_zalloc(CODE_FILE_BYTES_MAX + 1), CODE_FILE_BYTES_MAX + 1);
    assert_int_equal(workspace_write(ws, SLICE("huge"), huge), WORKSPACE_TOO_LARGE);
    for (unsigned i = 0; i < CODE_WORKSPACE_BYTES_MAX / CODE_FILE_BYTES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "huge%u", i);
        enum workspace_result result =
            workspace_write(ws, slice_str(name), slice_upto(huge, CODE_FILE_BYTES_MAX));
        assert_int_equal(result, i < CODE_WORKSPACE_BYTES_MAX / CODE_FILE_BYTES_MAX - 1 ? WORKSPACE_OK
                                                                                        : WORKSPACE_FULL);
    }
    free((char *)(uintptr_t)huge.ptr);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_written_read_listed_deleted),
        cmocka_unit_test(names_that_lead_out_are_refused),
        cmocka_unit_test(what_code_left_there_is_no_way_out),
        cmocka_unit_test(sizes_have_ceilings),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
