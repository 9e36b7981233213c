/* Hourly work of the shipper: drops days that are too old, and records the ends of other chains. A chain that
 * is cut off or removed in the database is then still found in the other logs. Private to the ship room. */
#pragma once

#include "state/chains.h"

/* Puts a record about the fleet into the log, and waits until it is on disk. */
struct chores_record {
    int (*put)(void *owner, const char *event, struct slice text, struct err *err);
    void *owner;
};

/* A day is dropped only when a record of that is on disk. The record has the digest of where each chain
 * continues. */
int chores_retire(struct state_chains *chains, uint64_t keep_ms, const struct chores_record *record,
                  struct err *err);
int chores_witness(struct state_chains *chains, const struct state_chain *own,
                   const struct chores_record *record, struct err *err);
