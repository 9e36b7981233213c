/* Asking a running server for its tools belongs to the upstream room. */
#include "cli/toollist.h"

int cli_toollist_ask(struct cli_toollist *list, const struct cli_target *target, struct err *err) {
    (void)list;
    (void)target;
    return err_set(
        err,
        "this build cannot ask a running server; save its tools/list result and give it with --tools-json");
}
