/* Every version of a file that the gate or its command line has written: policies and settings. They lie in
 * versions.sqlite of the home, or in its PostgreSQL; a text is kept once a file, however often it is saved.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/sha.h"
#include "base/slice.h"
#include "state/limits.h"

struct state_version {
    uint64_t number; /* 1, 2, … of this file */
    char hash[SHA_HEX];
    struct slice by, note;
    uint64_t at_ms;
};

struct state_versions;

int state_versions_open(const char *home, struct state_versions **ret_versions, struct err *err);
void state_versions_close(struct state_versions *v); /* NULL is fine */

/* Adds a version unless the newest of this file has the same text. With more than STATE_VERSIONS_MAX the
 * oldest is deleted. */
int state_versions_add(struct state_versions *v, struct slice path, struct slice text, struct slice by,
                       struct slice note, uint64_t now_ms, struct err *err);
/* Newest first; the texts are valid inside the call only. */
int state_versions_list(struct state_versions *v, struct slice path,
                        void (*each)(void *ctx, const struct state_version *one), void *ctx, struct err *err);
/* 1 and the text, in the arena; 0 if there is none; -1. */
int state_versions_get(struct state_versions *v, struct slice path, uint64_t number, struct arena *a,
                       struct slice *ret_text, struct err *err);
