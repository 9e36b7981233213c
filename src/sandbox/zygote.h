/* The fork server inside an interpreter: takes an order, makes a child in fresh namespaces, goes on. */
#pragma once

#include "sandbox/confine.h"

/* Reads the setup and waits for the first order. False when the helper is gone. */
bool zygote_next(struct frame_order *ret_order, int ret_stdio[3]);
/* Once, when everything is loaded: what children get of this process's memory, and how cheaply. Every mapping
 * is inherited, whatever the runtime marked it with, and heaps and the interpreter's own code are folded into
 * pages of 2 MB where the kernel can: copying a process, and ending it, costs by the page. */
void zygote_fold_memory(void);
/* Like fork: 0 in the child (which is the helper's child and pid 1 of its own namespace), the pid here, -1 on
 * failure. The helper is notified in any case, and the descriptors are closed here. */
long zygote_clone(const struct confine_setup *setup, const struct frame_order *order, const int stdio[3]);
/* Tells the helper that orders may come, or why none can be taken. */
void zygote_tell(enum confine_note_kind kind, const char *text);

/* ---- in the sandbox: its end of the bridge. These block, and end the process when the gate has closed it.
 * ---- */

/* The body is copied before this returns. */
void zygote_send(enum frame_kind kind, uint32_t id, const void *body, size_t len);
/* Head first, then as many bytes as it says. */
void zygote_receive(void *ret_bytes, size_t len);
void zygote_receive_head(struct frame_head *ret_head);
/* Unsolicited bytes were read: waiting for more is pointless. */
bool zygote_has_bytes(void);
/* True when the gate has sent something, already or within that time. */
bool zygote_wait_for_code(int ms);
