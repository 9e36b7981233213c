/* What all users of approvals share: the gate that asks, and approvers from the
 * command line, the admin API or a callback. */
#pragma once

#include "audit/audit.h"
#include "state/approvals.h"

/* Records each change of an approval: `event` is approval_requested, _approved, _denied, _expired or
 * _used; `who` is the person or program that caused it. */
enum audit_result approval_record(struct audit *audit, const char *event, const struct state_approval *r,
                                  struct slice who);
/* Why a decision was not accepted, as text. */
void approval_refusal(enum state_decide why, struct slice id, const struct state_approval *after,
                      struct err *err);

struct core;
/* Calls `each` with the hash of every policy in force; a hash may come twice. */
void approval_policies(const struct core *core, void (*each)(void *ctx, const char *hash), void *ctx);
/* Why an approval of this call would have no effect: the policy or the tool's definition has changed.
 * Empty when it is valid. */
struct slice approval_stale(struct core *core, const struct state_approval *r);

/* Signature of webhooks and callbacks: HMAC-SHA256 over the time, a full stop and the body, in hex after
 * "v1=". */
#define APPROVAL_STAMP_HEADER "Sallyport-Timestamp"
#define APPROVAL_SIGNATURE_HEADER "Sallyport-Signature"
#define APPROVAL_SIGNATURE_TEXT (3 + 64 + 1)
void approval_sign(struct slice secret, struct slice stamp, struct slice body,
                   char ret_text[APPROVAL_SIGNATURE_TEXT]);
