/* Is a chain what was written? Block by block: recomputes every hash, checks every signature. Where the
 * blocks and the signatures come from is the caller's business. */
#pragma once

#include "audit/chain.h"
#include "audit/cursor.h"

struct audit_proof {
    /* Set by the caller. */
    const struct crypto_signer *key;
    unsigned char log_id[CHAIN_ID];
    uint64_t seq; /* where the walk stands; at first: the record before the first one */
    unsigned char hash[CHAIN_HASH];
    struct chain_point head; /* the newest signature, as it is said elsewhere */
    bool (*next_point)(void *ctx, struct chain_point *ret_point); /* in order; false: no more */
    void (*event)(void *ctx, const struct audit_record *r);       /* each record about the log itself */
    void *ctx;

    bool head_seen;
    uint64_t records, checkpoints, signed_seq;
    uint64_t first_bad; /* what is wrong: 0 when it is no record in particular */
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
/* From here on signatures come from next_point anew. */
void audit_proof_begin_points(struct audit_proof *p);
bool audit_proof_block(struct audit_proof *p, const struct audit_block *block);
/* Behind the last block: is a signature left over? */
bool audit_proof_end_points(struct audit_proof *p);
