/* Sessions that lead to many servers: which of them a principal sees, what each is called, and what becomes
 * of those that are missing for a while. */
#pragma once

#include "call/call.h"
#include "server/server.h"

/* Does this session lead to many servers? */
static inline bool session_has_many(const struct session *s) { return !s->only; }
/* Are names and URIs of this session's servers changed on their way? */
bool visible_renames(const struct session *s);
/* May the session's principal use it? */
bool visible_is(const struct session *s, const struct server *server);
/* The next one that it may use, in the order of the settings: start with *at = 0; NULL at the end. */
struct server *visible_next(const struct session *s, size_t *at);
/* The same when the session itself leads to one server only. */
struct server *visible_next_any(const struct session *s, size_t *at);
/* The server whose prefix that is, if the session sees it. */
struct server *visible_by_prefix(const struct session *s, struct slice prefix);
struct slice server_prefix(const struct server *server);

/* The result of initialize or server/discover. */
void server_learn_description(struct server *server, const struct tape *t, uint32_t result);
void server_free_description(struct server *server);
/* Does the server say it has that capability? True when it has not been asked yet. */
bool server_offers(const struct server *server, const char *capability);

/* Whose link a call to that server travels on: the session's own, or the pool of its principal. */
struct session *pool_home(struct session *s, const struct server *server);
/* The link as it is; NULL when there is none yet. */
struct channel *pool_channel(struct session *s, const struct server *server);

/* Names without a prefix belong to the server that listed them first. False: to another one, or to another
 * that looks like it. `kind` is one of 't', 'p', 'r' (URI), 'T' (template). */
bool claim_name(struct server *server, char kind, struct slice name);
struct server *claim_owner(const struct session *s, char kind, struct slice name);
struct server *claim_template_owner(const struct session *s, struct slice uri);
void claim_drop(struct core *core, const struct server *server);
void claim_free(struct core *core);

/* Tasks belong to who started them. The id is the server's own. */
bool task_owner_add(struct call *c, struct slice id);
bool task_owner_is(const struct session *s, const struct server *server, struct slice id);
/* The tool whose call became the task; empty when it is not known. */
struct slice task_owner_tool(const struct session *s, const struct server *server, struct slice id);
/* What is asked about a task is bound by the caps on results of the call that became it. */
void task_owner_limit(const struct call *c, struct policy_verdict *v);

/* The lists of a session's servers are not what they were: tells the client. */
void presence_lists_changed(struct session *s);
/* The gate itself shows other tools than it did: tells every client. */
void presence_tools_changed(struct core *core);
/* A link is ready, or over; from session.c. */
void presence_ready(struct channel *ch);
void presence_down(struct channel *ch);
/* It was missing and is there: tells the client. */
void presence_back(struct channel *ch);
/* The client's word to all its servers that are there: a notification without params. */
void presence_notify_servers(struct session *s, struct slice method);
/* The log level that the client asked for: servers that are greeted later are told, too. */
void channel_keep_level(struct call *c);
/* A server of the older era has agreed: the process that takes its place is asked the same. */
void channel_keep_subscription(struct call *c, bool on);
/* From now on servers that nobody has used for their idle time are ended, and silent ones are asked for a
 * sign of life. */
void sweep_start(struct core *core);
