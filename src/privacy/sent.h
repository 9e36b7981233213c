/* Personal data and secrets that stand in plain text in what clients send: refused, counted, or found for
 * conditions of a policy. */
#pragma once

#include "call/call.h"
#include "filter/filter.h"
#include "policy/policy.h"

/* Is this call to be scanned? Then rules->plain_refused and plain_noted are set. */
bool sent_wanted(const struct call *c, struct filter_rules *rules);
/* Scans the arguments and everything else in the message that the server reads. False: it could not be
 * scanned. */
bool sent_check(struct call *c, struct filter_scope *scope, const struct filter_rules *rules,
                struct filter_report *report);
/* Where the value is, without the value: args.note, params._meta.x, a key of args. */
struct slice sent_place(struct call *c, const struct filter_place *place);

/* The detector of a policy's conditions. What `server` has returned itself is not found. */
struct sent_detector {
    struct policy_detector detector;
    struct filter_scope *scope;
    struct filter_rules rules;
};
/* NULL: the policy asks for none, or there is no vault to be had. */
const struct policy_detector *sent_detector_of(struct call *c, struct arena *a);

/* The same for trying a policy out: nothing was returned by any server. One for the whole process. */
const struct policy_detector *sent_detector_alone(void);
