/* The audit logs of a fleet in PostgreSQL: chains of blocks as the gates wrote and signed them. This room
 * does not know what is in a block. A connection belongs to one thread at a time.
 *
 *   batch_block, batch_point … ──▶ chains_ship: one transaction that also moves the end of the chain,
 *                                  and only from where the caller believes it to be
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/sha.h"
#include "crypto/signature.h"
#include "state/limits.h"

#define STATE_LOG_ID 16 /* bytes of a log's id */

struct state_chains;

/* Connects at the first statement, transactions of the same `turns` exclude each other; NULL: it only reads,
 * and a standby will do. Waits take timeout_ms at most and end when stop_fd (-1: none) is readable. */
int state_chains_open(const char *dsn, const char *turns, uint64_t timeout_ms, int stop_fd,
                      struct state_chains **ret_chains, struct err *err);
void state_chains_close(struct state_chains *c); /* NULL is fine */

/* The DSN of the fleet's audit log: HOME/fleet, else HOME/database. NULL if the home has none. The caller
 * frees it. */
int state_chains_dsn(const char *home, char **ret_dsn, struct err *err);
/* Writes HOME/fleet, so that the command line finds it. */
int state_chains_dsn_keep(const char *home, const char *dsn, struct err *err);

/* A signed statement about a chain's end. All zero before the first one. */
struct state_point {
    uint64_t seq;
    unsigned char hash[SHA_BYTES];
    uint64_t time_ms;
    unsigned char signature[CRYPTO_SIGNATURE];
};

/* A log is one chain, unless it was rolled back or lost a part: then a new chain starts where it
 * continued. */
struct state_chain {
    uint64_t id;
    unsigned char log[STATE_LOG_ID];
    unsigned char key[CRYPTO_SIGNATURE_KEY]; /* public */
    char gate[STATE_GATE_NAME_MAX + 1];
    uint64_t base_seq; /* the record before its first one */
    unsigned char base_hash[SHA_BYTES];
    char finding[STATE_FINDING_MAX + 1]; /* why it is not the first chain of its log; empty if it is */
    uint64_t began_ms;
    uint64_t seq; /* acknowledged up to here */
    unsigned char hash[SHA_BYTES];
    uint64_t at_ms; /* when, by the server's clock */
    struct state_point head;
};

typedef bool state_chain_fn(void *ctx,
                            const struct state_chain *chain); /* returns false to end the iteration */
/* The chains of one log (newest first), or all (ordered by id) for an empty `log`. */
int state_chains_each(struct state_chains *c, struct slice log, state_chain_fn *each, void *ctx,
                      struct err *err);
/* Starts a chain at its base; *chain gets its id. */
int state_chains_add(struct state_chains *c, struct state_chain *chain, struct err *err);

/* Rows to be sent, in the binary format of COPY. */
struct state_batch {
    struct buf blocks, points;
    uint64_t chain;
};
void state_batch_init(struct state_batch *b);
void state_batch_free(struct state_batch *b);
void state_batch_begin(struct state_batch *b, uint64_t chain);
void state_batch_block(struct state_batch *b, uint64_t first_seq, uint64_t count, struct slice hash,
                       struct slice body);
void state_batch_point(struct state_batch *b, const struct state_point *p);
/* 1: stored, and *chain is updated to `end`. 0: the chain in the database ends elsewhere than *chain. -1:
 * failed; it may have been stored nevertheless. */
int state_chains_ship(struct state_chains *c, const struct state_batch *b, const struct state_chain *chain,
                      const struct state_chain *end, struct err *err);

/* Rows of blocks: starting with the one that has `from_seq`, upwards or downwards, at most `limit`. */
struct state_block {
    uint64_t first_seq, count;
    struct slice hash, body; /* valid until the next row */
};
struct db_stmt;
struct db_stmt *state_chains_blocks(struct state_chains *c, uint64_t chain, uint64_t from_seq, bool down,
                                    bool bodies, uint64_t limit);
bool state_chains_block(struct db_stmt *rows, struct state_block *ret_block);
/* Signatures after after_seq, upwards. */
struct db_stmt *state_chains_points(struct state_chains *c, uint64_t chain, uint64_t after_seq,
                                    uint64_t limit);
bool state_chains_point(struct db_stmt *rows, struct state_point *ret_point);
/* Ends either of them. */
int state_chains_rows_end(struct db_stmt *rows, struct err *err);

/* ---- days ---- */

#define STATE_DAY_TEXT 9 /* 20260102 and a NUL */

/* Partitions for today and tomorrow. */
int state_chains_open_days(struct state_chains *c, struct err *err);
/* The oldest day that ended keep_ms ago: 1, 0 if there is none, or -1. */
int state_chains_old_day(struct state_chains *c, uint64_t keep_ms, char ret_day[STATE_DAY_TEXT],
                         struct err *err);
/* Notes where each chain goes on behind that day. The digest is of these notes; the caller puts it on record,
 * then drops the day. */
int state_chains_note_day(struct state_chains *c, const char *day, char ret_digest[SHA_HEX], struct err *err);
int state_chains_drop_day(struct state_chains *c, const char *day, struct err *err);
/* The digest of the notes of a day that was dropped. */
int state_chains_day_digest(struct state_chains *c, const char *day, char ret_digest[SHA_HEX],
                            struct err *err);
/* Where a chain goes on since its newest day that was dropped: 1, 0 when it has lost none, or -1. */
int state_chains_retired(struct state_chains *c, uint64_t chain, uint64_t *ret_seq,
                         unsigned char ret_hash[SHA_BYTES], char ret_day[STATE_DAY_TEXT], struct err *err);
