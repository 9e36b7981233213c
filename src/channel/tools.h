/* What the gate knows of a server's tools: their risk class and tags, the
 * schema of their arguments, which arguments travel as headers too, and the fingerprint of the definition.
 * Learned from the server's own lists as they pass, or by asking for them when a call needs to know first. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"
#include "server/server.h"

/* Is the list known, so that tools_find() works? Otherwise the call waits on the channel and is resumed. */
bool tools_ready(struct channel *ch, struct call *call);
/* The same before a tool is called: the definition must match its pin at this moment. */
bool tools_checked(struct channel *ch, struct call *call);
/* The call's response is a page of the list; the first page starts a new table. Sets c->list_serial. */
void tools_learn_answer(struct call *c);
/* The link closes: drops the list that is being requested. */
void tools_abandon(struct channel *ch);
/* The header lines for these arguments, or an empty slice. */
struct slice tools_header_lines(struct channel *ch, struct call *call);
/* Do the header lines that came with the call match its arguments? */
bool tools_headers_agree(struct channel *ch, struct call *call);
