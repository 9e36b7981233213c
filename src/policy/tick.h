/* The calendar without a clock: civil dates from milliseconds and back, all in UTC. */
#pragma once

#include "base/slice.h"

/* RFC 3339 date-time to milliseconds since the epoch. */
bool policy_time_parse(struct slice text, uint64_t *ret_ms);
/* 0 Monday … 6 Sunday, at an offset from UTC in minutes. */
unsigned policy_time_weekday(uint64_t ms, int offset_min);
unsigned policy_time_minute(uint64_t ms, int offset_min); /* of the day */
