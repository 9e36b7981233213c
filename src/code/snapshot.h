/* Snapshots of a workspace: its files under a name, to go back to or to go on from beside the present ones.
 *
 *   HOME/code/PRINCIPAL/snapshots/NAME/files/...   hard links: no file of a workspace is ever changed in
 * place /about       how many files and bytes, and when it was made
 *
 * Variables of sessions, jobs and skills are not part of it. */
#pragma once

#include "code/model.h"

struct snapshot {
    struct slice name;
    uint64_t files, bytes;
    uint64_t created_ms;   /* wall clock */
    struct slice left_out; /* "name: why" of the first file that could not be included; or empty */
};

struct snapshot_list {
    struct snapshot all[CODE_SNAPSHOTS_MAX];
    size_t count;
    uint64_t bytes;
};

/* Slices are in the arena. */
int snapshot_save(struct code_owner *o, struct slice name, struct arena *a, struct snapshot *ret_snapshot,
                  struct err *err);
/* Restores the workspace; or, with `into`, copies it to that new directory. */
int snapshot_restore(struct code_owner *o, struct slice name, struct slice into, struct arena *a,
                     struct snapshot *ret_snapshot, struct err *err);
int snapshot_delete(struct code_owner *o, struct slice name, struct err *err);
/* By name. */
int snapshot_all(struct code_owner *o, struct arena *a, struct snapshot_list *ret_list, struct err *err);
