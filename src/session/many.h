/* Sessions that lead to many servers: which of them a principal sees, what each is called, and what becomes
 * of those that are missing for a while. */
#pragma once

#include "session/call.h"
#include "session/server.h"

/* Does this session lead to many servers? */
static inline bool many_session(const struct session *s) { return !s->only; }
/* Are names and URIs of this session's servers changed on their way? */
bool many_renames(const struct session *s);
/* May the session's principal use it? */
bool many_sees(const struct session *s, const struct session_server *server);
/* The next one that it may use, in the order of the settings: start with *at = 0; NULL at the end. */
struct session_server *many_next(const struct session *s, size_t *at);
/* The same when the session itself leads to one server only. */
struct session_server *many_next_any(const struct session *s, size_t *at);
/* The server whose prefix that is, if the session sees it. */
struct session_server *many_by_prefix(const struct session *s, struct slice prefix);
struct slice many_prefix(const struct session_server *server);

/* The result of initialize or server/discover. */
void many_learn_hello(struct session_server *server, const struct tape *t, uint32_t result);
void many_free_hello(struct session_server *server);
/* Does the server say it has that capability? True when it has not been asked yet. */
bool many_offers(const struct session_server *server, const char *capability);

/* Whose link a call to that server travels on: the session's own, or the pool of its principal. */
struct session *many_home(struct session *s, const struct session_server *server);
/* The link as it is; NULL when there is none yet. */
struct session_link *many_link(struct session *s, const struct session_server *server);

/* Names without a prefix belong to the server that listed them first. False: to another one, or to another
 * that looks like it. `kind` is one of 't', 'p', 'r' (URI), 'T' (template). */
bool many_claim(struct session_server *server, char kind, struct slice name);
struct session_server *many_owner(const struct session *s, char kind, struct slice name);
struct session_server *many_template_owner(const struct session *s, struct slice uri);
void many_disclaim(struct session_core *core, const struct session_server *server);
void many_free(struct session_core *core);

/* Tasks belong to who started them. The id is the server's own. */
bool many_task_add(struct call *c, struct slice id);
bool many_task_is(const struct session *s, const struct session_server *server, struct slice id);
/* The tool whose call became the task; empty when it is not known. */
struct slice many_task_tool(const struct session *s, const struct session_server *server, struct slice id);
/* What is asked about a task is bound by the caps on results of the call that became it. */
void many_task_limit(const struct call *c, struct policy_verdict *v);

/* The lists of a session's servers are not what they were: tells the client. */
void many_tell_lists(struct session *s);
/* The gate itself shows other tools than it did: tells every client. */
void many_tell_tools(struct session_core *core);
/* A link is ready, or over; from session.c. */
void many_link_ready(struct session_link *sl);
void many_link_down(struct session_link *sl);
/* It was missing and is there: tells the client. */
void many_back(struct session_link *sl);
/* The client's word to all its servers that are there: a notification without params. */
void many_say(struct session *s, struct slice method);
/* The log level that the client asked for: servers that are greeted later are told, too. */
void many_keep_level(struct call *c);
/* A server of the older era has agreed: the process that takes its place is asked the same. */
void many_keep_subscription(struct call *c, bool on);
/* From now on servers that nobody has used for their idle time are ended, and silent ones are asked for a
 * sign of life. */
void many_watch(struct session_core *core);
