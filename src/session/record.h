/* What the audit log gets to know of a call. */
#pragma once

#include "session/call.h"

/* Gives the call its number in the log. */
enum audit_result call_record_decision(struct call *c, struct audit_wait *wait);
void call_record_outcome(struct call *c);
void call_count(struct call *c);
