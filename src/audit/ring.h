/* Records on their way to the writer, in a file that is mapped: if the process is killed, the next one finds
 * them there. Frames lie in one piece; positions only ever grow.
 *
 *   head │ …written… │ tail: not yet in the log … end: next frame goes here │ …free… │
 *
 * Each frame says where it belongs and carries a sum. So after a crash of the machine, when the head may be
 * older than the frames or the frames older than the head, valid frames can still be recognised.
 * The ring of a durable log has a second copy of the data in its file, which disk.h keeps.
 *
 * One lock for the producers; the writer reads between tail and end without it. Private to the audit room. */
#pragma once

#include "audit/limits.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdatomic.h>

struct ring_head {
    uint32_t magic;
    uint32_t layout;
    char instance[16];
    _Atomic uint64_t tail;
    _Atomic uint64_t end;
    /* Records that did not fit, and that no record reports yet. Stored here because this page has its disk
     * block even when the disk is full. */
    _Atomic uint64_t lost;
};

struct ring {
    struct ring_head *head; /* NULL when not open */
    char *data;
    int fd;
    char *path;
    size_t mapped; /* bytes, with the head */
    size_t ready;  /* bytes of data whose disk blocks are there */
};

#define RING_HEAD_BYTES 4096
#define RING_FILE_BYTES (RING_HEAD_BYTES + (size_t)AUDIT_RING_BYTES)
#define RING_TWIN_BYTES (RING_FILE_BYTES + AUDIT_RING_BYTES) /* with the copy of a durable log: disk.h */

#define RING_INSTANCE_LEN 8

/* A new one: DIR/ring-INSTANCE, locked for as long as it is open. */
int audit_ring_create(struct ring *r, const char *dir, const char *instance, struct err *err);
enum ring_left {
    RING_ALIVE,   /* its process is alive, or is just creating it */
    RING_ADOPTED, /* a dead process left it */
    RING_FOREIGN, /* left by a dead process of another version, or damaged: it cannot be read */
};
enum ring_left audit_ring_adopt(struct ring *r, const char *path);
/* For an adopted ring: everything before `committed` is in the log; later frames count as far as they are
 * valid in either copy. False when something invalid followed. */
bool audit_ring_resume(struct ring *r, uint64_t committed);
void audit_ring_close(struct ring *r);
void audit_ring_remove(struct ring *r);        /* closes and deletes the file */
bool audit_ring_is_gone(const struct ring *r); /* its file was deleted or cut short */

/* Called by the producer, under its lock: room for len bytes, or NULL when less than `spare` bytes would
 * be left. */
char *audit_ring_reserve(struct ring *r, size_t len, size_t spare);
/* Makes the reserved frame visible; returns the position behind it. */
uint64_t audit_ring_publish(struct ring *r, size_t len);
size_t audit_ring_used(const struct ring *r);
/* From the head of another process's ring; 0 when it cannot be read. */
uint64_t audit_ring_lost(const struct ring_head *head);
/* Can this version read a ring file of that size with that head? */
bool audit_ring_readable(const struct ring_head *head, size_t bytes);

enum ring_step { RING_FRAME, RING_EMPTY, RING_BAD };
/* The frame at *at (start with the tail); moves *at behind it. */
enum ring_step audit_ring_next(const struct ring *r, uint64_t *at, struct slice *ret_bytes);
void audit_ring_release(struct ring *r, uint64_t at); /* everything before `at` is in the log */
