/* The files of one principal: a directory that no path can leave. Names come from agents, and code wrote the
 * content, so the kernel resolves every path beneath the directory, without links, and only regular files are
 * used. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum workspace_result {
    WORKSPACE_OK,
    WORKSPACE_OUTSIDE,   /* absolute, with .., through a link, or empty */
    WORKSPACE_NOT_FOUND, /* or not a regular file */
    WORKSPACE_TOO_LARGE,
    WORKSPACE_FULL, /* the quota */
    WORKSPACE_EXISTS,
    WORKSPACE_FAILED,
};

struct workspace_file {
    struct slice path; /* relative, in the arena */
    uint64_t size;
    uint64_t changed_ms;
};

struct workspace_list {
    struct workspace_file *files; /* sorted by path */
    size_t count;
    bool cut; /* there are more than CODE_FILES_MAX */
};

/* A descriptor of the directory below `dir_fd`; created if absent. */
int workspace_open(int dir_fd, const char *name, int *ret_fd, struct err *err);
/* Is this a valid path? Relative, UTF-8, no control characters, no .. */
bool workspace_path_ok(struct slice path);
enum workspace_result workspace_read(int fd, struct slice path, size_t max, struct buf *out);
/* Atomic; creates the directories above it. */
enum workspace_result workspace_write(int fd, struct slice path, struct slice bytes);
/* Creates a directory; checks the quota for so many bytes and files. */
enum workspace_result workspace_make(int fd, struct slice path, uint64_t bytes, uint64_t files, int *ret_fd);
enum workspace_result workspace_delete(int fd, struct slice path);
/* All regular files beneath `below` ("" or "." for everything), relative to the workspace. */
enum workspace_result workspace_list(int fd, struct slice below, struct arena *a,
                                     struct workspace_list *ret_list);
/* The message: "File not found: x". */
struct slice workspace_why(enum workspace_result result, struct slice path, struct arena *a);
/* By the file extension. */
const char *workspace_mime(struct slice path);
