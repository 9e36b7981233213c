/* Messages of one era of the protocol in the words of the other. Pure: texts in, edits and texts out. `up` is
 * from the legacy era to the modern one, `down` the way back. What needs no change keeps its bytes. */
#pragma once

#include "upstream/protocol.h"
#include "wire/rpc.h"
#include "wire/splice.h"

#define TRANSLATE_TASKS "io.modelcontextprotocol/tasks"
#define TRANSLATE_RELATED_TASK "io.modelcontextprotocol/related-task"

/* Capabilities as far as the gate acts on them. */
enum translate_capability {
    TRANSLATE_SAMPLING = 1,
    TRANSLATE_ROOTS = 2,
    TRANSLATE_FORM = 4, /* elicitation with a form */
    TRANSLATE_URL = 8,  /* elicitation with an address */
    TRANSLATE_ASKS = TRANSLATE_SAMPLING | TRANSLATE_ROOTS | TRANSLATE_FORM | TRANSLATE_URL,
    TRANSLATE_TAKES_TASKS = 16, /* a modern client that an answer may be a task for */
    TRANSLATE_LOGGING = 256,
    TRANSLATE_SUBSCRIBE = 512,
    TRANSLATE_TOOLS_CHANGED = 1024,
    TRANSLATE_PROMPTS_CHANGED = 2048,
    TRANSLATE_RESOURCES_CHANGED = 4096,
    TRANSLATE_MAKES_TASKS = 8192, /* a server whose tool calls may become tasks */
    TRANSLATE_LISTENS = TRANSLATE_SUBSCRIBE | TRANSLATE_TOOLS_CHANGED | TRANSLATE_PROMPTS_CHANGED |
                        TRANSLATE_RESOURCES_CHANGED,
};
uint32_t translate_client_bits(const struct tape *t, uint32_t capabilities); /* node 0: none */
uint32_t translate_server_bits(const struct tape *t, uint32_t capabilities);
/* The bit that answering this request of a server needs; 0 for a method that is none. */
uint32_t translate_ask_bit(struct slice method, const struct tape *t, uint32_t params);
/* The same for a text by which the common SDKs' servers refuse to ask a client that has not declared it; 0
 * for every other text. */
uint32_t translate_lacking_bit(struct slice text);
/* {"sampling":{}} …: what a client would have to declare. */
const char *translate_ask_capability(uint32_t bit);

/* How a legacy client is described in each request. Raw JSON; an empty log level asks for none. */
struct translate_client {
    struct slice info;
    struct slice capabilities;
    struct slice log_level;
};

/* "_meta":{…}: the member of params that says so. */
struct slice translate_client_meta(const struct translate_client *client, struct arena *a);

/* A request's params for a modern server. `client` comes from translate_client_meta and is
 * referred to where nothing has to be added to it. `token` replaces the progress token when there is
 * one, `trace` the trace context; `more` are further members of params. */
bool translate_request_up(struct splice *text, const struct tape *t, const struct rpc *rpc,
                          struct slice client, struct slice token, struct slice trace, struct slice more);
/* The same for a legacy server. */
bool translate_request_down(struct splice *text, const struct tape *t, const struct rpc *rpc,
                            struct slice token, struct slice trace, struct slice more);

/* A result for a modern client, and for a legacy one. `server_info` raw, or empty. */
bool translate_result_up(struct splice *text, const struct tape *t, uint32_t result, struct slice method,
                         struct slice server_info);
bool translate_result_down(struct splice *text, const struct tape *t, uint32_t result, struct slice method);
/* A tool whose results need not be objects promises nothing to a client that only knows objects. With
 * `tasks`, it may be called as one. */
bool translate_tool_down(struct splice *text, const struct tape *t, uint32_t tool, bool tasks);
/* The code of an error as the other side knows it. `about` is what was asked for. */
int64_t translate_error_up(int64_t code, struct slice method);
int64_t translate_error_down(int64_t code, struct slice method, const struct tape *t, uint32_t error);
bool translate_is_cacheable(struct slice method);
/* A method that the modern era has done away with. */
bool translate_is_gone(struct slice method);
/* A revision of the legacy era that has tasks. */
bool translate_knows_tasks(struct slice version);
/* A method whose answer may be a question. */
bool translate_may_ask(struct slice method);

/* What a server says about itself: {"supportedVersions":…} from the result of initialize, and back. */
struct slice translate_description_up(const struct tape *t, uint32_t result, struct arena *a);
struct slice translate_description_down(const struct tape *t, uint32_t result, struct slice version,
                                        struct arena *a);
/* A client's capabilities without what only one era knows; with or without the tasks of the modern one. */
struct slice translate_client(const struct tape *t, uint32_t capabilities, bool tasks, struct arena *a);

/* The members of a task (without braces) in the words of the modern era, or the legacy one. An empty status
 * is its own. */
struct slice translate_task_up(const struct tape *t, uint32_t task, struct slice status, struct arena *a);
struct slice translate_task_down(const struct tape *t, uint32_t task, struct slice status, struct arena *a);
/* The result of a task's call as it stands in the task (modern), and as tasks/result gives it (legacy); JSON.
 */
struct slice translate_outcome_up(const struct tape *t, uint32_t result, struct arena *a);
struct slice translate_outcome_down(const struct tape *t, uint32_t result, struct slice task_id,
                                    struct arena *a);

/* The params of a server's question as the other era has them. In the legacy one an address to visit has a
 * name: `elicitation_id`, NULL for none. */
struct slice translate_ask(const struct tape *t, uint32_t params, const char *elicitation_id,
                           struct arena *a);

/* Of two log levels, how talkative: 0 debug … 7 emergency; -1 for anything else. */
int translate_log_rank(struct slice level);
