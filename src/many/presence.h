/* Servers that go and come back: who is missing, and telling clients that their lists have changed. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"

/* Events of channels. */
void presence_ready(struct channel *ch);
void presence_down(struct channel *ch);
/* It was missing and is there: tells the client. */
void presence_back(struct channel *ch);
/* The lists of a session's servers are not what they were: tells the client. */
void presence_lists_changed(struct session *s);
/* The gate itself shows other tools than it did: tells every client. */
void presence_tools_changed(struct core *core);
/* The client's word to all its servers that are there: a notification without params. */
void presence_notify_servers(struct session *s, struct slice method);
