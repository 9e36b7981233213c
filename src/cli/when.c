#include "cli/when.h"

#include "base/clock.h"
#include "policy/tick.h"
#include "policy/window.h"

#include <stdio.h>

static bool word_time(struct slice text, uint64_t now_ms, uint64_t *ret_ms) {
    if (slice_is(text, "now"))
        *ret_ms = now_ms;
    else if (slice_is(text, "today"))
        *ret_ms = clock_local_midnight(now_ms, 0);
    else if (slice_is(text, "yesterday"))
        *ret_ms = clock_local_midnight(now_ms, 1);
    else
        return false;
    return true;
}

static unsigned number_at(const char *text, size_t at, size_t count) {
    unsigned value = 0;
    for (size_t i = at; i < at + count; i++)
        value = value * 10 + (unsigned)(text[i] - '0');
    return value;
}

/* 2026-11-16, 2026-11-16T14:00, 2026-11-16 14:00:30: in the time zone of this machine. The strict reader of
 * RFC 3339 checks the digits; what is left away is added for it. */
static bool local_time(struct slice text, uint64_t *ret_ms) {
    static const char rest[] = "0000-00-00T00:00:00Z";
    char complete[sizeof(rest)];
    uint64_t checked;
    if (text.len != 10 && text.len != 16 && text.len != 19)
        return false;
    snprintf(complete, sizeof(complete), "%.*s%s", SLICE_FMT(text), rest + text.len);
    if (!policy_time_parse(slice_str(complete), &checked))
        return false;
    *ret_ms = clock_local_ms((int)number_at(complete, 0, 4), (int)number_at(complete, 5, 2),
                             (int)number_at(complete, 8, 2), (int)number_at(complete, 11, 2),
                             (int)number_at(complete, 14, 2), (int)number_at(complete, 17, 2));
    return true;
}

int cli_when(const char *option, const char *text, uint64_t *ret_us, struct err *err) {
    uint64_t ms, now = clock_wall_ms();
    *ret_us = 0;
    if (!text)
        return 0;
    struct slice given = slice_str(text);
    if (policy_time_parse(given, &ms) || word_time(given, now, &ms) || local_time(given, &ms)) {
        *ret_us = ms * 1000;
        return 0;
    }
    if (!policy_duration_parse(given, &ms) || ms > now)
        return err_set(err,
                       "--%s `%s`: write how long ago (15m, 2h, 7d), today, yesterday, a date (2026-01-31) "
                       "or a time (2026-01-31T12:00:00Z)",
                       option, text);
    *ret_us = (now - ms) * 1000;
    return 0;
}
