/* Verifies a chain block by block: recomputes every hash, checks every signature. The caller provides
 * blocks and signatures. */
#pragma once

#include "audit/chain.h"
#include "audit/cursor.h"

struct audit_proof {
    /* Set by the caller. */
    const struct crypto_signer *key;
    unsigned char log_id[CHAIN_ID];
    uint64_t seq; /* current position; initially the record before the first one */
    unsigned char hash[CHAIN_HASH];
    struct chain_point head; /* the newest signature from another source */
    bool (*next_point)(void *ctx, struct chain_point *ret_point); /* in order; false: no more */
    void (*event)(void *ctx, const struct audit_record *r);       /* each record about the log itself */
    void *ctx;

    bool head_seen;
    uint64_t records, checkpoints, signed_seq;
    uint64_t first_bad; /* the first wrong record: 0 when it is none in particular */
    char text[AUDIT_REPORT_TEXT];
    /* Its own. */
    struct chain_point point;
    bool more_points;
    char *room;
};

void audit_proof_free(struct audit_proof *p);
/* Sets what is wrong; returns false. */
bool audit_proof_bad(struct audit_proof *p, uint64_t seq, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Restarts the signatures of next_point. */
void audit_proof_begin_points(struct audit_proof *p);
bool audit_proof_block(struct audit_proof *p, const struct audit_block *block);
/* After the last block: is a signature left over? */
bool audit_proof_end_points(struct audit_proof *p);
