/* The list of tools that one principal may call: asked of the conn's owner, indexed, and kept until something
 * changes. */
#pragma once

#include "code/model.h"

/* done() comes once, perhaps before this returns; its registry is valid during that call only. */
void listing_ask(struct listing_wait *w, struct code_conn *conn, struct code_owner *owner,
                 void (*done)(struct listing_wait *w, struct registry *registry));
/* No longer interested; fine when it has been answered, or never asked. */
void listing_leave(struct listing_wait *w);
/* What is known without asking, or NULL. It may be old. */
struct registry *listing_known(const struct code_owner *owner);
void listing_free(struct listing *l); /* NULL is fine */
