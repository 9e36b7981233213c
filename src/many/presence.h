/* Presence: which servers are missing, and notifying clients when their lists change. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"

/* Events of channels. */
void presence_ready(struct channel *ch);
void presence_down(struct channel *ch);
/* A missing server is back: notifies the client. */
void presence_back(struct channel *ch);
/* The lists of a session's servers have changed: notifies the client. */
void presence_lists_changed(struct session *s);
/* The gate's own tools have changed: notifies every client. */
void presence_tools_changed(struct core *core);
/* Forwards a client's notification without params to all its connected servers. */
void presence_notify_servers(struct session *s, struct slice method);
