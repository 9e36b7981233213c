/* The page of a tool. */
#pragma once

#include "pages/sheet.h"
#include "pages/subject.h"
#include "wire/emit.h"

/* tool: its place among the subject's. */
void tool_page(const struct subject *subject, size_t tool, struct sheet *s);
/* What it is and why it needs a policy, as a section of its server's page. */
void tool_page_put_section(const struct subject_tool *tool, struct sheet *s);
/* "freeform code in `script`, 12 properties, sends data out". */
struct slice tool_page_signals(const struct subject_tool *tool, struct sheet *s);
/* One object: tool, category, severity, confidence, tags, evidence, tokens, properties, ... */
void tool_page_put_facts(const struct subject_tool *tool, struct emit *e);
