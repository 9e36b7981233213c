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

void clock_local_text(uint64_t wall_ms, char text[CLOCK_TEXT_MAX]) {
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    localtime_r(&seconds, &tm);
    size_t used = strftime(text, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    long minutes = tm.tm_gmtoff / 60;
    if (minutes == 0) {
        snprintf(text + used, CLOCK_TEXT_MAX - used, ".%03uZ", (unsigned)(wall_ms % 1000));
        return;
    }
    unsigned off = (unsigned)(minutes < 0 ? -minutes : minutes);
    snprintf(text + used, CLOCK_TEXT_MAX - used, ".%03u%c%02u:%02u", (unsigned)(wall_ms % 1000),
             minutes < 0 ? '-' : '+', off / 60 % 100, off % 60);
}

uint64_t clock_local_ms(int year, int month, int day, int hour, int minute, int second) {
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute,
                    .tm_sec = second,
                    .tm_isdst = -1};
    time_t seconds = mktime(&tm);
    return seconds < 0 ? 0 : (uint64_t)seconds * 1000;
}

uint64_t clock_local_midnight(uint64_t wall_ms, int days_ago) {
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    localtime_r(&seconds, &tm);
    return clock_local_ms(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday - days_ago, 0, 0, 0);
}
