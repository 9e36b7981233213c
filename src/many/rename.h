/* Answers and messages of one server for a client of many: replaces the server's names with the session's. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"

/* A pass of FILTER. */
enum call_next rename_filter(struct call *c);
/* False when a text cannot be rewritten. */
bool rename_message(struct channel *ch, struct splice *text, const struct msg *m, struct slice method,
                    struct arena *a);
/* Appends one element of a list, renamed, to `out`. False: it is omitted. */
bool rename_element(struct call *c, struct server *server, const char *list, const struct tape *t,
                    uint32_t elem, struct buf *out);
