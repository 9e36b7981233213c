/* Request heads: what is said to a server besides the message itself. */
#pragma once

#include "upstream/link.h"

/* The server's own buffer for one head, emptied. */
struct buf *up_head_scratch(struct up_server *s);
/* Request line, Host, User-Agent and the configured header lines. */
void up_head_start(struct buf *out, const struct up_server *s, const char *method, struct slice target);
/* One header line; false (and nothing of use in the buffer) when the value cannot stand in a header. */
bool up_head_line(struct buf *out, const char *name, struct slice value);
/* Are these complete, well-formed header lines? */
bool up_head_lines_ok(struct slice lines);
/* The server's secrets, the length where there is a body, the empty line. False when the head did not fit. */
bool up_head_end(struct buf *out, const struct up_server *s, const struct splice *body);
/* Methods that only ask. Everything else may have been done when its connection broke. */
bool up_only_asks(struct slice method);
