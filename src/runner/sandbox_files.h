/* Files in and out of a sandbox's workspace: regular files only, beneath the two directories only. Blocking;
 * meant for a worker thread. The sandbox's side may be changed by a hostile guest at the same time. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct sandbox_files {
    int from; /* directory descriptors */
    int to;
    bool from_guest; /* `from` is the sandbox's side, else `to` is */
    uint32_t guest_uid, guest_gid;
    uint64_t bytes_max;
    uint32_t files_max;
    bool link;           /* both sides are ours, and files are replaced, never changed: link them */
    bool project;        /* sandbox_is_left_out() */
    bool remove_missing; /* files of `to` that `from` lacks go; on the way out only those that are in seen */
    /* What was copied in, as it was on both sides: filled on the way in, read on the way out. Only what the
     * guest has changed since is written back. Where the host's file has changed too, both are kept: the
     * guest's under another name. */
    struct buf seen;
    /* out */
    uint64_t bytes;
    uint32_t files;
    uint32_t skipped;
    struct err first_skipped; /* "name: why" of the first one */
};

/* Makes `to` look like `from`. -1 only when nothing could be done; what was left out is counted. */
int sandbox_files_copy(struct sandbox_files *job, struct err *err);
/* A file or a whole directory, on our own side. */
void sandbox_files_remove(int dir, const char *name);
