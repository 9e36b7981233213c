/* Taking poison out of what passes: lists, instructions, results. */
#pragma once

#include "call/call.h"
#include "guard/guard.h"

/* Is this element of the list that was just learned under `serial` kept from the client? */
bool clean_hides(struct call *c, const struct tool *tool, uint32_t elem, uint64_t serial);
/* Cleans what is shown of the list: `strip`. False when that cannot be done. */
bool clean_list(struct call *c, uint32_t tools, uint64_t serial, struct splice *text);
/* An answer that the gate makes of what the server said of itself earlier: the text to send. */
struct slice clean_description_text(struct call *c, struct slice json);
/* What of this server's instructions may be shown. What is wrong with them goes on record. */
struct slice clean_instructions(struct core *core, const struct server *server, struct slice text,
                                struct arena *a);

/* ---- passes of FILTER ---- */

/* The answer to initialize or server/discover: its instructions. */
enum call_next clean_filter_description(struct call *c);
/* Skills, listed, asked for or read: one that is poisoned or not what was accepted is not shown. */
enum call_next clean_filter_skills(struct call *c);
/* Content that a model reads: withheld or cleaned, as the settings say. */
enum call_next clean_filter_result(struct call *c);
