/* The copy of a ring that outlasts the machine: in the ring's file, behind what is mapped, in the same
 * places. It is written past the page cache and the file system's journal, by the kernel while the loop goes
 * on: about 150 µs and one flush of the disk for whatever has gathered. Private to the audit room; for one
 * thread. */
#pragma once

#include "audit/ring.h"

struct disk {
    int fd;
    int event;         /* eventfd that is signalled when a write is complete */
    char *room;        /* the current write */
    unsigned long aio; /* the kernel's name for our queue; 0: not open */
    bool busy;
    size_t len;    /* of the write under way */
    uint64_t upto; /* position after it */
};

int audit_disk_open(struct disk *d, const struct ring *r, const char *dir, int event, struct err *err);
/* Waits for a write under way. */
void audit_disk_close(struct disk *d);

/* Begins to write frames between two positions, or the first part of them; one write at a time. */
int audit_disk_begin(struct disk *d, const struct ring *r, uint64_t from, uint64_t upto, struct err *err);
enum disk_end {
    DISK_NONE, /* no write has completed */
    DISK_DONE, /* everything up to d->upto is on disk */
    DISK_FAILED,
};
enum disk_end audit_disk_end(struct disk *d, struct err *err);
