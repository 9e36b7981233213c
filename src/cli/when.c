#include "cli/when.h"

#include "base/clock.h"
#include "policy/tick.h"
#include "policy/window.h"

int cli_when(const char *option, const char *text, uint64_t *ret_us, struct err *err) {
    uint64_t ms;
    *ret_us = 0;
    if (!text)
        return 0;
    if (policy_time_parse(slice_str(text), &ms)) {
        *ret_us = ms * 1000;
        return 0;
    }
    uint64_t now = clock_wall_ms();
    if (!policy_duration_parse(slice_str(text), &ms) || ms > now)
        return err_set(err,
                       "--%s `%s`: write a time like 2026-01-31T12:00:00Z, or how long ago, like 15m, 2h, 7d",
                       option, text);
    *ret_us = (now - ms) * 1000;
    return 0;
}
