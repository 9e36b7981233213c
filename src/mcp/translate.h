/* Translates messages between the eras of the protocol. Pure: texts in, edits and texts out. `up` is from
 * the legacy era to the modern one, `down` the other direction. Parts that need no change keep their
 * bytes. */
#pragma once

#include "upstream/protocol.h"
#include "wire/rpc.h"
#include "wire/splice.h"

#define TRANSLATE_TASKS "io.modelcontextprotocol/tasks"
#define TRANSLATE_RELATED_TASK "io.modelcontextprotocol/related-task"

/* The capabilities that matter to the gate. */
enum translate_capability {
    TRANSLATE_SAMPLING = 1,
    TRANSLATE_ROOTS = 2,
    TRANSLATE_FORM = 4, /* elicitation with a form */
    TRANSLATE_URL = 8,  /* elicitation with a URL */
    TRANSLATE_ASKS = TRANSLATE_SAMPLING | TRANSLATE_ROOTS | TRANSLATE_FORM | TRANSLATE_URL,
    TRANSLATE_TAKES_TASKS = 16, /* a modern client that accepts a task as an answer */
    TRANSLATE_LOGGING = 256,
    TRANSLATE_SUBSCRIBE = 512,
    TRANSLATE_TOOLS_CHANGED = 1024,
    TRANSLATE_PROMPTS_CHANGED = 2048,
    TRANSLATE_RESOURCES_CHANGED = 4096,
    TRANSLATE_MAKES_TASKS = 8192, /* a server whose tool calls may become tasks */
    TRANSLATE_LISTENS = TRANSLATE_SUBSCRIBE | TRANSLATE_TOOLS_CHANGED | TRANSLATE_PROMPTS_CHANGED |
                        TRANSLATE_RESOURCES_CHANGED,
};
uint32_t translate_client_bits(const struct tape *t, uint32_t capabilities); /* node 0: absent */
uint32_t translate_server_bits(const struct tape *t, uint32_t capabilities);
/* The capability bit that a client needs for this request of a server; 0 for other methods. */
uint32_t translate_ask_bit(struct slice method, const struct tape *t, uint32_t params);
/* The same for the error texts of common SDKs when the client has not declared a capability; 0 for every
 * other text. */
uint32_t translate_lacking_bit(struct slice text);
/* {"sampling":{}} …: the capability that the client would have to declare. */
const char *translate_ask_capability(uint32_t bit);

/* The description of a legacy client in each modern request. Raw JSON; an empty log level requests no log
 * messages. */
struct translate_client {
    struct slice info;
    struct slice capabilities;
    struct slice log_level;
};

/* "_meta":{…}: the member of params with that description. */
struct slice translate_client_meta(const struct translate_client *client, struct arena *a);

/* The params of a request for a modern server. `client` comes from translate_client_meta and is referenced
 * unless something must be added to it. `token` replaces the progress token if there is one, `trace` the
 * trace context; `more` are further members of params. */
bool translate_request_up(struct splice *text, const struct tape *t, const struct rpc *rpc,
                          struct slice client, struct slice token, struct slice trace, struct slice more);
/* The same for a legacy server. */
bool translate_request_down(struct splice *text, const struct tape *t, const struct rpc *rpc,
                            struct slice token, struct slice trace, struct slice more);

/* A result for a modern client, and for a legacy one. `server_info` raw, or empty. */
bool translate_result_up(struct splice *text, const struct tape *t, uint32_t result, struct slice method,
                         struct slice server_info);
bool translate_result_down(struct splice *text, const struct tape *t, uint32_t result, struct slice method);
/* Drops an output schema that is not an object's: legacy clients accept only objects. With `tasks`, the
 * tool may be called as a task. */
bool translate_tool_down(struct splice *text, const struct tape *t, uint32_t tool, bool tasks);
/* The error code in the other era; some codes depend on the method. */
int64_t translate_error_up(int64_t code, struct slice method);
int64_t translate_error_down(int64_t code, struct slice method, const struct tape *t, uint32_t error);
/* A method that the modern era removed. */
bool translate_is_gone(struct slice method);
/* A legacy revision with tasks. */
bool translate_knows_tasks(struct slice version);
/* A method whose answer may be `input_required`. */
bool translate_may_ask(struct slice method);

/* A server's description: {"supportedVersions":…} from the result of initialize, and the reverse. */
struct slice translate_description_up(const struct tape *t, uint32_t result, struct arena *a);
struct slice translate_description_down(const struct tape *t, uint32_t result, struct slice version,
                                        struct arena *a);
/* A client's capabilities without members that only one era has; with or without modern tasks. */
struct slice translate_client(const struct tape *t, uint32_t capabilities, bool tasks, struct arena *a);

/* The members of a task (without braces) in the modern or the legacy form. An empty status: the task's
 * own. */
struct slice translate_task_up(const struct tape *t, uint32_t task, struct slice status, struct arena *a);
struct slice translate_task_down(const struct tape *t, uint32_t task, struct slice status, struct arena *a);
/* The result of a task's call as a member of the task (modern), and as the result of tasks/result
 * (legacy); JSON. */
struct slice translate_outcome_up(const struct tape *t, uint32_t result, struct arena *a);
struct slice translate_outcome_down(const struct tape *t, uint32_t result, struct slice task_id,
                                    struct arena *a);

/* The params of a server's question in the other era. In the legacy era a URL elicitation has an
 * `elicitation_id`; NULL for none. */
struct slice translate_ask(const struct tape *t, uint32_t params, const char *elicitation_id,
                           struct arena *a);

/* Verbosity of a log level: 0 debug … 7 emergency; -1 for anything else. */
int translate_log_rank(struct slice level);
