/* One file of the log: SQLite with the records of a stretch of the chain, in blocks. A block is what one
 * commit wrote, as one row, packed (pack.h); unpacked, each record in it is a frame:
 *
 *   length, 4 bytes │ first 8 bytes of its chain hash │ canonical bytes
 *
 * Rows of their own would cost four times as much processor time a record, and the log is on for every call.
 * A sealed segment gets no more blocks. Private to the audit room. */
#pragma once

#include "audit/chain.h"
#include "audit/record.h"
#include "base/arena.h"
#include "io/anchor.h"

#include <sqlite3.h>

struct segment_meta {
    unsigned char log_id[CHAIN_ID];
    uint64_t number;
    uint64_t base_seq; /* the record before the first one here; 0 in the first segment */
    unsigned char base_hash[CHAIN_HASH];
    bool sealed;
};

struct segment {
    sqlite3 *db;
    sqlite3_stmt *add, *head, *set_head, *set_ring;
    struct segment_meta meta;
    char *path;
    struct io_anchor file, wal; /* for writing: the files that are open */
};

void audit_segment_path(const char *dir, uint64_t number, char *path, size_t cap);
/* Numbers of the segments in dir, ascending; *ret_numbers is to be freed. */
int audit_segment_list(const char *dir, uint64_t **ret_numbers, size_t *ret_count, struct err *err);

enum segment_mode { SEGMENT_READ, SEGMENT_WRITE };
int audit_segment_open(struct segment *s, const char *dir, uint64_t number, enum segment_mode mode,
                       struct err *err);
/* Creates the file unless another process has; `base` is the end of the chain. It knows the gates that
 * `before`, the sealed segment, knew; NULL: it is the first. Then open for writing. */
/* A file that a gate is making a segment at this moment: it has no table yet. */
bool audit_segment_is_empty(const char *dir, uint64_t number);
int audit_segment_create(struct segment *s, const char *dir, const struct segment_meta *base,
                         struct segment *before, struct err *err);
void audit_segment_close(struct segment *s);
/* Is it still the file at its path? */
int audit_segment_check(struct segment *s, struct err *err);
/* Closes one that is not: what is at its path now stays as it is. */
void audit_segment_abandon(struct segment *s);
/* Is the file still empty, without tables? */
bool audit_segment_is_blank(const char *dir, uint64_t number, enum segment_mode mode);

int audit_segment_exec(struct segment *s, const char *sql, struct err *err);
int audit_segment_fail(const struct segment *s, struct err *err);
/* Inside a transaction. The head is the number and hash of the newest record. */
int audit_segment_read_head(struct segment *s, uint64_t *ret_seq, unsigned char hash[CHAIN_HASH],
                            struct err *err);
int audit_segment_write_head(struct segment *s, uint64_t seq, const unsigned char hash[CHAIN_HASH],
                             struct err *err);
/* The body is packed (pack.h). */
int audit_segment_add_block(struct segment *s, uint64_t first_seq, uint64_t count,
                            const unsigned char hash[CHAIN_HASH], struct slice body, struct err *err);
int audit_segment_add_point(struct segment *s, const struct chain_point *point, struct err *err);
/* How far an instance's ring has been written, so that records of a killed process are not written twice. */
int audit_segment_set_ring(struct segment *s, struct slice instance, uint64_t position, struct err *err);
uint64_t audit_segment_ring(struct segment *s, struct slice instance);
/* Gates that have a ring: those that run and those that were killed. Inside a transaction. */
#define SEGMENT_GATES_MAX 4096
int audit_segment_gate_add(struct segment *s, struct slice instance, struct err *err);
int audit_segment_gate_remove(struct segment *s, struct slice instance, struct err *err);
int audit_segment_gates(struct segment *s, struct arena *a, struct slice **ret_list, size_t *ret_count,
                        struct err *err);
uint64_t audit_segment_bytes(struct segment *s); /* with what is still in the write-ahead log */

/* ---- frames ---- */

#define SEGMENT_TAG 8
#define SEGMENT_FRAME_HEAD (4 + SEGMENT_TAG)

struct segment_frame {
    struct slice bytes; /* canonical */
    unsigned char tag[SEGMENT_TAG];
};

/* Writes the head of a frame in front of its bytes. */
void audit_segment_frame_head(char to[SEGMENT_FRAME_HEAD], size_t len, const unsigned char hash[CHAIN_HASH]);
/* The next frame of a block; false at the end. If *body is not empty then, the block is damaged. */
bool audit_segment_frame_next(struct slice *body, struct segment_frame *ret_frame);

/* Statement over blocks from `seq` on (and up to to_seq, unless that is 0), in order: first_seq, count, hash,
 * body. */
sqlite3_stmt *audit_segment_blocks(struct segment *s, uint64_t from_seq, uint64_t to_seq, bool newest_first);
struct slice audit_segment_column(sqlite3_stmt *row, int column); /* a BLOB, borrowed until the next step */
