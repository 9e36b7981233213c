/* What the files of `doctor` share: a list of findings, each with what is to be done about it. */
#pragma once

#include "base/arena.h"
#include "cli/command.h"
#include "front/settings.h"

enum doctor_level {
    DOCTOR_GOOD,
    DOCTOR_ODD, /* works, with something missing or careless */
    DOCTOR_BAD, /* the gate does not start, or not all of it works, or other users have access */
};

struct doctor_finding {
    struct doctor_finding *next;
    enum doctor_level level;
    const char *check; /* what was looked at: state, settings, policy, port, server ... */
    struct slice subject;
    struct slice text;
    struct slice fix; /* empty when there is nothing to be done */
};

struct doctor_options {
    const char *config;
    struct cli_list client_files;
    uint64_t timeout_ms;
    bool no_start;
    bool json;
};

struct doctor_findings {
    struct arena arena;
    struct doctor_finding *first;
    struct doctor_finding **last;
    size_t counts[DOCTOR_BAD + 1];
};

/* Another one; the caller may write its fix. */
struct doctor_finding *cli_doctor_note(struct doctor_findings *all, enum doctor_level level,
                                       const char *check, const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* doctor_setup.c: the state directory, settings, policies, port and grants. The settings are the defaults
 * where there are none, and NULL where there is a mistake in them. */
void cli_doctor_setup(struct doctor_findings *all, const struct doctor_options *opt,
                      struct settings **ret_settings);
/* doctor_servers.c: is there a program, does it answer? Starts them unless told not to. */
void cli_doctor_servers(struct doctor_findings *all, const struct doctor_options *opt,
                        const struct settings *settings);
