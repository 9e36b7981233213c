/* What the gate knows of a server's tools: which of their arguments travel as headers too. Learned from the
 * server's own lists as they pass, or by asking for them when a call needs to know first. */
#pragma once

#include "session/session.h"
#include "wire/mirror.h"

struct call;

void tools_init(struct session_tools *t);
void tools_free(struct session_tools *t);
/* Ready to answer tools_find()? Otherwise the call waits in the link's list and is resumed. */
bool tools_ready(struct session_link *sl, struct call *call);
void tools_forget(struct up_server *server, struct session_core *core); /* the list has changed */
/* The header lines for these arguments, or an empty slice. */
struct slice tools_header_lines(struct session_link *sl, struct call *call);
/* Do the header lines that came with the call say what its arguments say? */
bool tools_headers_agree(struct session_link *sl, struct call *call);
