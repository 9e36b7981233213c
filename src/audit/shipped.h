/* How far the log has been shipped to the fleet's database: DIR/shipped, one line of JSON. The process that
 * ships writes it; every writer reads it before it retires a segment, and `status` shows it. */
#pragma once

#include "audit/chain.h"

struct audit_shipped {
    unsigned char log_id[CHAIN_ID];
    uint64_t chain;      /* the fleet's number for it; 0: none yet */
    uint64_t seq;        /* acknowledged by the database */
    uint64_t time_ms;    /* when, by this machine's clock; 0: never */
    uint64_t backlog;    /* bytes of blocks that were not acknowledged when this was written */
    uint64_t written_ms; /* when this was */
    char fault[256];     /* why shipping fails now; empty: it works */
};

/* False: the file is absent, or not in our format. */
bool audit_shipped_read(const char *dir, struct audit_shipped *ret_shipped);
int audit_shipped_write(const char *dir, const struct audit_shipped *shipped, struct err *err);
