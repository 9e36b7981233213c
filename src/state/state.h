/* What the gate remembers between calls: the counters behind limits. One interface for every store; the
 * embedded one answers later only while it writes a mark, a network store usually does.
 *
 *   state_reserve(limits[]) ──▶ all of them counted, or none ──▶ ticket
 *        │ STATE_DONE: ticket->answer is there                     │
 *        └ STATE_WAIT: done(ctx, …) comes later, on the loop       ▼
 *                                              state_settle(KEEP | ROLLBACK), exactly once
 *
 * Amounts are fixed-point micro-units: one call is STATE_MICRO. A reservation is on the books before the call
 * is forwarded, so whatever happens afterwards, a counter can only be too high. */
#pragma once

#include "state/store.h"

const char *state_kind_name(enum state_kind kind);

/* Also -1 with err if a store on the network does not respond. */
int state_open(const struct state_config *config, struct state_store **ret_store, struct err *err);
/* Writes what is only in memory; NULL is fine. Tickets must be settled before. */
void state_close(struct state_store *store);

/* DONE: ticket->answer holds the result, done is not called. WAIT: done is called once, later, never from
 * inside this call. `limits` and their keys need not outlive the call. now_ms is wall-clock time. */
enum state_step state_reserve(struct state_store *store, const struct state_limit *limits, size_t count,
                              uint64_t now_ms, struct state_ticket *ticket, state_done_fn *done, void *ctx);
/* ROLLBACK takes the reservation back from the very window it was made in; concurrency is given back either
 * way. A ticket that was refused, or settled before, is left alone. On a ticket that still waits it cancels:
 * done will not be called and what the store may still grant is taken back. */
void state_settle(struct state_ticket *ticket, enum state_outcome outcome);
/* The same for each limit by itself: bit i of give_back takes limits[i] back, for i < 64. Later ones are kept
 * unless all bits are set. */
void state_settle_each(struct state_ticket *ticket, uint64_t give_back);
/* To another place; `from` is empty afterwards. Not while it waits for the answer to state_reserve(). */
void state_ticket_move(struct state_ticket *from, struct state_ticket *ret_ticket);
/* For state conditions: the value at now_ms, 0 for an unknown counter. STATE_GRANTED or _FAULT. */
enum state_result state_read(struct state_store *store, const struct state_limit *limit, uint64_t now_ms,
                             int64_t *ret_micro);

/* The same of many counters, for a store that cannot answer synchronously (state_read returns FAULT there).
 * DONE: fetch->result is set; WAIT: fetch->done comes later, unless state_unfetch comes first. */
enum state_step state_fetch(struct state_store *store, const struct state_limit *limits, size_t count,
                            uint64_t now_ms, struct state_fetch *fetch);
void state_unfetch(struct state_fetch *fetch);
/* True if state_read() never knows: counters must be fetched. */
bool state_is_remote(const struct state_store *store);

/* Calls `each` for every non-zero counter, in no order; the slice is valid inside the call. */
int state_list(struct state_store *store, uint64_t now_ms,
               void (*each)(void *ctx, const struct state_counter *c), void *ctx, struct err *err);
void state_health(struct state_store *store, struct state_health *ret_health);

/* The kind of store that a DSN names, and its location. */
enum state_backend { STATE_SQLITE, STATE_MEMORY, STATE_REDIS, STATE_POSTGRES };
struct state_dsn {
    enum state_backend backend;
    struct slice path; /* STATE_SQLITE: empty means the default place; on the network: the whole DSN */
};
int state_dsn_parse(const char *text, struct state_dsn *ret_dsn, struct err *err);
