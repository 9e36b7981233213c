/* AWAIT: a call that its server works on, and its time-out. */
#pragma once

#include "call/call.h"

enum call_next await_step(struct call *c);
/* A message about the call arrived: restarts its idle timer. */
void await_touch(struct call *c);
/* Cancels the call at the server. Where closing the stream cancels it, no notification is sent. */
void await_cancel(struct call *c, struct slice reason);
/* The client's stream of this call is slow: pause (resume) reading it from the server. */
void await_pause(struct call *c, bool on);
