/* The pages that a running gate serves beside MCP, for every command that starts one. */
#pragma once

#include "cli/gates.h"
#include "front/gate.h"

struct cli_site {
    struct admin *admin;
    struct cli_gate_page page;
    /* Called once the gate listens; may be NULL. */
    void (*opened)(struct cli_site *site, const char *home, const char *origin);
    bool print_only; /* for `opened` */
};
/* The site outlives the run. */
void cli_site_add(struct cli_site *site, struct gate_config *config);
