/* What a tool answers: a CallToolResult in the making. */
#pragma once

#include "code/model.h"

void code_answer_init(struct code_answer *a);
void code_answer_free(struct code_answer *a);
void code_answer_text(struct code_answer *a, struct slice text);
/* JSON, as text and as structuredContent. */
void code_answer_json(struct code_answer *a, struct slice json);
void code_answer_image(struct code_answer *a, struct slice mime, struct slice bytes);
/* HTML, as a resource that is part of the answer. */
void code_answer_page(struct code_answer *a, size_t number, struct slice html);
void code_answer_link(struct code_answer *a, struct slice uri, struct slice name, const char *mime,
                      uint64_t size);
/* {"content":...} and its neighbours, without the braces. */
void code_answer_members(const struct code_answer *a, bool structured, struct buf *out);
