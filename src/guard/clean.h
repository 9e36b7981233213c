/* Taking poison out of what passes: lists, instructions, results. */
#pragma once

#include "call/call.h"
#include "guard/guard.h"

/* Can the definition be cleaned? Names of tools and parameters cannot: they are what calls are made of. */
bool clean_is_possible(struct call *c, uint32_t elem);
/* Cleans what is shown of the list: `strip`. False when that cannot be done. */
bool clean_list(struct call *c, uint32_t tools, uint64_t serial, struct splice *text);
/* The answer to initialize or server/discover. */
void clean_description(struct call *c, struct splice *text);
/* The same for an answer that the gate makes of what the server said earlier: the text to send. */
struct slice clean_description_text(struct call *c, struct slice json);
/* What of this server's instructions may be shown. What is wrong with them goes on record. */
struct slice clean_instructions(struct core *core, const struct server *server, struct slice text,
                                struct arena *a);
/* The result of a call. False: withheld; the verdict says why. */
bool clean_result(struct call *c, struct splice *text);

/* guard.c */
enum guard_mode guard_of_definitions(const struct core *core);
enum guard_mode guard_of_results(const struct core *core);
void guard_record(struct core *core, bool deny, struct slice text);
void guard_deny(struct call *c, enum policy_reason reason, struct slice rule, struct slice text);
