/* Reads the log at home for the shipper: whether the database's chain is in it, and what follows that chain's
 * end. Private to the ship room. */
#pragma once

#include "audit/segment.h"
#include "state/chains.h"

struct homelog {
    char *dir;
    struct segment segment; /* where the shipper stands */
    bool open;
};

void homelog_init(struct homelog *l, const char *home);
void homelog_free(struct homelog *l);
/* Closes the open segment; the next call opens it again. */
void homelog_close(struct homelog *l);

/* Its first segment, with the log's id and where the chain begins here, and the number of the newest record.
 * 0: there is no log yet. */
int homelog_look(struct homelog *l, struct segment_meta *ret_first, uint64_t *ret_newest, struct err *err);
/* Does the log have exactly that record, as the end of a block? */
int homelog_has(struct homelog *l, uint64_t seq, const unsigned char hash[CHAIN_HASH], struct err *err);
/* What follows chain->seq, into the batch; *end becomes where the chain then ends. Nothing: *end is *chain.
 */
int homelog_read(struct homelog *l, const struct state_chain *chain, struct state_batch *batch,
                 struct state_chain *end, struct err *err);
/* Bytes of blocks behind seq. */
int homelog_backlog(struct homelog *l, uint64_t seq, uint64_t *ret_bytes, struct err *err);
