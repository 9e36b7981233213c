/* The steps of a call whose bodies stand in files of their own; call.c has the table. */
#pragma once

#include "session/call.h"

/* Answers as the verdict says; always CALL_FAIL. */
enum call_next call_deny(struct call *c);

enum call_next call_step_decide(struct call *c);  /* judge.c */
enum call_next call_step_reserve(struct call *c); /* judge.c */
enum call_next call_step_note(struct call *c);    /* record.c */
enum call_next call_step_forward(struct call *c); /* forward.c */
enum call_next call_step_await(struct call *c);   /* forward.c */
enum call_next call_step_filter(struct call *c);  /* result.c */
enum call_next call_step_settle(struct call *c);  /* judge.c */
enum call_next call_step_record(struct call *c);  /* record.c */

/* The server need not go on with it; where closing the stream says so, nothing is sent. */
void call_tell_cancelled(struct call *c, struct slice reason);
