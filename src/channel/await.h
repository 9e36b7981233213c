/* AWAIT: a call that is with its server, and the time that the server has to answer. */
#pragma once

#include "call/call.h"

enum call_next await_step(struct call *c);
/* A word about the call came: its idle time starts anew. */
void await_touch(struct call *c);
/* The server need not go on with it; where closing the stream says so, nothing is sent. */
void await_cancel(struct call *c, struct slice reason);
/* The call's own stream is slow: stop (go on) reading it from the server. */
void await_pause(struct call *c, bool on);
