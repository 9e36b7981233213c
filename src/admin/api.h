/* Private to the admin room: one request to the API, and the table of routes. */
#pragma once

#include "admin/limits.h"
#include "io/loop.h"
#include "policy/policy.h"
#include "session/session.h"
#include "session/web.h"
#include "wire/emit.h"
#include "wire/tape.h"

struct api_providers;
struct api_stored;
struct audit_tally;
struct state_approvals;
struct state_grants;
struct state_logins;
struct state_stops;
struct state_versions;

struct admin {
    struct core *core;
    const char *home;
    char *callback_secret; /* owned */
    struct web_site site;
    uint64_t started_ms;
    struct state_grants
        *grants; /* used by the thread in stored.c, like the next four; NULL before the first use */
    struct state_logins *logins;
    struct state_versions *versions;
    struct state_approvals *approvals;
    struct state_stops *stops;
    size_t stored_count;             /* requests that wait for that thread */
    bool closing;                    /* the gate is stopping: what is written is applied at its next start */
    struct api_providers *providers; /* NULL: none */
    struct list desks;               /* sessions of users who make calls from the console */
    struct list tallies;             /* sums of the log, one per requested span */
    struct list jobs;                /* live streams of the audit log */
    size_t job_count;
    struct list streams;
    size_t stream_count;
    struct io_timer tail_timer;
    bool tail_busy, tail_known; /* known: tail_seq has been read */
    uint64_t tail_seq;          /* the newest record that was sent; 0: the log is empty */
};

struct api_call {
    struct admin *admin;
    const struct web_request *request;
    const struct api_route *route;
    uint64_t now_ms;   /* arrival of the request, wall clock */
    struct slice arg;  /* the value of the first {…} in the path, decoded */
    struct slice arg2; /* the value of the second */
    struct slice more; /* further header lines of the response */
    struct arena arena;
    struct tape body;
    struct buf out; /* the response being built */
    struct emit e;
    struct api_stored *stored; /* see api_store(); NULL while the handler runs */
    void *what;                /* state of the handler between steps */
    struct err err;            /* the status to respond with if `fault` is set: a step of a store failed */
    int fault;
};

#define API_WORDS_MAX 8 /* of one parameter, with the NULL at the end */
struct api_query {
    const char *name;
    const char *help;
    bool number;
    const char *words[API_WORDS_MAX]; /* the only values, NULL-terminated; empty: any text */
};

struct api_route {
    enum http_method method;
    const char *path; /* with at most two {names} */
    uint32_t roles;   /* any of these, or admin; 0: the handler authenticates the request itself */
    void (*serve)(struct api_call *c);
    const char *id;
    const char *summary;
    const struct api_query *query; /* NULL-terminated, or NULL */
    const char *body;              /* name of a schema, or NULL */
    const char *answer;            /* name of a schema */
    bool body_optional;
    bool changes; /* changes something: refused where authentication is off */
    bool made;    /* responds 201 */
    bool counted; /* a header says how many entries all pages have */
};
extern const struct api_route api_routes[];
extern const char api_schemas[];

/* One page of a list: `limit` entries after the one that `cursor` names. */
struct api_page {
    struct arena *arena;
    uint64_t left;
    struct slice after, last; /* keys of entries */
    struct slice process;     /* of a list of which each process of the gate has a part: this one's name */
    bool skipping, more;
    bool passed;   /* its part was on earlier pages */
    int64_t total; /* entries on all pages; 0: not counted, or none */
};
/* Reads both; `fallback` is the default of `limit`. Returns false after responding with an error. */
bool api_page_read(struct api_call *c, uint64_t fallback, struct api_page *ret_page);
/* The same, and starts the array. */
bool api_page_open(struct api_call *c, uint64_t fallback, struct api_page *ret_page);
/* The same for a list of which each process of the gate has a part: in the order of their names. A cursor
 * names the process of the entry, too. */
bool api_page_open_part(struct api_call *c, struct api_page *ret_page);
/* Is the entry with this key on the page? Keys are unique, and entries come in a fixed order. */
bool api_page_takes(struct api_page *p, struct slice key);
/* The header lines with the cursor of the next page, unless this is the last one, and with the total, if it
 * was counted. */
struct slice api_page_head(const struct api_page *p);
#define API_PAGE_GONE "the entry of this cursor no longer exists: start with the first page again"
/* Ends the array and the request. The response's header names the cursor of the next page. */
void api_page_answer(struct api_call *c, const struct api_page *p);

/* audit.c. Does the query ask for all gates of the fleet? Responds with an error and returns false if this
 * gate is in none. */
bool api_query_fleet(struct api_call *c, bool *ret_fleet);
/* params.c: does the route know every parameter of the query, once each? Responds with an error and returns
 * false if it does not. */
bool api_params_check(struct api_call *c);
/* api_call.c */
void api_call_begin(struct api_call *c, struct admin *a, const struct web_request *r);
void api_call_end(struct api_call *c);
/* Exactly one of these two ends a request. Nothing is sent to a client that has disconnected. */
void api_answer(struct api_call *c, int status);
/* Is the body what the route's schema says? Responds with an error and returns false if it is not. */
bool api_body_check(struct api_call *c);
void api_error(struct api_call *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Records an action and its principal in the audit log. */
struct audit_action;
void api_record(struct api_call *c, struct audit_action action);

/* A text member of the body, or empty; a NUL follows it. */
struct slice api_member(struct api_call *c, const char *name);
/* A query parameter, or empty. */
struct slice api_query_text(struct api_call *c, const char *name);
/* A whole number in the body; `fallback` if absent. Responds with an error and returns false if it is not
 * between 0 and max. */
bool api_member_number(struct api_call *c, const char *name, uint64_t max, uint64_t fallback,
                       uint64_t *ret_value);
bool api_member_flag(struct api_call *c, const char *name);
/* A number between 1 and max; `fallback` if absent. Responds with an error and returns false if it is
 * invalid. */
bool api_query_number(struct api_call *c, const char *name, uint64_t max, uint64_t fallback,
                      uint64_t *ret_value);

/* A time in UTC, RFC 3339; 0 for an empty text. Responds with an error and returns false if it is invalid. */
bool api_read_time(struct api_call *c, const char *name, struct slice text, uint64_t *ret_us);

/* worker.c: work that is too slow for the event loop. `run` works in a thread of the pool and writes the
 * response. Then the client gets it, or `done` is called on the loop. The job's arena owns its data. */
struct api_job {
    uv_work_t work;
    struct list node;
    struct admin *admin;     /* NULL once the site is freed; not for use by the thread */
    struct web_reply *reply; /* NULL when the client has disconnected */
    void (*run)(struct api_job *j);
    void (*done)(struct api_job *j); /* NULL: the response goes to the reply */
    void (*drop)(void *what);        /* NULL: freed with the arena */
    const char *home;
    struct arena arena;
    void *what;
    struct buf out;
    struct emit e;
    const char *type;  /* of the response; NULL: application/json */
    struct slice more; /* header lines */
    int status;        /* of the response; 0: 200 */
    bool failed;
    struct err err;
};
/* Creates a job for this request. Responds with an error and returns NULL if there are too many. */
struct api_job *api_job_for(struct api_call *c);
struct api_job *api_job_new(struct admin *a);
void api_job_start(struct api_job *j, void (*run)(struct api_job *j));
void api_jobs_leave(struct admin *a); /* the threads end on their own, and drop their results */

/* stored.c: the last thing that a handler does. `run` uses the stores on their thread. It touches nothing
 * but the call, and may start the response. Then `done` ends the request on the loop, or continues with
 * the next step. If `run` has set `fault`, the request ends with that error instead. Head and body of the
 * request are no longer available. */
void api_store(struct api_call *c, void (*run)(struct api_call *c), void (*done)(struct api_call *c));
/* For `run`: sets this status if it failed. */
bool api_store_failed(struct api_call *c, int status, bool failed);
/* For `run`; NULL if it failed. */
struct state_grants *api_store_grants(struct api_call *c);
struct state_logins *api_store_logins(struct api_call *c);
struct state_versions *api_store_versions(struct api_call *c);
struct state_approvals *api_store_approvals(struct api_call *c);
struct state_stops *api_store_stops(struct api_call *c);
/* Waits for requests in flight. */
void api_stores_close(struct admin *a);

/* signin.c */
void api_session(struct api_call *c);
void api_sign_in(struct api_call *c);
void api_sign_in_link(struct api_call *c);
void api_sign_out(struct api_call *c);
/* Header lines that set the console's session cookie; an empty value deletes it. */
struct slice api_login_cookie(struct arena *a, uint16_t port, bool secure, const char *value,
                              uint64_t lasts_ms);
/* oidc.c */
void api_issuers(struct api_call *c);
void api_sign_in_begin(struct api_call *c);
void api_sign_in_finish(struct api_call *c);
/* The login has ended; `token` is its ID token. Returns true if the provider is asked where its session
 * ends; the call is then answered later, with `cookie` in its head. */
bool api_sign_out_there(struct api_call *c, struct slice token, struct slice cookie);
struct admin_provider;
void api_providers_set(struct admin *a, const char *origin, const struct admin_provider *items, size_t count);
void api_providers_free(struct admin *a);
/* overview.c */
void api_overview(struct api_call *c);
void api_limits(struct api_call *c);
void api_overview_free(struct admin *a);
/* killswitch.c */
void api_stops(struct api_call *c);
void api_stop(struct api_call *c);
void api_resume(struct api_call *c);
/* calls.c */
void api_calls(struct api_call *c);
void api_call_cancel(struct api_call *c);
/* desk.c */
struct server;
/* Asks the server for its tools and responds with them. False: the server cannot be asked. */
bool api_desk_list(struct api_call *c, struct server *server, const struct api_page *page);
void api_playground(struct api_call *c);
void api_desks_free(struct admin *a);
/* known.c */
void api_known(struct api_call *c);
void api_known_server(struct api_call *c);
void api_known_page(struct api_call *c);
/* setup.c */
void api_server_settings(struct api_call *c);
void api_server_create(struct api_call *c);
void api_server_update(struct api_call *c);
void api_server_delete(struct api_call *c);
void api_server_restart(struct api_call *c);
void api_server_log(struct api_call *c);
void api_server_survey(struct api_call *c);
void api_pins(struct api_call *c);
void api_pins_accept(struct api_call *c);
void api_put_disabled_servers(struct api_call *c, struct api_page *page);
/* look.c */
struct tree;
void api_put_server(struct api_call *c, const struct server *s);
void api_put_disabled(struct emit *e, struct slice name, const struct tree *entry);
void api_put_tools(struct admin *a, const struct server *s, struct api_page *page, struct emit *e);
const char *api_class_name(enum policy_class class);
struct policy_traits api_tool_traits(const struct server *s, struct slice tool);
void api_server(struct api_call *c);
void api_status(struct api_call *c);
void api_servers(struct api_call *c);
void api_tools(struct api_call *c);
void api_sessions(struct api_call *c);
void api_job(struct api_call *c);
void api_jobs(struct api_call *c);
void api_packages(struct api_call *c);
/* grants.c */
void api_grants(struct api_call *c);
void api_grant_create(struct api_call *c);
void api_grant_rotate(struct api_call *c);
void api_grant_revoke(struct api_call *c);
/* approvals.c */
void api_approvals(struct api_call *c);
void api_approval(struct api_call *c);
void api_approve(struct api_call *c);
void api_deny(struct api_call *c);
void api_expire(struct api_call *c);
void api_callback(struct api_call *c);
/* policies.c */
void api_policies(struct api_call *c);
void api_validate(struct api_call *c);
void api_dry_run(struct api_call *c);
void api_explain(struct api_call *c);
void api_problems(struct emit *e, const struct policy_problems *problems);
/* Writes warnings, including conditions that do not match the tools of the gate's servers. */
void api_lint(const struct api_call *c, const struct policy *p, struct policy_problems *problems);
/* policyfiles.c */
void api_policy(struct api_call *c);
void api_policy_save(struct api_call *c);
void api_policy_history(struct api_call *c);
void api_policy_version(struct api_call *c);
void api_policy_revert(struct api_call *c);
void api_policy_edit(struct api_call *c);
#define API_POLICY_ID 17
void api_policy_id(const char *path, char ret_id[API_POLICY_ID]);
/* trial.c */
void api_replay(struct api_call *c);
/* audit.c */
void api_audit(struct api_call *c);
void api_audit_one(struct api_call *c);
void api_audit_export(struct api_call *c);
void api_audit_stream(struct api_call *c);
void api_audit_free(struct admin *a);
/* openapi.c */
void api_document(struct api_call *c);
/* metrics.c */
void api_write_metrics(struct admin *a, struct buf *out);
