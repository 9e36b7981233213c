/* One run, from the code being handed over to its outcome.
 *
 *   copy in ─▶ RUN frame ─▶ calls, progress, images ─▶ DONE ─▶ streams drained ─▶ copy out ─▶ done()
 *                └ clock, limits, violations, exit ─────┘ */
#pragma once

#include "runner/sandbox_core.h"

void sandbox_run_begin(struct sandbox_run *run, struct box *b);
/* For a run that never had a box. */
void sandbox_run_refuse(struct sandbox_run *run, const char *why);
void sandbox_run_deliver_now(struct sandbox_run *run); /* its outcome is set */

/* ---- what its box reports: see struct sandbox_events ---- */
void sandbox_run_output(struct sandbox_run *run, enum sandbox_stream which, struct slice bytes);
void sandbox_run_violation(struct sandbox_run *run, const char *name, bool ended);
void sandbox_run_box_exited(struct sandbox_run *run, const struct frame_report *report);
size_t sandbox_run_frames(struct sandbox_run *run, struct slice bytes, size_t *ret_want);
void sandbox_run_abandon(struct sandbox_run *run, const char *why);
