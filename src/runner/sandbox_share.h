/* Shares: each grant's queue of runs and its running work, checked against the ceilings of one grant and
 * of all. */
#pragma once

#include "runner/sandbox_core.h"

/* The share with that name, created if it is new. */
struct sandbox_share *sandbox_share_of(struct sandbox *s, struct slice name);
/* Frees shares without any work. Not while the queue is iterated. */
void sandbox_share_sweep(struct sandbox *s);
void sandbox_share_free_all(struct sandbox *s);

void sandbox_share_wait(struct sandbox_run *run);
void sandbox_share_leave(struct sandbox_run *run); /* without having run */
/* False if one more run with that memory would exceed a ceiling. With `parked`, its child is already
 * counted. */
bool sandbox_share_has_room(struct sandbox *s, const struct sandbox_run *run, const struct box *parked);
void sandbox_share_begin(struct sandbox_run *run, struct box *b);
void sandbox_share_end(struct sandbox_run *run);
/* A parked child keeps its memory and is frozen, so it uses no processor time. */
void sandbox_share_park(struct sandbox_run *run, struct box *b);
void sandbox_share_exited(struct box *b, uint64_t cpu_us);
void sandbox_share_forget(struct box *b); /* the child has ended */
/* The next pass over the queue. */
void sandbox_share_look(struct sandbox *s);
void sandbox_share_claim(struct sandbox_run *run);
