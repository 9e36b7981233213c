#include "ship/attach.h"

#include "base/mem.h"
#include "ship/limits.h"

#include <stdio.h>

struct attach {
    struct homelog *log;
    uint64_t wanted;           /* chain that is tried first; 0: any */
    struct state_chain found;  /* its id is 0: none */
    struct state_chain newest; /* highest id of the chains that did not fit */
    int rc;
    struct err *err;
};

static bool try_chain(void *ctx, const struct state_chain *chain) {
    struct attach *a = ctx;
    if (a->wanted && chain->id != a->wanted)
        return true;
    int same = homelog_has(a->log, chain->seq, chain->hash, a->err);
    if (same > 0)
        a->found = *chain;
    else if (!a->newest.id)
        a->newest = *chain;
    a->rc = same < 0 ? -1 : 0;
    return same == 0;
}

static int find(struct state_chains *chains, struct attach *a, uint64_t wanted, struct slice log_id) {
    a->wanted = wanted;
    if (state_chains_each(chains, log_id, try_chain, a, a->err) < 0)
        return -1;
    return a->rc;
}

/* The last block that chain and log have in common becomes the base of the new one. */
static int find_fork(struct state_chains *chains, struct homelog *log, uint64_t newest,
                     struct state_chain *chain, const struct state_chain *left, struct err *err) {
    struct db_stmt *rows = state_chains_blocks(chains, left->id, newest < left->seq ? newest : left->seq,
                                               true, false, SHIP_FORK_LOOK);
    struct state_block block;
    int same = 0;
    while (same == 0 && state_chains_block(rows, &block)) {
        uint64_t last = block.first_seq + block.count - 1;
        if (block.hash.len != CHAIN_HASH || last <= chain->base_seq)
            continue;
        same = homelog_has(log, last, (const unsigned char *)block.hash.ptr, err);
        if (same > 0) {
            chain->base_seq = last;
            memcpy(chain->base_hash, block.hash.ptr, CHAIN_HASH);
        }
    }
    if (same < 0) {
        state_chains_rows_end(rows, NULL);
        return -1;
    }
    return state_chains_rows_end(rows, err);
}

static void describe(struct state_chain *chain, const struct state_chain *left, uint64_t newest) {
    if (chain->base_seq > left->seq)
        snprintf(chain->finding, sizeof(chain->finding),
                 "records %llu to %llu were lost in the home before they were shipped",
                 (unsigned long long)left->seq + 1, (unsigned long long)chain->base_seq);
    else if (newest < left->seq)
        snprintf(chain->finding, sizeof(chain->finding),
                 "the log was rolled back: chain %llu had %llu records, the log in the home has %llu and "
                 "continues "
                 "behind "
                 "record %llu",
                 (unsigned long long)left->id, (unsigned long long)left->seq, (unsigned long long)newest,
                 (unsigned long long)chain->base_seq);
    else
        snprintf(chain->finding, sizeof(chain->finding),
                 "the log was replaced: from record %llu on it is not what chain %llu has",
                 (unsigned long long)chain->base_seq + 1, (unsigned long long)left->id);
}

int attach_chain(struct state_chains *chains, struct homelog *log, const char *gate, uint64_t last_chain,
                 const unsigned char key[CRYPTO_SIGNATURE_KEY], struct state_chain *ret_chain,
                 bool *ret_finding, struct err *err) {
    struct segment_meta first;
    uint64_t newest;
    *ret_finding = false;
    *ret_chain = (struct state_chain){0};
    int there = homelog_look(log, &first, &newest, err);
    if (there <= 0)
        return there;
    struct attach a = {.log = log, .err = err};
    const struct slice log_id = slice_of((const char *)first.log_id, CHAIN_ID);
    if ((last_chain && find(chains, &a, last_chain, log_id) < 0) ||
        (!a.found.id && find(chains, &a, 0, log_id) < 0))
        return -1;
    if (a.found.id) {
        *ret_chain = a.found;
        return 0;
    }
    memcpy(ret_chain->log, first.log_id, CHAIN_ID);
    memcpy(ret_chain->key, key, sizeof(ret_chain->key));
    memcpy(ret_chain->base_hash, first.base_hash, CHAIN_HASH);
    ret_chain->base_seq = first.base_seq;
    snprintf(ret_chain->gate, sizeof(ret_chain->gate), "%s", gate);
    if (a.newest.id) {
        if (find_fork(chains, log, newest, ret_chain, &a.newest, err) < 0)
            return -1;
        describe(ret_chain, &a.newest, newest);
        *ret_finding = true;
    }
    return state_chains_add(chains, ret_chain, err);
}
