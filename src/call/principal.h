/* The identity behind a session. A front creates it after authentication; everything else only reads it:
 * the policy's facts, the scope of limits, the audit's identity, the owner of sessions, cursors and jobs. */
#pragma once

#include "call/core.h"
#include "policy/policy.h"

enum principal_kind {
    PRINCIPAL_LOCAL, /* a user who can start this program, or reach its loopback port without a grant */
    PRINCIPAL_GRANT,
    PRINCIPAL_TOKEN, /* signed by an identity provider */
    PRINCIPAL_CERT,
};

/* Roles in the administration interface. */
enum principal_role {
    PRINCIPAL_ADMIN = 1,
    PRINCIPAL_POLICY_MANAGER = 2,
    PRINCIPAL_APPROVER = 4,
    PRINCIPAL_VIEWER = 8,
    PRINCIPAL_PERSON = 16, /* not for the interface: a person answers the questions that its client gets */
};

struct principal {
    uint32_t refs;
    enum principal_kind kind;
    bool revoked;
    uint64_t expires_ms;   /* wall clock; 0: never */
    const char *id;        /* "local", "grant:NAME": unique among all kinds */
    const char *grant;     /* name, or "" */
    const char *limits;    /* the name for limits of scope `grant` */
    struct policy *policy; /* its own policy, or NULL; replaced when its file changes */
    /* Globs of what it may use; none: everything. */
    const char *const *servers;
    size_t server_count;
    const char *const *tools; /* with `__`: of "server__tool", else of the bare name */
    size_t tool_count;
    const struct policy_fact *facts; /* identity.*, grant.* */
    size_t fact_count;
    uint32_t roles;
    struct arena arena; /* holds the texts above */
};

/* One reference, and an empty principal of that name to be filled in before it is used. */
struct principal *principal_new(enum principal_kind kind, const char *id);
struct principal *principal_ref(struct principal *p);
void principal_unref(struct principal *p); /* NULL is fine */
static inline void principal_cleanup(struct principal **p) { principal_unref(*p); }
#define cleanup_principal __attribute__((cleanup(principal_cleanup)))

/* Why it must not be used any more (revoked, expired), or NULL. */
const char *principal_fault(const struct principal *p, uint64_t now_ms);
/* The same for the session's principal; re-reads revoked grants first. */
const char *principal_session_fault(const struct session *s);
bool principal_may_use(const struct principal *p, struct slice server);
bool principal_may_call(const struct principal *p, struct slice server, struct slice tool);
