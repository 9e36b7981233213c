/* The fork server inside an interpreter: takes an order, makes a child in fresh namespaces, goes on. */
#pragma once

#include "sandbox/lock.h"

/* Reads the setup and waits for the first order. False when the helper is gone. */
bool zygote_next(struct frame_order *ret_order, int ret_stdio[3]);
/* Like fork: 0 in the child (which is the helper's child and pid 1 of its own world), the pid here, -1 on
 * failure. The helper has been told in any case, and the descriptors are closed here. */
long zygote_clone(const struct lock_setup *setup, const struct frame_order *order, const int stdio[3]);
/* Tells the helper that orders may come, or why none can be taken. */
void zygote_tell(enum lock_note_kind kind, const char *text);
