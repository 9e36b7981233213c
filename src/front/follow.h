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
    struct front_policy_place policy;      /* the file of core->policy */
    struct front_policy_place code_policy; /* the file of the built-in server's policy */
    enum log_level log_level;              /* as given on the command line */
};

/* Finds errors in the settings before anything is changed. */
int follow_check(const struct follow *f, const struct settings *fresh, struct err *err);
/* `old` are the settings in force until now. */
void follow_apply(struct follow *f, const struct settings *old, const struct settings *fresh);
/* The names of changed settings that need a restart, or NULL. Valid until the next call; owned by the
 * core. */
const char *follow_for_start(const struct follow *f, const struct settings *fresh);
void follow_log(const struct follow *f, const struct settings *s);
