/* What the shipper does once an hour beside shipping: drops days that are too old, and puts the ends of other
 * chains on record, so that a chain that is cut off or removed in the database shows in those of others.
 * Private to the ship room. */
#pragma once

#include "state/chains.h"

/* Puts a record about the fleet into the log, and waits until it is on disk. */
struct chores_record {
    int (*put)(void *owner, const char *event, struct slice text, struct err *err);
    void *owner;
};

/* The day is dropped when a record that says so, with the digest of where each chain goes on, is on disk. */
int chores_retire(struct state_chains *chains, uint64_t keep_ms, const struct chores_record *record,
                  struct err *err);
int chores_witness(struct state_chains *chains, const struct state_chain *own,
                   const struct chores_record *record, struct err *err);
