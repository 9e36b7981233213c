/* The helper process and the sandboxes that it creates. */
#pragma once

#include "runner/sandbox_core.h"

int sandbox_box_helper_start(struct sandbox *s, struct err *err);
void sandbox_box_helper_stop(struct sandbox *s);
/* urgent: a run waits for it, or will soon. */
struct box *sandbox_box_start(struct sandbox *s, enum frame_runtime runtime, enum sandbox_profile profile,
                              bool urgent, struct err *err);
void sandbox_box_kill(struct box *b);
/* Lowers the memory limit of its processes together, if the machine supports it. */
void sandbox_box_limit(struct box *b, uint32_t memory_mb);
/* Reads what its streams still contain, and the reports of its system calls so far. */
void sandbox_box_drain(struct box *b);
void sandbox_box_listen(struct box *b, bool on); /* to all its streams */
