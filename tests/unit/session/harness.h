/* A gate without sockets. Everything between a client and a server is real: the steps, policy, limits,
 * approvals, the audit log, eras, many servers. Only the two ends and the clock are the test's:
 *
 *   fake client ── session_receive ──▶ real session … real channel ──▶ fake link ──▶ fake server
 *     reply, events ◀── fake sink                                        scripted by the test
 *
 * Time stands still unless harness_advance() moves it: the wall clock, the steady clock and the loop's timers
 * together. Nothing happens on its own either: harness_settle() runs the gate until it has nothing to do, and
 * the functions below that act as a client or a server do so, too.
 *
 * In texts, ' stands for ", so that JSON is readable:
 *
 *     struct harness *h = harness_open(&(struct harness_config){.policy =
 * "{'version':'1','default':'allow'}"}); struct fake_server *files = harness_server(h, "files", FAKE_LEGACY);
 *     struct fake_client *agent = harness_legacy(h, files);
 *     struct fake_reply *r = fake_call(agent, "1", "echo", "{'text':'hi'}");
 *     fake_answer(fake_take(files, "tools/call"), "{'content':[]}");
 *     assert_has(fake_text(r), "'result':{'content':[]}");
 *
 * A test stands in the list of tests as harness_test(NAME): whatever becomes of it, the gate is taken apart.
 */
#pragma once

#include "approval/approve.h"
#include "audit/audit.h"
#include "call/call.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "server/server.h"
#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FAKE_EVENTS_MAX 64
#define FAKE_HEARD_MAX 4096
#define FAKE_SERVERS_MAX 16
#define FAKE_CLIENTS_MAX 32

struct harness_config {
    const char *policy;     /* NULL: everything is allowed */
    const char *dsn;        /* of the counters; NULL: memory: */
    bool durable;           /* the log acknowledges decisions after their commit */
    bool no_audit;          /* there is no log */
    bool many;              /* several servers stand behind the gate */
    enum filter_mode pii;   /* FILTER_OFF: personal data is not looked for */
    enum approve_mode mode; /* of approvals */
    uint64_t approval_ms;   /* their time; 0: the default */
    bool persons;           /* people sit at the clients */
    enum audit_args_mode args;
};

struct harness {
    struct io_loop loop;
    struct core core;
    char home[64];
    struct arena arena; /* texts and fakes of the test */
    struct list acts;   /* events of fake links, in order */
    struct principal *local;
    struct privacy *privacy;
    struct fake_server *servers[FAKE_SERVERS_MAX];
    size_t server_count;
    struct fake_client *clients[FAKE_CLIENTS_MAX];
    size_t client_count;
};

/* There is one at a time. NULL: all defaults. */
struct harness *harness_open(const struct harness_config *config);
int harness_teardown(void **state);
#define harness_test(f) cmocka_unit_test_teardown(f, harness_teardown)
/* Until the gate has nothing to do before the clock moves. */
void harness_settle(struct harness *h);
/* The clock moves on, in steps of the loop's own tick where `ms` is short; then as harness_settle(). */
void harness_advance(struct harness *h, uint64_t ms);
uint64_t harness_now_ms(void); /* the wall clock of the test */
/* Another policy is in force, as after a reload. */
void harness_policy(struct harness *h, const char *text);
struct policy *harness_load_policy(const char *text);
/* The log as lines, oldest first, without what the gate says of itself:
 *   decision METHOD TOOL VERDICT RULE [TEXT]
 *   outcome STATUS [TEXT]
 *   event NAME [TEXT] */
const char *harness_log(struct harness *h);
/* The id of the only approval that is pending, and deciding it as a user at the command line. */
struct slice harness_pending(struct harness *h);
enum state_decide harness_decide(struct harness *h, struct slice id, bool approve);

/* ---- servers ---- */

enum fake_speaks { FAKE_LEGACY, FAKE_MODERN, FAKE_LEGACY_HTTP, FAKE_MODERN_HTTP };

struct fake_server {
    struct harness *h;
    struct server *server;
    enum fake_speaks speaks;
    const char *tools;        /* the array that tools/list answers with */
    const char *capabilities; /* of initialize and server/discover */
    bool by_hand;             /* it answers nothing by itself: the test takes initialize and the like, too */
    bool refuses_links;       /* a link that is opened goes down immediately */
    bool busy;                /* it takes no more for now */
    uint32_t opened;          /* links so far */
    struct link *link;        /* the newest, NULL when there is none */
    uint32_t open_count;      /* links that are open */
    struct fake_heard *heard[FAKE_HEARD_MAX];
    size_t heard_count;
    bool paused; /* nothing of it is read at present */
};

/* A message that came to the server. */
struct fake_heard {
    struct fake_server *server;
    struct link *link; /* NULL when that is closed */
    uint64_t id;       /* 0 for a notification or an answer */
    const char *method;
    const char *text;
    const char *headers; /* lines that mirror its arguments */
    uint64_t record;     /* its number in the log */
    bool taken;
    bool abandoned; /* the gate does not wait for its answer any more */
};

struct fake_server *harness_server(struct harness *h, const char *name, enum fake_speaks speaks);
/* The oldest message of that method that was not taken; fails the test when there is none. */
struct fake_heard *fake_take(struct fake_server *s, const char *method);
/* The same, or NULL. */
struct fake_heard *fake_peek(struct fake_server *s, const char *method);
/* How many messages of that method came, taken or not. */
size_t fake_count(const struct fake_server *s, const char *method);
void fake_answer(struct fake_heard *m, const char *result);
void fake_error(struct fake_heard *m, int code, const char *message);
/* A notification or request of the server; `about`: on that request's own stream (HTTP), or NULL. */
void fake_say(struct fake_server *s, struct fake_heard *about, const char *text);
/* There will be no response. */
void fake_fail(struct fake_heard *m, const char *why, bool retry);
/* The server ended by itself. */
void fake_die(struct fake_server *s, const char *why);

/* ---- clients ---- */

struct fake_reply {
    struct call_sink sink;
    struct fake_client *client;
    bool over;        /* there was an answer, or it is known that there will be none */
    bool none;        /* the latter */
    const char *text; /* the answer */
    int status;
    const char *events[FAKE_EVENTS_MAX];
    size_t event_count;
};

struct fake_client {
    struct harness *h;
    struct session *session; /* NULL once it has gone */
    bool modern;
    const char *capabilities;               /* what it declares */
    const char *meta;                       /* further members of a modern request's _meta, or NULL */
    const char *delivered[FAKE_EVENTS_MAX]; /* what came outside calls */
    size_t delivered_count;
    bool unreachable; /* nothing can be delivered to it outside calls */
    bool ended;       /* its server ended by itself */
};

/* Opens a session and shakes hands; `only` NULL: every server. */
struct fake_client *harness_legacy(struct harness *h, struct fake_server *only);
struct fake_client *harness_modern(struct harness *h, struct fake_server *only);
/* The same for another principal or with capabilities. NULL: local, none. */
struct fake_client *harness_client(struct harness *h, struct fake_server *only, bool modern,
                                   struct principal *who, const char *capabilities);
/* Any message. */
struct fake_reply *fake_send(struct fake_client *c, const char *text);
/* A request; `params` are members without the braces. Modern ones get their _meta. */
struct fake_reply *fake_request(struct fake_client *c, const char *id, const char *method,
                                const char *params);
struct fake_reply *fake_call(struct fake_client *c, const char *id, const char *tool, const char *arguments);
/* The same without running the gate: it stays where it has come to. */
struct fake_reply *fake_request_only(struct fake_client *c, const char *id, const char *method,
                                     const char *params);
/* The answer; fails the test when there is none. */
const char *fake_text(struct fake_reply *r);
/* A string in a JSON text behind a key, without escapes; fails the test when there is none. */
const char *fake_member(struct harness *h, const char *text, const char *key);
/* The same of a number, as its digits. */
const char *fake_number(struct harness *h, const char *text, const char *key);
void fake_leave(struct fake_client *c);

/* ---- checks ---- */

/* ' becomes ", in the arena. */
const char *harness_json(struct arena *a, const char *text);
bool harness_contains(const char *text, const char *quoted);
#define assert_has(text, part)                                                                               \
    do {                                                                                                     \
        const char *in_ = (text);                                                                            \
        if (!harness_contains(in_, part))                                                                    \
            fail_msg("`%s` is not in: %s", (part), in_ ? in_ : "(nothing)");                                 \
    } while (0)
#define assert_lacks(text, part)                                                                             \
    do {                                                                                                     \
        const char *in_ = (text);                                                                            \
        if (harness_contains(in_, part))                                                                     \
            fail_msg("`%s` is in: %s", (part), in_);                                                         \
    } while (0)
