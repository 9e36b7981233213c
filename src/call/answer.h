/* Answers that the gate makes itself: errors and denials. */
#pragma once

#include "call/call.h"
#include "wire/emit.h"

/* A text in the call's arena (or one that lives as long), ready to be answered. */
struct splice *answer_text(struct call *c, struct slice text);
void answer_error(struct call *c, int code, int http_status, const char *message);
/* The same with `data`, which is JSON. */
void answer_error_data(struct call *c, int code, const char *message, struct slice data);
/* Begins a response with a result: what follows are its members, then two ends of objects. */
void answer_emit(const struct call *c, struct emit *e, struct buf *out);
/* The answer that the call's verdict asks for. */
void answer_denied(struct call *c);
/* The whole response with a result that says no. */
struct slice answer_denial_text(struct call *c, struct slice text);
/* A text as a JSON string, in the arena. */
struct slice answer_quoted(struct arena *a, struct slice text);
