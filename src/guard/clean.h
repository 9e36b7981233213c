/* Removes poison from lists, instructions and results. */
#pragma once

#include "call/call.h"
#include "guard/guard.h"

/* Is this element of the list with that serial hidden from the client? */
bool clean_hides(struct call *c, const struct tool *tool, uint32_t elem, uint64_t serial);
/* Cleans the visible elements of the list: `strip`. False when that fails. */
bool clean_list(struct call *c, uint32_t tools, uint64_t serial, struct splice *text);
/* An answer that the gate makes from the server's earlier description: the text to send. */
struct slice clean_description_text(struct call *c, struct slice json);
/* The part of this server's instructions that may be shown. Findings are recorded. */
struct slice clean_instructions(struct core *core, const struct server *server, struct slice text,
                                struct arena *a);

/* ---- passes of FILTER ---- */

/* The answer to initialize or server/discover: its instructions. */
enum call_next clean_filter_description(struct call *c);
/* Skills that are listed, requested or read: a poisoned one, or one that is not as accepted, is not shown. */
enum call_next clean_filter_skills(struct call *c);
/* Content that a model reads: withheld or cleaned, as the settings say. */
enum call_next clean_filter_result(struct call *c);
