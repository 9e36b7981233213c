/* Verifies the audit logs of a fleet: every chain in the database like the log of a home, then the chains
 * against each other. A dropped day must be on record, and so must the ends of other chains that gates
 * recorded. */
#pragma once

#include "audit/verify.h"

/* One chain. Its texts are valid during the call only. */
struct ship_chain_report {
    uint64_t chain;
    const char *gate;
    const char *log; /* the log's id, in hex */
    bool sound;
    const char *text;   /* what is wrong */
    uint64_t first_bad; /* 0: no record in particular */
    uint64_t first_seq, last_seq, records, checkpoints, signed_seq;
    uint64_t at_ms; /* when it was last shipped to */
    bool silent;    /* its gate did not stop, and has not shipped for SHIP_SILENT_MS */
};

struct ship_report {
    bool sound;
    bool unreadable;
    char text[AUDIT_REPORT_TEXT]; /* why it could not be read, or a fault that belongs to no chain */
    uint64_t chains, bad_chains, records, checkpoints, witnessed;
};

typedef void ship_chain_fn(void *ctx, const struct ship_chain_report *report);
/* key_path: a public key, or a directory of such (*.pub), that gates may sign with; NULL: those that the
 * database has. */
void ship_verify(const char *home, const char *key_path, ship_chain_fn *each, void *ctx,
                 struct ship_report *ret_report);
