/* Copies files into and out of a sandbox's workspace: only regular files, only beneath the two
 * directories. Blocks; for use in a worker thread. A hostile guest may change the sandbox's side at the
 * same time. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct sandbox_files {
    int from; /* directory descriptors */
    int to;
    bool from_guest; /* `from` is the sandbox's side; otherwise `to` is */
    uint32_t guest_uid, guest_gid;
    uint64_t bytes_max;
    uint32_t files_max;
    bool link;    /* both sides are the host's, and files are replaced, never changed: use hard links */
    bool project; /* sandbox_is_left_out() */
    bool remove_missing; /* removes files of `to` that `from` lacks; on the way out only those in `seen` */
    /* What was copied in, as it was on both sides: filled on the way in, read on the way out. Only what
     * the guest has changed since is written back. If the host's file has changed too, both are kept: the
     * guest's under another name. */
    struct buf seen;
    /* results */
    uint64_t bytes;
    uint32_t files;
    uint32_t skipped;
    struct err first_skipped; /* "name: why" of the first one that was left out */
};

/* Copies `from` to `to`. Returns -1 only if nothing could be done; entries that were left out are counted. */
int sandbox_files_copy(struct sandbox_files *job, struct err *err);
/* Removes a file or a whole directory on the host's side. */
void sandbox_files_remove(int dir, const char *name);
