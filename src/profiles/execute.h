/* From arguments to a run, and from its outcome to an answer. */
#pragma once

#include "code/code_job.h"
#include "code/model.h"

/* execute_code as the native profile and Code Execution MCP have it. */
/* As tools and skills name it; false when there is no such language. */
bool execute_language(struct slice name, enum sandbox_language *ret_language);
void execute_tool(struct code_req *r);
/* The outcome in the words of those two. */
void execute_format(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer);
/* {"job_id","status",...}: it goes on without its caller. */
void execute_handle(struct code_job *j, struct code_answer *answer);

/* Pieces for other profiles. */
/* What went wrong, in words; empty when nothing did. */
struct slice execute_error(const struct code_job *j, const struct sandbox_outcome *o, struct arena *a);
/* The result, cut to what a model can read; `null` when there is none. */
void execute_result(const struct sandbox_outcome *o, struct emit *e, bool *ret_cut);
/* Does it begin like one of that type? What only has the name of a picture would be refused by the model that
 * gets it. */
bool execute_is_picture(struct slice bytes, const char *mime);
/* ["line",...] */
void execute_lines(struct slice text, struct emit *e);
/* Images, and links to the files that the run made or changed. Returns how many files that were. */
size_t execute_attach(struct code_job *j, const struct sandbox_outcome *o, struct code_answer *answer,
                      struct emit *files);
