#include "policy/tick.h"

#define DAY_MS 86400000ull

/* Days since 1970-01-01 of a proleptic Gregorian date (months counted from March, eras of 400 years). */
static int64_t days_from_civil(int64_t year, unsigned month, unsigned day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    unsigned year_of_era = (unsigned)(year - era * 400);
    unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + (int64_t)day_of_era - 719468;
}

/* Reads a fixed number of digits at *at and advances. */
static bool digits(struct slice text, size_t *at, size_t count, unsigned max, unsigned *ret) {
    unsigned value = 0;
    if (text.len - *at < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        char c = text.ptr[*at + i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (unsigned)(c - '0');
    }
    *at += count;
    *ret = value;
    return value <= max;
}

static bool literal(struct slice text, size_t *at, char want) {
    if (*at >= text.len || text.ptr[*at] != want)
        return false;
    (*at)++;
    return true;
}

static unsigned month_days(unsigned year, unsigned month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static bool read_fraction(struct slice text, size_t *at, unsigned *ret_ms) {
    unsigned scale = 100, ms = 0;
    size_t start = *at;
    for (; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9'; (*at)++) {
        ms += (unsigned)(text.ptr[*at] - '0') * scale;
        scale /= 10;
    }
    *ret_ms = ms;
    return *at > start;
}

static bool read_offset(struct slice text, size_t *at, int *ret_min) {
    *ret_min = 0;
    if (*at >= text.len)
        return false;
    char sign = text.ptr[(*at)++];
    if (sign == 'Z' || sign == 'z')
        return true;
    unsigned hours, minutes;
    if ((sign != '+' && sign != '-') || !digits(text, at, 2, 23, &hours) || !literal(text, at, ':') ||
        !digits(text, at, 2, 59, &minutes))
        return false;
    *ret_min = (int)(hours * 60 + minutes) * (sign == '-' ? -1 : 1);
    return true;
}

bool policy_time_parse(struct slice text, uint64_t *ret_ms) {
    unsigned year, month, day, hour, minute, second, ms = 0;
    size_t at = 0;
    if (!digits(text, &at, 4, 9999, &year) || !literal(text, &at, '-') || !digits(text, &at, 2, 12, &month) ||
        !literal(text, &at, '-') || !digits(text, &at, 2, 31, &day) || month == 0 || day == 0 ||
        day > month_days(year, month))
        return false;
    if (!literal(text, &at, 'T') && !literal(text, &at, 't') && !literal(text, &at, ' '))
        return false;
    if (!digits(text, &at, 2, 23, &hour) || !literal(text, &at, ':') || !digits(text, &at, 2, 59, &minute) ||
        !literal(text, &at, ':') || !digits(text, &at, 2, 60, &second))
        return false;
    if (literal(text, &at, '.') && !read_fraction(text, &at, &ms))
        return false;
    int offset;
    if (!read_offset(text, &at, &offset) || at != text.len)
        return false;
    int64_t total =
        days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset * 60;
    if (total < 0)
        return false;
    *ret_ms = (uint64_t)total * 1000 + ms;
    return true;
}

static uint64_t shifted(uint64_t ms, int offset_min) {
    int64_t there = (int64_t)ms + (int64_t)offset_min * 60000;
    return there < 0 ? 0 : (uint64_t)there;
}

unsigned policy_time_weekday(uint64_t ms, int offset_min) {
    return (unsigned)((shifted(ms, offset_min) / DAY_MS + 3) % 7); /* 1970-01-01 was a Thursday */
}

unsigned policy_time_minute(uint64_t ms, int offset_min) {
    return (unsigned)(shifted(ms, offset_min) % DAY_MS / 60000);
}
