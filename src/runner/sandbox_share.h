/* Shares: each grant's line of runs, and what it has under way, against the ceilings of one grant and of all.
 */
#pragma once

#include "runner/sandbox_core.h"

/* The share of that name, made when it is new. */
struct sandbox_share *sandbox_share_of(struct sandbox *s, struct slice name);
/* Those that have nothing under way. Not while the line is walked. */
void sandbox_share_sweep(struct sandbox *s);
void sandbox_share_free_all(struct sandbox *s);

void sandbox_share_wait(struct sandbox_run *run);
void sandbox_share_leave(struct sandbox_run *run); /* without having run */
/* False when one more run of that memory would break a ceiling; with `parked`, its child counts already. */
bool sandbox_share_has_room(struct sandbox *s, const struct sandbox_run *run, const struct box *parked);
void sandbox_share_begin(struct sandbox_run *run, struct box *b);
void sandbox_share_end(struct sandbox_run *run);
/* A parked child holds its memory and stands still, so that it takes no processor time. */
void sandbox_share_park(struct sandbox_run *run, struct box *b);
void sandbox_share_unpark(struct box *b);
void sandbox_share_exited(struct box *b, uint64_t cpu_us);
void sandbox_share_forget(struct box *b); /* the child is gone */
/* The next look at the line. */
void sandbox_share_look(struct sandbox *s);
void sandbox_share_claim(struct sandbox_run *run);
