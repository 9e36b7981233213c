/* Shared by the files of `status`. */
#pragma once

#include "cli/command.h"

struct status_options {
    const char *state_dir;
    const char *state_dsn;
    const char *since;
    const char *config;
    struct cli_list client_files;
    uint64_t timeout_ms;
    bool tokens;
    bool json;
};

/* status_tokens.c: an exit status */
int cli_status_tokens(const struct status_options *opt);
