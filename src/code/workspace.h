/* The files of one principal: a directory that nothing leads out of. Names come from agents, and what lies
 * there was written by their code, so every path is resolved by the kernel beneath the directory, without
 * links, and only regular files are touched. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum workspace_result {
    WORKSPACE_OK,
    WORKSPACE_OUTSIDE,   /* absolute, through .., through a link, or no name at all */
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

/* A descriptor of the directory, made when it is not there; below `dir_fd`. */
int workspace_open(int dir_fd, const char *name, int *ret_fd, struct err *err);
/* May that be a path inside? Relative, UTF-8, no control characters, no .. */
bool workspace_path_ok(struct slice path);
enum workspace_result workspace_read(int fd, struct slice path, size_t max, struct buf *out);
/* Whole or not at all; makes the directories above it. */
enum workspace_result workspace_write(int fd, struct slice path, struct slice bytes);
/* A new directory that so much is to be put into. */
enum workspace_result workspace_make(int fd, struct slice path, uint64_t bytes, uint64_t files, int *ret_fd);
enum workspace_result workspace_delete(int fd, struct slice path);
/* All regular files beneath `below` ("" or "." for everything), relative to the workspace. */
enum workspace_result workspace_list(int fd, struct slice below, struct arena *a,
                                     struct workspace_list *ret_list);
/* For people and models: "File not found: x". */
struct slice workspace_why(enum workspace_result result, struct slice path, struct arena *a);
/* By the end of its name. */
const char *workspace_mime(struct slice path);
