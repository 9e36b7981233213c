/* Two clocks: a monotonic one for durations and the wall clock for dates. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t clock_mono_ms(void);
uint64_t clock_mono_us(void);
uint64_t clock_wall_ms(void);
uint64_t clock_wall_us(void);

/* Where the fixed window around wall_ms begins, in UTC: windows are counted from the epoch, weeks from a
 * Monday.
 */
static inline uint64_t clock_window_start(uint64_t wall_ms, uint64_t window_ms) {
    const uint64_t day_ms = 86400000, since_monday_ms = window_ms == 7 * day_ms ? 3 * day_ms : 0;
    return wall_ms - (wall_ms + since_monday_ms) % window_ms; /* the epoch is a Thursday */
}

#define CLOCK_TEXT_MAX 32
/* RFC 3339 in UTC with milliseconds: 2026-01-02T03:04:05.678Z */
void clock_text(uint64_t wall_ms, char text[CLOCK_TEXT_MAX]);
/* The same in the time zone of this machine (or of TZ): 2026-01-02T04:04:05.678+01:00; Z when that is UTC. */
void clock_local_text(uint64_t wall_ms, char text[CLOCK_TEXT_MAX]);
/* Start of the day, in that time zone, `days_ago` days before the day of wall_ms. */
uint64_t clock_local_midnight(uint64_t wall_ms, int days_ago);
/* A calendar time in that time zone; month and day count from 1. */
uint64_t clock_local_ms(int year, int month, int day, int hour, int minute, int second);
