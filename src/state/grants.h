/* Grants: how an agent authenticates, and what it may do then. They live in the home's own database, or in
 * the PostgreSQL that the home's file `database` names, whatever store counts limits; of a token only its
 * SHA-256 is kept, which is enough for 256 random bits.
 *
 *   sallyport grants … ──▶ grants.sqlite ◀── every gate of this home keeps a copy in memory
 *                     └──▶ grants.live: one number that every change raises; a look at it is a load
 *
 * Gates look at the number at each request, so a grant that was revoked is refused from that moment on. In
 * PostgreSQL the database notifies a thread of each gate; a copy that was not confirmed for a second is
 * invalid. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

#define STATE_GRANT_PREFIX "sp_"
#define STATE_TOKEN_CHARS 43 /* of 6 bits each */
#define STATE_TOKEN_TEXT (sizeof(STATE_GRANT_PREFIX) + STATE_TOKEN_CHARS)
#define STATE_HASH_BYTES 32

/* The permissions of the bearer at the admin API. */
enum state_role {
    STATE_ROLE_ADMIN = 1,
    STATE_ROLE_POLICY_MANAGER = 2,
    STATE_ROLE_APPROVER = 4,
    STATE_ROLE_VIEWER = 8,
    STATE_ROLE_PERSON =
        16, /* no role at the API: a user is present at its client and may approve its calls there */
};
/* 0 when there is no such role. */
uint32_t state_role_from(struct slice name);
/* The i-th role's name, or NULL after the last; its bit is 1 << i. */
const char *state_role_name(size_t i);

struct state_grant {
    const char *name;           /* its name in policies, limits and the log; never reused */
    const char *label;          /* for people; may be empty */
    const char *hint;           /* first characters of the token */
    const char *policy;         /* path of its own policy, or empty */
    const char *limits;         /* name under which its limits are counted, may be shared; empty: its own */
    const char *const *servers; /* globs; none: every server */
    size_t server_count;
    const char *const *tools; /* globs over tool or server__tool; none: every tool */
    size_t tool_count;
    uint32_t roles;
    uint64_t version; /* changes with every change of the grant */
    uint64_t created_ms;
    uint64_t expires_ms; /* 0: never */
    uint64_t revoked_ms; /* 0: not revoked */
    uint64_t used_ms;    /* to the minute */
    uint64_t rotated_ms; /* when its token was last replaced */
    uint64_t grace_ms;   /* how long the previous token stays valid */
};

struct state_grants;

/* Creates the directory if absent, unless the grants are only read. */
int state_grants_open(const char *home, bool read_only, struct state_grants **ret_grants, struct err *err);
void state_grants_close(struct state_grants *g); /* NULL is fine */

/* For a gate. In PostgreSQL a thread follows the grants from now on, and refresh copies what it has read
 * without waiting. In SQLite uses are written on a thread of the loop. */
struct io_loop;
int state_grants_follow(struct state_grants *g, const char *home, struct io_loop *loop, struct err *err);
/* Was the copy confirmed within STATE_FOLLOW_FRESH_MS? If not, no client can authenticate by a grant,
 * and err says why. */
bool state_grants_reachable(const struct state_grants *g, struct err *err);

/* Incremented by every change in any process. One load. */
uint64_t state_grants_generation(const struct state_grants *g);
/* The generation up to which changes have been read. */
uint64_t state_grants_seen(const struct state_grants *g);
/* Re-reads changed grants. All grants returned before are invalid afterwards. Cheap if nothing changed. */
int state_grants_refresh(struct state_grants *g, struct err *err);
/* For a timer: also detects changes whose process died before it incremented the generation. */
bool state_grants_stale(struct state_grants *g);

/* Valid until the next refresh. NULL when there is none: unknown token, revoked, expired. */
const struct state_grant *state_grants_by_token(const struct state_grants *g, struct slice token,
                                                uint64_t now_ms);
/* Also revoked and expired ones. */
/* Is this token of the grant the one from before the last rotation? */
bool state_grants_is_old(const struct state_grant *grant, struct slice token);
const struct state_grant *state_grants_by_name(const struct state_grants *g, struct slice name);
size_t state_grants_count(const struct state_grants *g);
const struct state_grant *state_grants_at(const struct state_grants *g, size_t i); /* by time of creation */
/* Notes its use; written periodically, and at the end. Returns true for the first use of all. */
bool state_grants_used(struct state_grants *g, const struct state_grant *grant, uint64_t now_ms);
void state_grants_write_used(struct state_grants *g);

/* Creates a grant from name, label, policy, limits, servers, tools, roles and expires_ms of `grant`. The
 * token is shown only once. */
int state_grants_create(struct state_grants *g, const struct state_grant *grant, uint64_t now_ms,
                        char ret_token[STATE_TOKEN_TEXT], struct err *err);
/* Creates a new token; the old one stays valid for grace_ms. */
int state_grants_rotate(struct state_grants *g, struct slice name, uint64_t now_ms, uint64_t grace_ms,
                        char ret_token[STATE_TOKEN_TEXT], struct err *err);
/* Permanently. Also succeeds if it is already revoked. */
int state_grants_revoke(struct state_grants *g, struct slice name, uint64_t now_ms, struct err *err);

struct emit;

/* active, expired or revoked */
const char *state_grant_status(const struct state_grant *g, uint64_t now_ms);
/* Includes its token if there is one to show. */
void state_grant_json(struct emit *e, const struct state_grant *g, const char *token, uint64_t now_ms);

void state_token_hash(struct slice token, unsigned char ret_hash[STATE_HASH_BYTES]);
