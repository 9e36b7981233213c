/* Request heads: headers sent to a server beside the message. */
#pragma once

#include "upstream/server.h"
#include "wire/splice.h"

/* The static header lines: well-formed, few, and none that the transport writes itself. */
int up_head_check(const struct up_server *s, struct err *err);
/* The server's own buffer for one head, emptied. */
struct buf *up_head_scratch(struct up_server *s);
/* Request line, Host, User-Agent and the configured header lines. */
void up_head_start(struct buf *out, const struct up_server *s, const char *method, struct slice target);
/* One header line; false (the buffer is then invalid) when the value is not allowed in a header. */
bool up_head_line(struct buf *out, const char *name, struct slice value);
/* Appends a text as the value of a mirrored header (Mcp-Name, Mcp-Param-*): unchanged, or as base64 between
 * markers where a header cannot hold it. False when the buffer is full. */
bool up_head_value(struct buf *out, struct slice text);
/* Are these complete, well-formed header lines? */
bool up_head_lines_ok(struct slice lines);
/* The server's secrets, the length where there is a body, the empty line. False when the head did not fit. */
bool up_head_end(struct buf *out, const struct up_server *s, const struct splice *body);
/* Methods without side effects. Any other may have been executed when its connection broke. */
bool up_head_only_asks(struct slice method);

/* True when the redirect is followed: the request that it answers must be sent again. */
bool up_head_moved(struct up_server *s, int status, struct slice where);
