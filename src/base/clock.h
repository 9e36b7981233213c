/* Time, in the two senses: a steady count for durations and the calendar for people. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t clock_mono_ms(void);
uint64_t clock_mono_us(void);
uint64_t clock_wall_ms(void);
uint64_t clock_wall_us(void);

#define CLOCK_TEXT_MAX 32
/* RFC 3339 in UTC with milliseconds: 2026-01-02T03:04:05.678Z */
void clock_text(uint64_t wall_ms, char text[CLOCK_TEXT_MAX]);
