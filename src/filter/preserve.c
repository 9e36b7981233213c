/* The characters of a token, written into an address or a day that nobody has:
 *
 *   EMAIL          tok-7k3qx9m2@pii.invalid
 *   URL            https://pii.invalid/tok-7k3qx9m2
 *   IP             2001:db8:7069:03c6:…     all of them, in the range for documentation
 *                  240.0.0.0 …              five and a check, in the range that is reserved
 *   DATE_OF_BIRTH  5000-01-01 … 7870        four: a day that is far away
 *
 * The last two have no room for all characters: such a token is an entry of its own in the vault, and when
 * another value has it already the plain form is taken. */
#include "filter/preserve.h"

#include <stdio.h>

#include "base/hex.h"
#include "filter/chars.h"

#define IPV6_HEAD "2001:db8:7069:"
#define IPV4_FIRST UINT32_C(0xF0000000)
#define IPV4_CHECKS 7u /* 2^25 values and this many checks fit below 254.0.0.0 */
#define IPV4_CHARS 5
#define DATE_CHARS 4
#define DATE_FIRST 1106685 /* days from 1970-01-01 to 5000-01-01 */

static const struct slice mail_head = {"tok-", 4}, mail_tail = {"@pii.invalid", 12};
static const struct slice url_head = {"https://pii.invalid/", 20};

enum preserve_form preserve_form_of(struct slice kind, struct slice value) {
    if (slice_is(kind, "EMAIL"))
        return PRESERVE_EMAIL;
    if (slice_is(kind, "URL"))
        return PRESERVE_URL;
    if (slice_is(kind, "IP") && value.len)
        return memchr(value.ptr, ':', value.len) ? PRESERVE_IPV6 : PRESERVE_IPV4;
    if (slice_is(kind, "DATE_OF_BIRTH") && value.len == 10 && value.ptr[4] == '-' && value.ptr[7] == '-')
        return PRESERVE_DATE;
    return PRESERVE_NONE;
}

size_t preserve_room(enum preserve_form form) {
    return form == PRESERVE_IPV4 ? IPV4_CHARS + 1 : form == PRESERVE_DATE ? DATE_CHARS + 1 : 0;
}

static uint32_t number_of(const char *chars, size_t count) {
    uint32_t v = 0;
    for (size_t i = 0; i < count; i++)
        v = v << 5 | (uint32_t)filter_token_value(chars[i]);
    return v;
}

/* The day of the Gregorian calendar that lies `days` behind 1970-01-01, and back. */
static void civil_from(int64_t days, int *ret_year, int *ret_month, int *ret_day) {
    days += 719468;
    const int64_t era = days / 146097, doe = days % 146097;
    const int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    const int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *ret_day = (int)(doy - (153 * mp + 2) / 5 + 1);
    *ret_month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *ret_year = (int)(yoe + era * 400 + (*ret_month <= 2));
}

static int64_t days_from(int year, int month, int day) {
    year -= month <= 2;
    const int64_t era = year / 400, yoe = year - era * 400;
    const int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static int write_ipv6(const char *chars, size_t count, char *out, size_t room) {
    unsigned __int128 bits = count - FILTER_TOKEN_CHARS;
    for (size_t i = 0; i < count; i++)
        bits = bits << 5 | (unsigned)filter_token_value(chars[i]);
    bits <<= 76 - 5 * count;
    return snprintf(out, room, IPV6_HEAD "%04x:%04x:%04x:%04x:%04x", (unsigned)(bits >> 64) & 0xffff,
                    (unsigned)(bits >> 48) & 0xffff, (unsigned)(bits >> 32) & 0xffff,
                    (unsigned)(bits >> 16) & 0xffff, (unsigned)bits & 0xffff);
}

static int write_ipv4(const char *chars, char *out, size_t room) {
    const uint32_t at = IPV4_FIRST + number_of(chars, IPV4_CHARS) * IPV4_CHECKS +
                        (uint32_t)filter_token_value(chars[IPV4_CHARS]) % IPV4_CHECKS;
    return snprintf(out, room, "%u.%u.%u.%u", at >> 24, at >> 16 & 255, at >> 8 & 255, at & 255);
}

void preserve_write(enum preserve_form form, const char *chars, size_t count, struct token_text *t) {
    int year, month, day, len = 0;
    char low[FILTER_TOKEN_CHARS_MAX + 1] = {0};
    for (size_t i = 0; i < count; i++)
        low[i] = ch_lower(chars[i]);
    if (form == PRESERVE_EMAIL || form == PRESERVE_URL)
        len = snprintf(t->text, sizeof(t->text), "%stok-%s%s", form == PRESERVE_URL ? url_head.ptr : "", low,
                       form == PRESERVE_EMAIL ? mail_tail.ptr : "");
    else if (form == PRESERVE_IPV6)
        len = write_ipv6(chars, count, t->text, sizeof(t->text));
    else if (form == PRESERVE_IPV4)
        len = write_ipv4(chars, t->text, sizeof(t->text));
    else {
        civil_from(DATE_FIRST + number_of(chars, DATE_CHARS), &year, &month, &day);
        len = snprintf(t->text, sizeof(t->text), "%04d-%02d-%02d", year, month, day);
    }
    t->len = (size_t)len;
}

/* ---- reading ---- */

static void match_set(struct token_match *m, struct slice kind, uint32_t start, uint32_t end, size_t count) {
    *m = (struct token_match){
        .start = start, .end = end, .kind_len = kind.len, .id_len = kind.len + 1 + count};
    memcpy(m->id, kind.ptr, kind.len);
    m->id[kind.len] = '_';
}

/* Five bits each of `value`, the first ones in front, and the check character behind them. */
static void match_number(struct token_match *m, struct slice kind, uint32_t value, size_t count) {
    char *chars = m->id + kind.len + 1;
    for (size_t i = 0; i < count; i++)
        chars[i] = filter_token_letter(value >> 5 * (count - 1 - i) & 31);
    chars[count] = filter_token_check(kind, chars, count);
}

static bool read_named(struct slice t, uint32_t at, struct token_match *m) {
    const struct slice rest = slice_from(t, at);
    const bool is_url =
        at >= url_head.len && slice_eq_nocase(slice_of(t.ptr + at - url_head.len, url_head.len), url_head);
    size_t n = mail_head.len;
    if (!slice_eq_nocase(slice_upto(rest, mail_head.len), mail_head))
        return false;
    while (n < rest.len && n < mail_head.len + FILTER_TOKEN_CHARS_MAX && ch_alnum(rest.ptr[n]) &&
           filter_token_value(rest.ptr[n]) >= 0)
        n++;
    const size_t count = n - mail_head.len;
    const bool is_email =
        rest.len >= n + mail_tail.len && slice_eq_nocase(slice_of(rest.ptr + n, mail_tail.len), mail_tail);
    if (count < FILTER_TOKEN_CHARS || (!is_url && !is_email) || (n < rest.len && ch_alnum(rest.ptr[n])))
        return false;
    const struct slice kind = is_email ? SLICE("EMAIL") : SLICE("URL");
    match_set(m, kind, is_email ? at : at - (uint32_t)url_head.len,
              at + (uint32_t)(is_email ? n + mail_tail.len : n), count);
    for (size_t i = 0; i < count; i++)
        m->id[kind.len + 1 + i] =
            filter_token_letter((unsigned)filter_token_value(rest.ptr[mail_head.len + i]));
    return filter_token_check(kind, m->id + kind.len + 1, count - 1) == m->id[m->id_len - 1];
}

static bool read_ipv6(struct slice rest, uint32_t at, struct token_match *m) {
    const size_t head = strlen(IPV6_HEAD), len_total = head + 24;
    unsigned __int128 bits = 0;
    if (rest.len < len_total || !slice_eq_nocase(slice_upto(rest, head), SLICE(IPV6_HEAD)) ||
        (rest.len > len_total && (ch_alnum(rest.ptr[len_total]) || rest.ptr[len_total] == ':')))
        return false;
    for (size_t i = head; i < len_total; i++) {
        const bool colon = (i - head) % 5 == 4;
        if (colon ? rest.ptr[i] != ':' : hex_value(rest.ptr[i]) < 0)
            return false;
        bits = colon ? bits : bits << 4 | (unsigned)hex_value(rest.ptr[i]);
    }
    const size_t count = FILTER_TOKEN_CHARS + (size_t)(bits >> 76);
    if (count > FILTER_TOKEN_CHARS_MAX || bits & (((unsigned __int128)1 << (76 - 5 * count)) - 1))
        return false;
    const struct slice kind = SLICE("IP");
    match_set(m, kind, at, at + (uint32_t)len_total, count);
    char *chars = m->id + kind.len + 1;
    for (size_t i = 0; i < count; i++)
        chars[i] = filter_token_letter((unsigned)(bits >> (76 - 5 * (i + 1))) & 31);
    return filter_token_check(kind, chars, count - 1) == chars[count - 1];
}

static bool read_ipv4(struct slice rest, uint32_t at, struct token_match *m) {
    uint32_t value = 0;
    size_t i = 0;
    for (unsigned part = 0; part < 4; part++) {
        const size_t first = i += part > 0;
        uint32_t octet = 0;
        if (part > 0 && (first > rest.len || rest.ptr[first - 1] != '.'))
            return false;
        while (i < rest.len && i - first < 3 && ch_digit(rest.ptr[i]))
            octet = octet * 10 + (uint32_t)(rest.ptr[i++] - '0');
        if (i == first || octet > 255 || (rest.ptr[first] == '0' && i - first > 1))
            return false;
        value = value << 8 | octet;
    }
    if ((i < rest.len && ch_alnum(rest.ptr[i])) ||
        (i + 1 < rest.len && rest.ptr[i] == '.' && ch_digit(rest.ptr[i + 1])))
        return false;
    value -= IPV4_FIRST;
    if (value >= (UINT32_C(1) << 5 * IPV4_CHARS) * IPV4_CHECKS)
        return false;
    match_set(m, SLICE("IP"), at, at + (uint32_t)i, IPV4_CHARS + 1);
    match_number(m, SLICE("IP"), value / IPV4_CHECKS, IPV4_CHARS);
    return (uint32_t)filter_token_value(m->id[m->id_len - 1]) % IPV4_CHECKS == value % IPV4_CHECKS;
}

static bool read_date(struct slice rest, uint32_t at, struct token_match *m) {
    static const struct slice kind = {"DATE_OF_BIRTH", 13};
    int part[3] = {0}, year, month, day;
    if (rest.len < 10 || (rest.len > 10 && (ch_alnum(rest.ptr[10]) || rest.ptr[10] == '-')))
        return false;
    for (size_t i = 0; i < 10; i++) {
        const bool dash = i == 4 || i == 7;
        if (dash ? rest.ptr[i] != '-' : !ch_digit(rest.ptr[i]))
            return false;
        int *p = &part[i < 4 ? 0 : i < 7 ? 1 : 2];
        *p = dash ? *p : *p * 10 + (rest.ptr[i] - '0');
    }
    if (part[1] < 1 || part[1] > 12 || part[2] < 1)
        return false;
    const int64_t days = days_from(part[0], part[1], part[2]) - DATE_FIRST;
    if (days < 0 || days >= INT64_C(1) << 5 * DATE_CHARS)
        return false;
    civil_from(days + DATE_FIRST, &year, &month, &day);
    if (year != part[0] || month != part[1] || day != part[2])
        return false;
    match_set(m, kind, at, at + 10, DATE_CHARS + 1);
    match_number(m, kind, (uint32_t)days, DATE_CHARS);
    return true;
}

bool preserve_read(struct slice text, uint32_t at, struct token_match *m) {
    const struct slice rest = slice_from(text, at);
    if (!ch_digit(text.ptr[at]))
        return read_named(text, at, m);
    if (rest.len < PRESERVE_DIGITS_MIN || !preserve_may_start(rest.ptr) ||
        (at > 0 && (ch_alnum(text.ptr[at - 1]) || memchr(".:-", text.ptr[at - 1], 3))))
        return false;
    return rest.ptr[4] == ':'   ? read_ipv6(rest, at, m)
           : rest.ptr[4] == '-' ? read_date(rest, at, m)
                                : read_ipv4(rest, at, m);
}
