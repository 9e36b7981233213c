/* The work of the writer thread: batches from a ring into the newest segment, checkpoints, new segments,
 * retention. Private to the audit room. */
#pragma once

#include "audit/pack.h"
#include "audit/ring.h"
#include "audit/segment.h"

#define WRITER_OWN_MAX 4096 /* bytes of them in one block: three at most */

struct writer {
    struct segment segment; /* the newest, as far as we know */
    struct crypto_signer *key;
    char *dir;
    char instance[RING_INSTANCE_LEN + 1];
    bool durable;
    uint64_t segment_bytes;
    uint64_t retain_ms;
    bool ships;
    uint64_t seq; /* of the newest record, at our last look */
    unsigned char hash[CHAIN_HASH];
    char finding[256]; /* the last loss that was found while taking the log over */
    uint64_t signed_seq;
    uint64_t signed_ms; /* steady clock */
    uint64_t retire_ms; /* the same: when old segments are looked for again */
    uint64_t written;
    uint64_t commits;
    /* the block under way */
    struct pack pack;
    char *room;       /* for it as it goes into the file */
    size_t block_len; /* as plain frames */
    uint64_t block_count;
    char own[WRITER_OWN_MAX]; /* records of the writer's own */
    size_t own_len;
};

/* After a failure the state is as before, and it may be retried. */
int audit_writer_open(struct writer *w, const char *home, const char *dir, struct err *err);
void audit_writer_close(struct writer *w);
/* Was the segment that is written deleted or replaced? The log has to be opened again then. */
bool audit_writer_lost(struct writer *w, struct err *err);

/* One commit with the records in the ring, at most AUDIT_COMMIT_BLOCKS, preceded by an event for `gaps`
 * lost ones. *ret_at: position up to which everything is on disk; the caller releases it. */
int audit_writer_write(struct writer *w, struct ring *ring, uint64_t gaps, uint64_t *ret_at, struct err *err);
/* One commit with one record about the log itself. */
int audit_writer_note(struct writer *w, const char *event, const char *text, struct err *err);
/* A log that is shorter than its signed head, or has lost its head, would look complete again once new
 * records are signed: the finding is recorded first. */
int audit_writer_check(struct writer *w, struct err *err);
/* The first record of this instance, and the last one. */
int audit_writer_start(struct writer *w, struct err *err);
int audit_writer_stop(struct writer *w, struct err *err);
/* Takes over the rings of killed processes; records rings that are missing. */
int audit_writer_recover(struct writer *w, struct err *err);

bool audit_writer_sign_due(const struct writer *w, uint64_t mono_ms);
/* Signs a checkpoint of the end of the chain, on disk before the head file refers to it. Then, if it is
 * time, begins a new segment and removes old ones. */
int audit_writer_sign(struct writer *w, struct err *err);
