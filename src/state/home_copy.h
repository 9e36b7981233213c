/* A consistent copy of a home while gates use it, and the way back.
 *
 *   backup:  audit/head ─▶ audit/ring-* ─▶ everything else ─▶ manifest.json, last
 *   restore: manifest checked ─▶ HOME.restoring-N ─▶ renamed to HOME
 *
 * The order makes the copy of a log that is written meanwhile sound: a signed head is never ahead of the
 * segments that are copied after it, and a record leaves a ring only for a segment. Each database is copied
 * as of one moment by SQLite itself. Counters in shared memory are not copied: the database holds marks that
 * are never below them. Sockets, lock files and what belongs to running processes stay behind. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define STATE_BACKUP_FORMAT 1

struct state_home_copy {
    uint64_t files, bytes; /* so far */
    uint64_t taken_ms;     /* restore: when the copy was made */
    char version[32];      /* restore: of the program that made it */
    /* Called before each file; may be NULL. */
    void (*progress)(void *ctx, const struct state_home_copy *so_far, const char *path);
    void *ctx;
};

/* Copies `home` to the directory `to`, which is created; an existing one must be empty. */
int state_home_copy_make(const char *home, const char *to, struct state_home_copy *b, struct err *err);
/* Checks that every file of the copy exists with its original bytes. */
int state_home_copy_check(const char *from, struct state_home_copy *b, struct err *err);
/* Verifies, copies to a directory beside `home` and renames that to `home`. An existing home is an error
 * unless `aside` is given: the path that it is renamed to. */
int state_home_copy_restore(const char *from, const char *home, const char *aside, struct state_home_copy *b,
                            struct err *err);
