/* What the files of `scan` share. */
#pragma once

#include "cli/ask.h"
#include "risk/survey.h"

enum scan_format {
    FORMAT_AUTO,
    FORMAT_TABLE,
    FORMAT_JSON,
    FORMAT_SARIF,
    FORMAT_INTERCEPT,
    FORMAT_POLICYLAYER,
    FORMAT_HTML,
    FORMAT_MARKDOWN,
};

struct scan_options {
    struct cli_ask_options ask;
    const char *output;
    const char *save;
    int format; /* enum scan_format */
    struct cli_list fail_on;
    const char *lock;
};

/* One survey per server, each compared with the names of all others; those without a list are zero. */
void cli_scan_survey(struct cli_asking *asking, const struct risk_lock *lock, struct risk_survey *surveys);
/* scan_table.c */
void cli_scan_table(const struct risk_survey *s, bool colour, struct arena *a, struct buf *out);
/* scan_write.c: writes the requested format to --output or stdout. `surveys` has one per server; those
 * without a list are zero. Returns an exit status. */
int cli_scan_write(const struct scan_options *opt, struct cli_asking *asking,
                   const struct risk_survey *surveys);
