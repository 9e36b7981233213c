#include "policy/spelling.h"

#include "base/hex.h"
#include "base/mem.h"

#include <arpa/inet.h>

#define FRACTION_MAX 9 /* digits of a second */

static const struct {
    const char *name;
    enum policy_format format;
} names[] = {
    {"date-time", POLICY_FORMAT_DATE_TIME},
    {"date", POLICY_FORMAT_DATE},
    {"time", POLICY_FORMAT_TIME},
    {"uuid", POLICY_FORMAT_UUID},
    {"email", POLICY_FORMAT_EMAIL},
    {"idn-email", POLICY_FORMAT_EMAIL},
    {"uri", POLICY_FORMAT_URI},
    {"url", POLICY_FORMAT_URI},
    {"iri", POLICY_FORMAT_URI},
    {"hostname", POLICY_FORMAT_HOSTNAME},
    {"idn-hostname", POLICY_FORMAT_HOSTNAME},
    {"ipv4", POLICY_FORMAT_IPV4},
    {"ipv6", POLICY_FORMAT_IPV6},
};

enum policy_format policy_spelling_from(struct slice name) {
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_is(name, names[i].name))
            return names[i].format;
    return POLICY_FORMAT_NONE;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_small(char c) { return c >= 'a' && c <= 'z'; }

/* 0: a digit, a: a hexadecimal digit without capitals; the rest stands for itself. */
static bool has_shape(struct slice text, const char *shape) {
    if (text.len != strlen(shape))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if (shape[i] == '0'   ? !is_digit(c)
            : shape[i] == 'a' ? !is_digit(c) && !(c >= 'a' && c <= 'f')
                              : c != shape[i])
            return false;
    }
    return true;
}

/* ---- moments ---- */

static int64_t two_digits(struct slice text, size_t at) {
    return (text.ptr[at] - '0') * 10 + (text.ptr[at + 1] - '0');
}

/* Days since the first of March of the year 0. */
static int64_t days_of(struct slice date) {
    int64_t year = two_digits(date, 0) * 100 + two_digits(date, 2), month = two_digits(date, 5);
    year -= month <= 2;
    month += month <= 2 ? 9 : -3;
    return year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + two_digits(date, 8);
}

struct moment {
    int64_t seconds, billionths;
};

/* A time of RFC 3339 with an offset. */
static bool moment_of(struct slice text, struct moment *ret_moment) {
    if (text.len < 20 || !has_shape(slice_upto(text, 19), "0000-00-00T00:00:00"))
        return false;
    int64_t fraction = 0, offset = 0, unit = 100000000;
    struct slice rest = slice_from(text, 19);
    if (rest.ptr[0] == '.') {
        size_t count = 1;
        for (; count < rest.len && is_digit(rest.ptr[count]); count++, unit /= 10)
            fraction += (rest.ptr[count] - '0') * unit;
        if (count == 1 || count > FRACTION_MAX + 1)
            return false;
        rest = slice_from(rest, count);
    }
    if (!slice_is(rest, "Z")) {
        if (!has_shape(rest, "+00:00") && !has_shape(rest, "-00:00"))
            return false;
        offset = two_digits(rest, 1) * 60 + two_digits(rest, 4);
        offset = rest.ptr[0] == '-' ? -offset : offset;
    }
    const int64_t minutes = (days_of(text) * 24 + two_digits(text, 11)) * 60 + two_digits(text, 14) - offset;
    *ret_moment = (struct moment){minutes * 60 + two_digits(text, 17), fraction};
    return true;
}

/* ---- names of hosts ---- */

static bool is_hostname(struct slice text) {
    char before = '.';
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if (!is_digit(c) && !is_small(c) && c != '-' && (c != '.' || before == '.'))
            return false;
        before = c;
    }
    return before != '.';
}

static bool is_email(struct slice text) {
    struct slice local;
    if (!slice_cut(&text, '@', &local) || !local.len || !is_hostname(text))
        return false;
    for (size_t i = 0; i < local.len; i++)
        if ((unsigned char)local.ptr[i] <= ' ' || (unsigned char)local.ptr[i] >= 0x7f ||
            strchr("\"(),:;<>[\\]", local.ptr[i]))
            return false;
    return true;
}

static bool is_address(int family, struct slice text) {
    unsigned char bytes[16];
    char copy[INET6_ADDRSTRLEN], usual[INET6_ADDRSTRLEN];
    if (!text.len || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return inet_pton(family, copy, bytes) == 1 && inet_ntop(family, bytes, usual, sizeof(usual)) &&
           slice_is(text, usual);
}

/* ---- URIs ---- */

static bool is_port(struct slice port, struct slice scheme) {
    if (!port.len || port.ptr[0] == '0' || (slice_is(scheme, "http") && slice_is(port, "80")) ||
        (slice_is(scheme, "https") && slice_is(port, "443")))
        return false;
    for (size_t i = 0; i < port.len; i++)
        if (!is_digit(port.ptr[i]))
            return false;
    return true;
}

static bool is_authority(struct slice text, struct slice scheme) {
    struct slice host = text;
    if (text.len && text.ptr[0] == '[') {
        const ptrdiff_t end = slice_find(text, ']');
        if (end < 0 || !is_address(AF_INET6, slice_of(text.ptr + 1, (size_t)end - 1)))
            return false;
        text = slice_from(text, (size_t)end + 1);
        return !text.len || (text.ptr[0] == ':' && is_port(slice_from(text, 1), scheme));
    }
    if (slice_cut(&text, ':', &host) && !is_port(text, scheme))
        return false;
    return is_hostname(host);
}

/* An escape of a character that needs none, or in small letters, is another spelling of it. */
static bool is_escape(struct slice text, size_t at) {
    if (at + 2 >= text.len || hex_value(text.ptr[at + 1]) < 0 || hex_value(text.ptr[at + 2]) < 0 ||
        text.ptr[at + 1] >= 'a' || text.ptr[at + 2] >= 'a')
        return false;
    const int byte = hex_value(text.ptr[at + 1]) * 16 + hex_value(text.ptr[at + 2]);
    return !is_digit((char)byte) && !is_small((char)(byte | 0x20)) && !strchr("-._~", byte ? byte : '-');
}

static bool has_dots(struct slice path) {
    struct slice part;
    for (bool more = true; more;) {
        more = slice_cut(&path, '/', &part);
        if (slice_is(part, ".") || slice_is(part, ".."))
            return true;
    }
    return false;
}

static bool is_uri(struct slice text) {
    struct slice scheme, rest = text;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if ((unsigned char)c <= ' ' || (unsigned char)c >= 0x7f || strchr("\"<>\\^`{|}", c) ||
            (c == '%' && !is_escape(text, i)))
            return false;
    }
    if (!slice_cut(&rest, ':', &scheme) || !scheme.len)
        return false;
    for (size_t i = 0; i < scheme.len; i++)
        if (!is_small(scheme.ptr[i]) &&
            (i == 0 || (!is_digit(scheme.ptr[i]) && !strchr("+-.", scheme.ptr[i]))))
            return false;
    if (!slice_starts(rest, SLICE("//")))
        return true;
    rest = slice_from(rest, 2);
    size_t end = 0, stop;
    while (end < rest.len && !strchr("/?#", rest.ptr[end]))
        end++;
    for (stop = end; stop < rest.len && !strchr("?#", rest.ptr[stop]);)
        stop++;
    return is_authority(slice_upto(rest, end), scheme) && !has_dots(slice_of(rest.ptr + end, stop - end));
}

/* ---- all ---- */

/* A UUID with or without dashes, braces and `urn:uuid:`. */
static bool has_digits_of(struct slice one, struct slice other) {
    char digits[2][32];
    const struct slice texts[] = {one, other};
    for (size_t k = 0; k < 2; k++) {
        struct slice text = texts[k];
        size_t count = 0;
        if (slice_eq_nocase(slice_upto(text, 9), SLICE("urn:uuid:")))
            text = slice_from(text, 9);
        for (size_t i = 0; i < text.len; i++) {
            if (strchr("{}-", text.ptr[i]) && text.ptr[i])
                continue;
            if (hex_value(text.ptr[i]) < 0 || count == sizeof(digits[k]))
                return false;
            digits[k][count++] = (char)hex_value(text.ptr[i]);
        }
        if (count < sizeof(digits[k]))
            return false;
    }
    return memcmp(digits[0], digits[1], sizeof(digits[0])) == 0;
}

bool policy_spelling_is_usual(enum policy_format format, struct slice text) {
    struct moment moment;
    switch (format) {
    case POLICY_FORMAT_NONE:
        return true;
    case POLICY_FORMAT_DATE_TIME:
        return moment_of(text, &moment);
    case POLICY_FORMAT_DATE:
        return has_shape(text, "0000-00-00");
    case POLICY_FORMAT_TIME:
        return has_shape(text, "00:00:00");
    case POLICY_FORMAT_UUID:
        return has_shape(text, "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa");
    case POLICY_FORMAT_EMAIL:
        return is_email(text);
    case POLICY_FORMAT_URI:
        return is_uri(text);
    case POLICY_FORMAT_HOSTNAME:
        return is_hostname(text);
    case POLICY_FORMAT_IPV4:
        return is_address(AF_INET, text);
    case POLICY_FORMAT_IPV6:
        return is_address(AF_INET6, text);
    }
    return false;
}

bool policy_spelling_alike(enum policy_format format, struct slice one, struct slice other) {
    struct moment x, y;
    if (format == POLICY_FORMAT_DATE_TIME && moment_of(one, &x) && moment_of(other, &y))
        return x.seconds == y.seconds && x.billionths == y.billionths;
    if (format == POLICY_FORMAT_URI) {
        one.len -= slice_ends(one, SLICE("/"));
        other.len -= slice_ends(other, SLICE("/"));
    }
    if (format == POLICY_FORMAT_UUID)
        return has_digits_of(one, other);
    return slice_eq_nocase(one, other);
}
