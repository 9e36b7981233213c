/* Which chain in the database is the log at home, or should become it. Private to the ship room. */
#pragma once

#include "ship/homelog.h"

/* The chain whose end the log has: the one that was shipped last, or another one of this log. A log that no
 * chain leads to (rolled back, replaced, or a part of it lost) gets a chain of its own, which says why: then
 * *ret_finding is set. *ret_chain->id is 0 where there is no log yet. */
int attach_chain(struct state_chains *chains, struct homelog *log, const char *gate, uint64_t last_chain,
                 const unsigned char key[CRYPTO_SIGNATURE_KEY], struct state_chain *ret_chain,
                 bool *ret_finding, struct err *err);
