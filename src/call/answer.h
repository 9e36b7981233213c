/* Answers of the gate itself: results, errors and denials. */
#pragma once

#include "call/call.h"
#include "wire/emit.h"

/* A text in the call's arena (or one that lives as long), ready to be answered. */
struct splice *answer_text(struct call *c, struct slice text);
/* Answers the client with a text of the gate itself. */
void answer_set(struct call *c, struct slice text);
/* Answers with the server's response, to which edits are applied. */
void answer_set_response(struct call *c, int http_status);
void answer_error(struct call *c, int code, int http_status, const char *message);
/* The same with `data`, which is JSON. */
void answer_error_data(struct call *c, int code, const char *message, struct slice data);
/* Withholds the result and answers with the verdict's reason; the call was made and counts. */
void answer_withheld(struct call *c, const char *outcome);

/* The same, for use as the return value of a step: always CALL_FAIL. */
enum call_next answer_refuse(struct call *c, int code, int http_status, const char *message);
enum call_next answer_deny(struct call *c);
enum call_next answer_unknown_method(struct call *c);
/* Refuses because the client lacks a capability: JSON, {"sampling":{}} for example. */
enum call_next answer_lacks(struct call *c, const char *capabilities);
/* `result` is JSON. The outcome is "ok". */
enum call_next answer_result(struct call *c, struct slice result);
/* Ends a waiting call with an error. */
void answer_fail(struct call *c, const char *why);

/* {"jsonrpc":"2.0","id":ID,"error":{"code":CODE,"message":MESSAGE}} in the arena; an empty id is null. */
struct slice answer_error_text(struct arena *a, struct slice id_raw, int code, const char *message);
/* Begins a response with a result. The caller adds its members and ends two objects. */
void answer_emit(const struct call *c, struct emit *e, struct buf *out);
/* A text as a JSON string, in the arena. */
struct slice answer_quoted(struct arena *a, struct slice text);
