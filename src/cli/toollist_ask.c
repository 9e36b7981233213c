/* Asks a running server for its tools, the same careful way in which the gate would talk to it. */
#include "cli/toollist.h"

#include "front/probe.h"

int cli_toollist_ask(struct cli_toollist *list, const struct cli_target *target, struct err *err) {
    struct probe probe = {
        .name = target->name      ? target->name
                : target->command ? target->command[0]
                                  : "server",
        .command = target->command,
        .url = target->url,
        .headers = target->headers,
        .header_count = target->header_count,
        .timeout_ms = target->timeout_ms,
    };
    if (probe_run(&probe, 1, NULL, err) < 0)
        return -1;
    buf_free(&list->text);
    list->text = probe.text;
    return probe.failed ? err_set(err, "%s", probe.err.text) : 0;
}
