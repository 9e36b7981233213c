/* What the two files of `scan` share. */
#pragma once

#include "cli/command.h"
#include "risk/survey.h"

enum scan_format {
    FORMAT_AUTO,
    FORMAT_TABLE,
    FORMAT_JSON,
    FORMAT_SARIF,
    FORMAT_INTERCEPT,
    FORMAT_POLICYLAYER,
};

struct scan_options {
    const char *tools_json;
    const char *upstream;
    struct cli_list headers;
    const char *mcp_config;
    bool no_start;
    const char *output;
    int format; /* enum scan_format */
    uint64_t timeout_ms;
    struct cli_list fail_on;
    const char *lock;
};

/* A missing file is a lock that knows nobody. */
int cli_scan_lock(const char *path, struct risk_lock **ret_lock, struct err *err);
void cli_scan_table(const struct risk_survey *s, bool colour, struct arena *a, struct buf *out);
/* CLI_NO when something that --fail-on names is there, CLI_USAGE when it names nothing known; s may be NULL.
 */
int cli_scan_alarms(const struct scan_options *opt, const struct risk_survey *s);
/* To --output, or to stdout. */
int cli_scan_deliver(const struct scan_options *opt, const struct buf *out);
/* --mcp-config: all servers of a client's configuration at once. */
int cli_scan_config(const struct scan_options *opt);
