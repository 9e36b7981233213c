/* The fork server inside an interpreter: reads an order, forks a child in new namespaces, and continues. */
#pragma once

#include "sandbox/confine.h"

/* Reads the setup and waits for the first order. False if the helper has ended. */
bool zygote_next(struct frame_order *ret_order, int ret_stdio[3]);
/* Called once, when everything is loaded, so that forking is cheap. Makes every mapping inheritable, whatever
 * the runtime marked it with, and merges heaps and the interpreter's code into pages of 2 MB if the kernel
 * can: forking and exiting cost time per page. */
void zygote_fold_memory(void);
/* Like fork: 0 in the child (a child of the helper, and pid 1 of its own namespace), the pid here, -1 on
 * failure. The helper is notified in any case, and the descriptors are closed here. */
long zygote_clone(const struct confine_setup *setup, const struct frame_order *order, const int stdio[3]);
/* In the child, after the lock-down: code may start servers for itself. Does nothing in a profile that can
 * start programs, and where sallyport-programs.so was not loaded. */
void zygote_open_loopback(const struct confine_setup *setup, const struct frame_order *order);
/* Notifies the helper that orders can be sent, or why not. */
void zygote_notify(enum confine_note_kind kind, const char *text);

/* ---- in the sandbox: its end of the bridge. These block, and end the process when the gate has closed it.
 * ---- */

/* The body is copied before this returns. */
void zygote_send(enum frame_kind kind, uint32_t id, const void *body, size_t len);
/* First the header, then as many bytes as it specifies. */
void zygote_receive(void *ret_bytes, size_t len);
void zygote_receive_head(struct frame_head *ret_head);
/* Unconsumed bytes are available: do not wait for more. */
bool zygote_has_bytes(void);
/* True if the gate has sent something, already or within that time. */
bool zygote_wait_for_code(int ms);
