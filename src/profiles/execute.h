/* Converts arguments to a run, and its outcome to a response. */
#pragma once

#include "code/code_job.h"
#include "code/model.h"

/* execute_code as the native profile and Code Execution MCP have it. */
/* The language of that name; false if there is none. */
bool execute_language(struct slice name, enum sandbox_language *ret_language);
void execute_tool(struct code_req *r);
/* The outcome in the format of those two. */
void execute_format(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer);
/* {"job_id","status",...}: it continues in the background. */
void execute_handle(struct code_job *j, struct code_answer *answer);

/* Functions for other profiles. */
/* The error text; empty if there was no error. */
struct slice execute_error(const struct code_job *j, const struct sandbox_outcome *o, struct arena *a);
/* The result, truncated for a model; `null` if there is none. */
void execute_result(const struct sandbox_outcome *o, struct emit *e, bool *ret_cut);
/* Do the bytes start like an image of that type? Models reject files that only have the name of an image. */
bool execute_is_picture(struct slice bytes, const char *mime);
/* ["line",...] */
void execute_lines(struct slice text, struct emit *e);
/* Attaches images, and links to the files that the run created or changed. Returns the number of these files.
 */
size_t execute_attach(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer,
                      struct emit *files);
