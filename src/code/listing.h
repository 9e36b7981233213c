/* The list of tools that one principal may call: requested from the conn's owner, indexed, and cached until
 * it changes. */
#pragma once

#include "code/model.h"

/* done() is called once, possibly before this returns; its registry is valid only during that call. */
void listing_ask(struct listing_wait *w, struct code_conn *conn, struct code_owner *owner,
                 void (*done)(struct listing_wait *w, struct registry *registry));
/* Stops waiting; allowed if it has been answered or was never requested. */
void listing_leave(struct listing_wait *w);
/* The cached list, or NULL. It may be stale. */
struct registry *listing_known(const struct code_owner *owner);
void listing_free(struct listing *l); /* NULL is fine */
