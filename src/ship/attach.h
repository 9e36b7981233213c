/* Finds the chain in the database that continues the log at home. Private to the ship room. */
#pragma once

#include "ship/homelog.h"

/* The chain whose end is in the log: the one that was shipped last, or another one of this log. A log that
 * continues no chain (rolled back, replaced, or partly lost) gets a new chain that says why, and *ret_finding
 * is set. *ret_chain->id is 0 where there is no log yet. */
int attach_chain(struct state_chains *chains, struct homelog *log, const char *gate, uint64_t last_chain,
                 const unsigned char key[CRYPTO_SIGNATURE_KEY], struct state_chain *ret_chain,
                 bool *ret_finding, struct err *err);
