/* Shared by the files of `doctor`: a list of findings, each with a fix. */
#pragma once

#include "base/arena.h"
#include "cli/command.h"
#include "front/settings.h"

enum doctor_level {
    DOCTOR_GOOD,
    DOCTOR_ODD, /* works, but something is missing or insecure */
    DOCTOR_BAD, /* the gate does not start, or works only partly, or other users have access */
};

struct doctor_finding {
    struct doctor_finding *next;
    enum doctor_level level;
    const char *check; /* what was checked: state, settings, policy, port, server ... */
    struct slice subject;
    struct slice text;
    struct slice fix; /* empty when there is nothing to fix */
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

/* Adds a finding; the caller may set its fix. */
struct doctor_finding *cli_doctor_note(struct doctor_findings *all, enum doctor_level level,
                                       const char *check, const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* doctor_setup.c: the state directory, settings, policies, port and grants. Without a settings file the
 * defaults; NULL when the file has an error. */
void cli_doctor_setup(struct doctor_findings *all, const struct doctor_options *opt,
                      struct settings **ret_settings);
/* What to do about a gate that does not start; NULL: the error says it. */
const char *cli_start_fix(const char *why);
/* doctor_servers.c: does the program exist, does it answer? Starts servers unless disabled. */
void cli_doctor_servers(struct doctor_findings *all, const struct doctor_options *opt,
                        const struct settings *settings);
