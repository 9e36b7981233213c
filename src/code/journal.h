/* What a run has done so far, for a run that could not go on: when one of its calls needs a person's
 * approval, or the run was out of time while a call was held, the answers of the calls that were made are
 * kept. The same code, run again by the same principal, gets those answers for the same calls, and only what
 * is missing is done.
 *
 *   run 1:  a ✓  b ✓  c approval needed         kept: a, b
 *   run 2:  a (kept)  b (kept)  c ✓  d ✓        nothing is kept: the run came to its end
 */
#pragma once

#include "base/list.h"
#include "base/slice.h"

struct journal;

/* For a new run, with the answers that an earlier run of the same key left in `kept`, the list of one
 * principal. The key is a hash of the code and what it is given. */
struct journal *journal_open(struct list *kept, struct slice key);
/* The answer of that call, if it was made before: then it is not made again. */
bool journal_replay(struct journal *j, struct slice server, struct slice tool, struct slice args,
                    struct slice *ret_answer);
/* The call was made. */
void journal_note(struct journal *j, struct slice server, struct slice tool, struct slice args,
                  struct slice answer);
/* The run is over; `unfinished`: its answers are wanted once more. False when they could not be kept. */
bool journal_close(struct journal *j, struct list *kept, bool unfinished);
void journal_free_all(struct list *kept);
