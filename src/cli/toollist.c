#include "cli/toollist.h"

#include "base/mem.h"
#include "base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define READ_BYTES 65536

int cli_file_read(const char *path, struct buf *out, bool *ret_missing, struct err *err) {
    bool input = strcmp(path, "-") == 0;
    cleanup_fd int fd = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (ret_missing)
        *ret_missing = fd < 0 && errno == ENOENT;
    if (fd < 0)
        return err_set(err, "cannot read `%s`: %s", path, strerror(errno));
    for (;;) {
        char *room = buf_reserve(out, READ_BYTES);
        if (!room)
            return err_set(err, "`%s` is larger than %zu bytes", path, out->max);
        ssize_t got = read(fd, room, READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, "cannot read `%s`: %s", path, strerror(errno));
        if (got == 0)
            return 0;
        out->len += (size_t)got;
    }
}

static int write_all(int fd, struct slice text) {
    while (text.len) {
        ssize_t put = write(fd, text.ptr, text.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        text = slice_from(text, (size_t)put);
    }
    return 0;
}

int cli_file_write(const char *path, struct slice text, struct err *err) {
    char token[9];
    rand_token(token, sizeof token - 1);
    cleanup_buf struct buf beside;
    buf_init(&beside, 8192);
    buf_printf(&beside, "%s.%s.tmp", path, token);
    buf_put_char(&beside, 0);
    if (beside.full)
        return err_set(err, "the path is too long");
    cleanup_fd int fd = open(beside.ptr, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set(err, "cannot write beside `%s`: %s", path, strerror(errno));
    if (write_all(fd, text) || fsync(fd) || rename(beside.ptr, path)) {
        int fault = errno;
        unlink(beside.ptr);
        return err_set(err, "cannot write `%s`: %s", path, strerror(fault));
    }
    return 0;
}

void cli_toollist_init(struct cli_toollist *list) {
    memset(list, 0, sizeof *list);
    buf_init(&list->text, CLI_TOOLLIST_BYTES_MAX);
    tape_init(&list->tape);
    arena_init(&list->arena);
}

void cli_toollist_free(struct cli_toollist *list) {
    buf_free(&list->text);
    tape_free(&list->tape);
    arena_free(&list->arena);
}

static struct slice text_at(struct cli_toollist *list, uint32_t node) {
    return node && tape_is(&list->tape, node, TAPE_STRING) ? tape_text(&list->tape, node, &list->arena)
                                                           : (struct slice){0};
}

int cli_toollist_parse(struct cli_toollist *list, const char *name, struct err *err) {
    struct tape *t = &list->tape;
    size_t at = 0;
    enum tape_fault fault = tape_parse(t, buf_slice(&list->text), &at);
    if (fault)
        return err_set(err, "byte %zu: %s", at, tape_fault_text(fault));
    uint32_t root = 0;
    if (tape_is(t, 0, TAPE_OBJECT)) {
        uint32_t result = tape_get_str(t, 0, "result");
        root = result && tape_is(t, result, TAPE_OBJECT) ? result : 0;
        list->tools = tape_get_str(t, root, "tools");
        list->package = text_at(list, tape_get_str(t, root, "package"));
        list->version = text_at(list, tape_get_str(t, root, "version"));
        list->instructions = text_at(list, tape_get_str(t, root, "instructions"));
        list->server = text_at(list, tape_path(t, root, "serverInfo", "name", NULL));
    }
    bool array = tape_is(t, 0, TAPE_ARRAY);
    if (!array && (!list->tools || !tape_is(t, list->tools, TAPE_ARRAY)))
        return err_set(err, "no list of tools: want an array, or an object with an array `tools`");
    if (list->package.len)
        list->server = list->package;
    if (!list->server.len)
        list->server = slice_str(name);
    return 0;
}

/* The file's name without directories and ending, to call a server by that names itself nowhere. */
static const char *stem(const char *path, struct arena *a) {
    const char *slash = strrchr(path, '/');
    struct slice name = slice_str(slash ? slash + 1 : path);
    if (slice_ends(name, SLICE(".json")))
        name.len -= 5;
    return arena_dup(a, name).ptr;
}

int cli_toollist_read(struct cli_toollist *list, const char *path, struct err *err) {
    if (cli_file_read(path, &list->text, NULL, err))
        return -1;
    if (cli_toollist_parse(list, stem(path, &list->arena), err))
        return err_wrap(err, "read `%s`", path);
    return 0;
}
