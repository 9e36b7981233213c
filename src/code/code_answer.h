/* The result of a tool: builds a CallToolResult. */
#pragma once

#include "code/model.h"

void code_answer_init(struct code_answer *a);
void code_answer_free(struct code_answer *a);
void code_answer_text(struct code_answer *a, struct slice text);
/* JSON, as text and as structuredContent. */
void code_answer_json(struct code_answer *a, struct slice json);
void code_answer_image(struct code_answer *a, struct slice mime, struct slice bytes);
/* HTML, as an embedded resource. */
void code_answer_page(struct code_answer *a, size_t number, struct slice html);
void code_answer_link(struct code_answer *a, struct slice uri, struct slice name, const char *mime,
                      uint64_t size);
/* {"content":...} and the other members, without the braces. */
void code_answer_members(const struct code_answer *a, bool structured, struct buf *out);
