/* Private to the admin room: one request at the API, and the table of what can be asked. */
#pragma once

#include "admin/limits.h"
#include "session/session.h"
#include "session/web.h"
#include "wire/emit.h"
#include "wire/tape.h"

struct state_grants;

struct admin {
    struct core *core;
    const char *home;
    char *callback_secret; /* owned */
    struct web_site site;
    uint64_t started_ms;
    struct state_grants *grants; /* NULL before the first use */
    struct list jobs;            /* of the audit log */
    size_t job_count;
    struct list streams;
    size_t stream_count;
    struct io_timer tail_timer;
    bool tail_busy;
    uint64_t tail_seq; /* the newest record that was passed on; 0 before the first look */
};

struct api_call {
    struct admin *admin;
    const struct web_request *request;
    struct slice arg; /* what stands for {…} in the path */
    struct arena arena;
    struct tape body;
    struct buf out; /* the answer in the making */
    struct emit e;
};

struct api_query {
    const char *name;
    const char *help;
};

struct api_route {
    enum http_method method;
    const char *path; /* with at most one {name} */
    uint32_t roles;   /* any of these, or admin; 0: a proof of its own */
    void (*serve)(struct api_call *c);
    const char *id;
    const char *summary;
    const struct api_query *query; /* NULL-terminated, or NULL */
    const char *body;              /* name of a schema, or NULL */
    const char *answer;            /* name of a schema */
};
extern const struct api_route api_routes[];
extern const char api_schemas[];

/* api_call.c. Exactly one of these two ends a request. */
void api_answer(struct api_call *c, int status);
void api_error(struct api_call *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A text member of the body, or empty. */
struct slice api_member(struct api_call *c, const char *name);
/* A query parameter, or empty. */
struct slice api_query_text(struct api_call *c, const char *name);
/* A number between 1 and max; `fallback` when absent. False, and answered, when it is none. */
bool api_query_number(struct api_call *c, const char *name, uint64_t max, uint64_t fallback,
                      uint64_t *ret_value);

/* look.c */
void api_status(struct api_call *c);
void api_servers(struct api_call *c);
void api_tools(struct api_call *c);
void api_sessions(struct api_call *c);
void api_jobs(struct api_call *c);
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
/* audit.c */
void api_audit(struct api_call *c);
void api_audit_stream(struct api_call *c);
void api_audit_free(struct admin *a);
/* openapi.c */
void api_document(struct api_call *c);
/* page.c */
bool page_has(struct slice path);
void page_serve(const struct web_request *r);
/* metrics.c */
void api_write_metrics(struct admin *a, struct buf *out);
