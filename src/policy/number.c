#include "policy/number.h"

#define EXPONENT_MAX 1000000000000 /* larger exponents compare the same */

struct decimal {
    bool negative;
    bool is_zero;
    int64_t lead;    /* power of ten of the first digit that is not zero */
    const char *at;  /* that digit; a point may stand among those that follow */
    const char *end; /* behind the last digit */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* [+-]digits behind an e, clamped. */
static bool read_exponent(struct slice text, int64_t *ret) {
    bool minus = text.len && text.ptr[0] == '-';
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        text = slice_from(text, 1);
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
        value = value < EXPONENT_MAX ? value * 10 + (text.ptr[i] - '0') : value;
    }
    *ret = minus ? -value : value;
    return text.len > 0;
}

static bool decimal_read(struct slice text, struct decimal *d) {
    *d = (struct decimal){.negative = text.len && text.ptr[0] == '-', .is_zero = true};
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        text = slice_from(text, 1);
    int64_t digits = 0, whole = 0, first = 0, exponent = 0;
    bool point = false;
    size_t at = 0;
    for (; at < text.len && (is_digit(text.ptr[at]) || (text.ptr[at] == '.' && !point)); at++) {
        if (text.ptr[at] == '.') {
            point = true;
            continue;
        }
        if (d->is_zero && text.ptr[at] != '0') {
            d->is_zero = false;
            d->at = text.ptr + at;
            first = digits;
        }
        digits++;
        whole += !point;
    }
    d->end = text.ptr + at;
    if (at < text.len &&
        ((text.ptr[at] | 0x20) != 'e' || !read_exponent(slice_from(text, at + 1), &exponent)))
        return false;
    d->lead = whole - 1 - first + exponent;
    return digits > 0;
}

/* The digit at *at, then advances; 0 after the end. */
static char next_digit(const char **at, const char *end) {
    if (*at < end && **at == '.')
        (*at)++;
    return (char)(*at < end ? *(*at)++ : '0');
}

bool policy_number_is(struct slice text) {
    struct decimal d;
    return decimal_read(text, &d);
}

int policy_number_cmp(struct slice x, struct slice y) {
    struct decimal a, b;
    decimal_read(x, &a);
    decimal_read(y, &b);
    int sign_a = a.is_zero ? 0 : a.negative ? -1 : 1, sign_b = b.is_zero ? 0 : b.negative ? -1 : 1;
    if (sign_a != sign_b || sign_a == 0)
        return sign_a - sign_b;
    if (a.lead != b.lead)
        return a.lead > b.lead ? sign_a : -sign_a;
    while (a.at < a.end || b.at < b.end) {
        char one = next_digit(&a.at, a.end), other = next_digit(&b.at, b.end);
        if (one != other)
            return one > other ? sign_a : -sign_a;
    }
    return 0;
}

bool policy_number_is_integer(struct slice text) {
    struct decimal d;
    if (!decimal_read(text, &d))
        return false;
    int64_t power = d.lead; /* of the last digit that is not zero */
    for (const char *at = d.at; !d.is_zero && at < d.end; d.lead--)
        if (next_digit(&at, d.end) != '0')
            power = d.lead;
    return d.is_zero || power >= 0;
}

#define FACTOR_DIGITS_MAX 18 /* of a factor, without trailing zeros: then it fits 64 bits */

/* The significant digits as a number modulo `modulus` (0: unreduced), and the power of ten of the last. */
static unsigned __int128 digits_of(const struct decimal *d, uint64_t modulus, int64_t *ret_power,
                                   size_t *ret_count) {
    unsigned __int128 value = 0, ahead = 0; /* including zeros that may be trailing ones */
    int64_t power = d->lead;
    size_t count = 0, seen = 0;
    for (const char *at = d->at; at < d->end; power--) {
        char digit = next_digit(&at, d->end);
        ahead = ahead * 10 + (unsigned)(digit - '0');
        ahead = modulus ? ahead % modulus : ahead;
        seen++;
        if (digit == '0')
            continue;
        value = ahead;
        count = seen;
        *ret_power = power;
        if (!modulus && count > FACTOR_DIGITS_MAX)
            break;
    }
    *ret_count = count;
    return value;
}

enum policy_multiple policy_number_multiple(struct slice x, struct slice factor) {
    struct decimal a, b;
    int64_t power_a = 0, power_b = 0;
    size_t count;
    if (!decimal_read(x, &a) || !decimal_read(factor, &b) || b.is_zero)
        return POLICY_MULTIPLE_UNKNOWN;
    if (a.is_zero)
        return POLICY_MULTIPLE_YES;
    uint64_t modulus = (uint64_t)digits_of(&b, 0, &power_b, &count);
    if (count > FACTOR_DIGITS_MAX)
        return POLICY_MULTIPLE_UNKNOWN;
    unsigned __int128 rest = digits_of(&a, modulus, &power_a, &count), ten = 10 % modulus;
    if (power_a < power_b) /* ten would have to divide a number without trailing zero */
        return POLICY_MULTIPLE_NO;
    for (uint64_t power = (uint64_t)(power_a - power_b); power; power >>= 1) {
        if (power & 1)
            rest = rest * ten % modulus;
        ten = ten * ten % modulus;
    }
    return rest == 0 ? POLICY_MULTIPLE_YES : POLICY_MULTIPLE_NO;
}

bool policy_number_is_short(struct slice text) {
    if (text.len > POLICY_NUMBER_SHORT)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if ((text.ptr[i] | 0x20) == 'e')
            return false;
    return true;
}
