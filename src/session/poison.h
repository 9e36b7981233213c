/* Taking poison out of what passes: lists, instructions, results. */
#pragma once

#include "session/call.h"
#include "session/guard.h"

/* Can the definition be cleaned? Names of tools and parameters cannot: they are what calls are made of. */
bool poison_can_strip(struct call *c, uint32_t elem);
/* Cleans what is shown of the list: `strip`. False when that cannot be done. */
bool poison_strip_list(struct call *c, uint32_t tools, uint64_t serial, struct splice *text);
/* The answer to initialize or server/discover. */
void poison_filter_hello(struct call *c, struct splice *text);
/* The same for an answer that the gate makes of what the server said earlier: the text to send. */
struct slice poison_clean_hello(struct call *c, struct slice json);
/* What of this server's instructions may be shown. What is wrong with them goes on record. */
struct slice poison_instructions(struct session_core *core, const struct session_server *server,
                                 struct slice text, struct arena *a);
/* The result of a call. False: withheld; the verdict says why. */
bool poison_filter_result(struct call *c, struct splice *text);

/* guard.c */
enum session_poison guard_of_definitions(const struct session_core *core);
enum session_poison guard_of_results(const struct session_core *core);
void guard_record(struct session_core *core, bool deny, struct slice text);
void guard_deny(struct call *c, enum policy_reason reason, struct slice rule, struct slice text);
