/* Plain personal data and secrets in what clients send: refused, counted, or found for conditions of a
 * policy. */
#pragma once

#include "call/call.h"
#include "filter/filter.h"
#include "policy/policy.h"

/* Must this call be scanned? Then sets rules->plain_refused and plain_noted. */
bool sent_wanted(const struct call *c, struct filter_rules *rules);
/* Scans the arguments and everything else that the server reads. False: the scan failed. */
bool sent_check(struct call *c, struct filter_scope *scope, const struct filter_rules *rules,
                struct filter_report *report);
/* Where the value is, without the value: args.note, params._meta.x, a key of args. */
struct slice sent_place(struct call *c, const struct filter_place *place);

/* The detector for a policy's conditions. Values that `server` has returned itself are not reported. */
struct sent_detector {
    struct policy_detector detector;
    struct filter_scope *scope;
    struct filter_rules rules;
};
/* NULL: the policy uses no detector, or there is no vault. */
const struct policy_detector *sent_detector_of(struct call *c, struct arena *a);

/* The same for trying out a policy: no server has returned any value. One for the whole process. */
const struct policy_detector *sent_detector_alone(void);
