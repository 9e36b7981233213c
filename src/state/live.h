/* The table of counters that every process of one state directory shares: a file mapped into all of them,
 * under one lock. What a process counted is immediately in the shared mapping, so killing the process loses
 * nothing. Only a crash of the machine does; marks (marks.h) cover that.
 *
 *   head │ buckets: first counter of each chain │ counters: 512 bytes each, handed out in order, then reused
 *
 * The same table on anonymous memory is the in-memory store. Private to the state room. */
#pragma once

#include "state/meter.h"

#include <pthread.h>

#define LIVE_ID_BYTES 16

struct live_counter {
    uint32_t next; /* index + 1 of the next in its chain, 0 for none */
    uint32_t generation;
    uint64_t hash;
    uint64_t window_ms;
    int64_t max;
    int64_t refill;
    uint64_t used_ms;
    struct state_mark mark;
    uint8_t in_use;
    uint8_t kind;
    uint16_t key_len;
    struct state_meter meter;
    char key[STATE_KEY_MAX];
};

struct live_head;

struct live {
    struct live_head *head; /* NULL when not open */
    uint32_t *buckets;
    struct live_counter *counters;
    int fd;         /* -1: anonymous memory */
    uint32_t owner; /* index of this process, below STATE_PROCESSES_MAX */
    bool alone;     /* no other process had it open: marks may have to be read */
    bool fresh;     /* the table was created empty: it belongs to another boot or another database */
};

/* path NULL: anonymous. `store_id` is the database's own; a table of another database is not taken over.
 * Holds the opening lock until state_live_opened, so that the only process can fill it. */
int state_live_open(struct live *l, const char *path, const unsigned char store_id[LIVE_ID_BYTES],
                    struct err *err);
void state_live_opened(struct live *l);
/* For readers: takes the opening lock, but no index. -1 without err text if there is no valid table. */
int state_live_attach(struct live *l, const char *path, const unsigned char store_id[LIVE_ID_BYTES]);
/* Takes the opening lock again; true if this is the last process. state_live_close() releases it. */
bool state_live_closing(struct live *l);
void state_live_close(struct live *l);

void state_live_lock(struct live *l);
void state_live_unlock(struct live *l);

/* Under the lock. `key` has at most STATE_KEY_MAX bytes. */
struct live_counter *state_live_find(struct live *l, struct slice key, enum state_kind kind,
                                     uint64_t window_ms);
/* NULL when the table, or the disk behind it, is full. */
struct live_counter *state_live_make(struct live *l, struct slice key, const struct state_limit *limit,
                                     uint64_t now_ms);
/* The counter of a hold; NULL if it was reused for another key. */
struct live_counter *state_live_held(struct live *l, const struct state_hold *hold);
uint32_t state_live_index(const struct live *l, const struct live_counter *c);
/* Iterates: start with *at = 0. */
struct live_counter *state_live_next(struct live *l, uint32_t *at);
/* Frees counters that no longer count anything, unless that was done recently. */
void state_live_sweep(struct live *l, uint64_t now_ms);
/* Releases what dead processes hold of a concurrency counter; true if there was any. */
bool state_live_reap(struct live *l, struct live_counter *c);
size_t state_live_count(const struct live *l);
size_t state_live_processes(const struct live *l);
/* -1 when the file was deleted, so that other processes count in another one, or overwritten. */
int state_live_check(const struct live *l, struct err *err);
