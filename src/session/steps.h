/* The steps of a call whose bodies stand in files of their own; call.c has the table. */
#pragma once

#include "call/call.h"

/* Answers as the verdict says; always CALL_FAIL. */
enum call_next call_deny(struct call *c);

enum call_next judge_step_decide(struct call *c);   /* judge.c */
enum call_next judge_step_reserve(struct call *c);  /* judge.c */
enum call_next record_step_note(struct call *c);    /* record.c */
enum call_next forward_step_send(struct call *c);   /* forward.c */
enum call_next forward_step_await(struct call *c);  /* forward.c */
enum call_next result_step_filter(struct call *c);  /* result.c */
enum call_next judge_step_settle(struct call *c);   /* judge.c */
enum call_next record_step_outcome(struct call *c); /* record.c */

/* The server need not go on with it; where closing the stream says so, nothing is sent. */
void forward_cancel(struct call *c, struct slice reason);
