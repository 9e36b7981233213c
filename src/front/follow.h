/* Applies new settings to a running gate, and reports those that need a restart. Servers are handled by
 * fleet.c, `auth` by auth.c; the rest of the file here. */
#pragma once

#include "base/log.h"
#include "front/gate_config.h"
#include "front/policies.h"
#include "front/settings.h"

struct follow {
    struct core *core;
    const struct gate_config *config;
    struct front_policies *policies;
    struct front_policy_place policy;      /* of core->policy */
    struct front_policy_place code_policy; /* of the built-in server's */
    enum log_level log_level;              /* as the command line had it */
};

/* Finds what is wrong with them before anything is touched. */
int follow_check(const struct follow *f, const struct settings *fresh, struct err *err);
/* `old` are those that have been in force until now. */
void follow_apply(struct follow *f, const struct settings *old, const struct settings *fresh);
/* Names of what has changed since the start and takes a new one; NULL: nothing. In the core until the next
 * time. */
const char *follow_for_start(const struct follow *f, const struct settings *fresh);
void follow_log(const struct follow *f, const struct settings *s);
