/* What a run has done so far, for a run that could not go on: when one of its calls needs a person's
 * approval, or the run was out of time while a call was held, the answers of the calls that were made are
 * kept. The same code, run again by the same principal, gets those answers for the same calls, and only what
 * is missing is done.
 *
 *   run 1:  a ✓  b ✓  c approval needed         kept: a, b
 *   run 2:  a (kept)  b (kept)  c ✓  d ✓        nothing is kept: the run came to its end
 *
 * A call that was under way when the run ended, or whose answer is too large to keep, is not made again
 * either: code gets an error that says so. */
#pragma once

#include "base/list.h"
#include "base/slice.h"

struct journal;

/* For a new run, with the answers that an earlier run of the same key left in `kept`, the list of one
 * principal. The key is a hash of the code and what it is given. */
struct journal *journal_open(struct list *kept, struct slice key);
enum journal_found {
    JOURNAL_NEW,      /* make it */
    JOURNAL_ANSWERED, /* it was made before, and *ret_answer is what came */
    JOURNAL_UNKNOWN,  /* it was made before, and what came is not known */
};
/* Looks for a call among those of the run before. */
enum journal_found journal_replay(struct journal *j, struct slice server, struct slice tool,
                                  struct slice args, struct slice *ret_answer);
/* A call is about to be made; its entry, for one of the two below. */
struct journal_entry *journal_begin(struct journal *j, struct slice server, struct slice tool,
                                    struct slice args);
void journal_answer(struct journal *j, struct journal_entry *entry, struct slice answer);
/* It was not made: refused, or there was no server to take it. */
void journal_forget(struct journal_entry *entry);
/* The run is over; `unfinished`: its answers are wanted once more. */
void journal_close(struct journal *j, struct list *kept, bool unfinished);
void journal_free_all(struct list *kept);
