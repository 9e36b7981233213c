#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t clock_us(clockid_t which) {
    struct timespec ts;
    clock_gettime(which, &ts);
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

uint64_t clock_mono_ms(void) { return clock_us(CLOCK_MONOTONIC) / 1000; }
uint64_t clock_mono_us(void) { return clock_us(CLOCK_MONOTONIC); }
uint64_t clock_wall_ms(void) { return clock_us(CLOCK_REALTIME) / 1000; }
uint64_t clock_wall_us(void) { return clock_us(CLOCK_REALTIME); }

void clock_text(uint64_t wall_ms, char text[CLOCK_TEXT_MAX]) {
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t used = strftime(text, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + used, CLOCK_TEXT_MAX - used, ".%03uZ", (unsigned)(wall_ms % 1000));
}
