/* The calls of an unfinished run. If one of its calls needs an approval, or the run times out while a call is
 * held, the responses of the calls that were made are kept. If the same principal runs the same code again,
 * it gets those responses for the same calls, and only the missing calls are made.
 *
 *   run 1:  a ✓  b ✓  c approval needed         kept: a, b
 *   run 2:  a (kept)  b (kept)  c ✓  d ✓        nothing is kept: the run has finished
 *
 * A call that was pending when the run ended, or whose response is too large to keep, is not made again
 * either: code gets an error. */
#pragma once

#include "base/list.h"
#include "base/slice.h"

struct journal;

/* For a new run, with the responses that an earlier run of the same key left in `kept`, the list of one
 * principal. The key is a hash of the code and its input. */
struct journal *journal_open(struct list *kept, struct slice key);
enum journal_found {
    JOURNAL_NEW,      /* make the call */
    JOURNAL_ANSWERED, /* it was made before; *ret_answer is its response */
    JOURNAL_UNKNOWN,  /* it was made before; its response is unknown */
};
/* Searches a call among those of the earlier run. */
enum journal_found journal_replay(struct journal *j, struct slice server, struct slice tool,
                                  struct slice args, struct slice *ret_answer);
/* Call before the call is made; returns its entry, for one of the two functions below. */
struct journal_entry *journal_begin(struct journal *j, struct slice server, struct slice tool,
                                    struct slice args);
void journal_answer(struct journal *j, struct journal_entry *entry, struct slice answer);
/* The call was not made: denied, or there was no server for it. */
void journal_forget(struct journal_entry *entry);
/* The run has ended; `unfinished`: its responses are kept for the next run. */
void journal_close(struct journal *j, struct list *kept, bool unfinished);
void journal_free_all(struct list *kept);
