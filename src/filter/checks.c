#include "filter/checks.h"

#include "base/mem.h"
#include "filter/chars.h"

bool pii_check_luhn(const char *digits, size_t len) {
    unsigned sum = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned d = (unsigned)(digits[len - 1 - i] - '0');
        if (i & 1) {
            d *= 2;
            if (d > 9)
                d -= 9;
        }
        sum += d;
    }
    return sum % 10 == 0;
}

struct iin {
    uint32_t low, high; /* of the first `digits` digits */
    uint8_t digits;
    uint8_t len_min, len_max;
    bool loose; /* only with context */
    const char *brand;
};

static const struct iin iins[] = {
    {4, 4, 1, 16, 16, false, "visa"},
    {4, 4, 1, 13, 13, true, "visa"},
    {4, 4, 1, 19, 19, true, "visa"},
    {51, 55, 2, 16, 16, false, "mastercard"},
    {2221, 2720, 4, 16, 16, false, "mastercard"},
    {34, 34, 2, 15, 15, false, "amex"},
    {37, 37, 2, 15, 15, false, "amex"},
    {6011, 6011, 4, 16, 16, false, "discover"},
    {644, 649, 3, 16, 16, false, "discover"},
    {65, 65, 2, 16, 16, false, "discover"},
    {3528, 3589, 4, 16, 16, false, "jcb"},
    {35, 35, 2, 16, 16, true, "jcb"},
    {2131, 2131, 4, 15, 15, false, "jcb"},
    {1800, 1800, 4, 15, 15, false, "jcb"},
    {36, 36, 2, 14, 14, false, "diners"},
    {38, 39, 2, 14, 14, false, "diners"},
    {300, 305, 3, 14, 14, false, "diners"},
    {62, 62, 2, 16, 19, true, "unionpay"},
    {50, 50, 2, 12, 19, true, "maestro"},
    {56, 58, 2, 12, 19, true, "maestro"},
    {60, 60, 2, 16, 19, true, "rupay"},
    {63, 63, 2, 12, 19, true, "maestro"},
    {67, 67, 2, 12, 19, true, "maestro"},
    {81, 82, 2, 16, 16, true, "rupay"},
    {2200, 2204, 4, 16, 19, true, "mir"},
};

bool pii_check_card(const char *digits, size_t len, bool loose, const char **ret_brand) {
    if (len < 12 || len > 19 || !pii_check_luhn(digits, len)) /* excludes most numbers */
        return false;
    for (size_t i = 0; i < ARRAY_LEN(iins); i++) {
        const struct iin *r = &iins[i];
        if (len < r->len_min || len > r->len_max || (r->loose && !loose))
            continue;
        uint32_t head = 0;
        for (size_t k = 0; k < r->digits; k++)
            head = head * 10 + (uint32_t)(digits[k] - '0');
        if (head < r->low || head > r->high)
            continue;
        *ret_brand = r->brand;
        return true;
    }
    return false;
}

#define PAIR_INDEX(a, b) (((a) - 'A') * 26 + (b) - 'A')
#define PAIR(a, b, len) [PAIR_INDEX(a, b)] = (len)

size_t pii_check_iban_length(char a, char b) {
    static const uint8_t lengths[26 * 26] = {
        PAIR('A', 'D', 24), PAIR('A', 'E', 23), PAIR('A', 'L', 28), PAIR('A', 'O', 25), PAIR('A', 'T', 20),
        PAIR('A', 'Z', 28), PAIR('B', 'A', 20), PAIR('B', 'E', 16), PAIR('B', 'F', 28), PAIR('B', 'G', 22),
        PAIR('B', 'H', 22), PAIR('B', 'I', 27), PAIR('B', 'J', 28), PAIR('B', 'R', 29), PAIR('B', 'Y', 28),
        PAIR('C', 'F', 27), PAIR('C', 'G', 27), PAIR('C', 'H', 21), PAIR('C', 'I', 28), PAIR('C', 'M', 27),
        PAIR('C', 'R', 22), PAIR('C', 'V', 25), PAIR('C', 'Y', 28), PAIR('C', 'Z', 24), PAIR('D', 'E', 22),
        PAIR('D', 'J', 27), PAIR('D', 'K', 18), PAIR('D', 'O', 28), PAIR('D', 'Z', 26), PAIR('E', 'E', 20),
        PAIR('E', 'G', 29), PAIR('E', 'S', 24), PAIR('F', 'I', 18), PAIR('F', 'K', 18), PAIR('F', 'O', 18),
        PAIR('F', 'R', 27), PAIR('G', 'A', 27), PAIR('G', 'B', 22), PAIR('G', 'E', 22), PAIR('G', 'I', 23),
        PAIR('G', 'L', 18), PAIR('G', 'Q', 27), PAIR('G', 'R', 27), PAIR('G', 'T', 28), PAIR('G', 'W', 25),
        PAIR('H', 'N', 28), PAIR('H', 'R', 21), PAIR('H', 'U', 28), PAIR('I', 'E', 22), PAIR('I', 'L', 23),
        PAIR('I', 'Q', 23), PAIR('I', 'R', 26), PAIR('I', 'S', 26), PAIR('I', 'T', 27), PAIR('J', 'O', 30),
        PAIR('K', 'M', 27), PAIR('K', 'W', 30), PAIR('K', 'Z', 20), PAIR('L', 'B', 28), PAIR('L', 'C', 32),
        PAIR('L', 'I', 21), PAIR('L', 'T', 20), PAIR('L', 'U', 20), PAIR('L', 'V', 21), PAIR('L', 'Y', 25),
        PAIR('M', 'A', 28), PAIR('M', 'C', 27), PAIR('M', 'D', 24), PAIR('M', 'E', 22), PAIR('M', 'G', 27),
        PAIR('M', 'K', 19), PAIR('M', 'L', 28), PAIR('M', 'N', 20), PAIR('M', 'R', 27), PAIR('M', 'T', 31),
        PAIR('M', 'U', 30), PAIR('M', 'Z', 25), PAIR('N', 'E', 28), PAIR('N', 'I', 28), PAIR('N', 'L', 18),
        PAIR('N', 'O', 15), PAIR('O', 'M', 23), PAIR('P', 'K', 24), PAIR('P', 'L', 28), PAIR('P', 'S', 29),
        PAIR('P', 'T', 25), PAIR('Q', 'A', 29), PAIR('R', 'O', 24), PAIR('R', 'S', 22), PAIR('R', 'U', 33),
        PAIR('S', 'A', 24), PAIR('S', 'C', 31), PAIR('S', 'D', 18), PAIR('S', 'E', 24), PAIR('S', 'I', 19),
        PAIR('S', 'K', 24), PAIR('S', 'M', 27), PAIR('S', 'N', 28), PAIR('S', 'O', 23), PAIR('S', 'T', 25),
        PAIR('S', 'V', 28), PAIR('T', 'D', 27), PAIR('T', 'G', 28), PAIR('T', 'L', 23), PAIR('T', 'N', 24),
        PAIR('T', 'R', 26), PAIR('U', 'A', 29), PAIR('V', 'A', 22), PAIR('V', 'G', 24), PAIR('X', 'K', 20),
        PAIR('Y', 'E', 30),
    };
    return ch_alpha(a) && ch_alpha(b) ? lengths[PAIR_INDEX(ch_upper(a), ch_upper(b))] : 0;
}

bool pii_check_iban(const char *text, size_t len) {
    if (len < 15 || len != pii_check_iban_length(text[0], text[1]) || !ch_digit(text[2]) ||
        !ch_digit(text[3]))
        return false;
    unsigned rest = 0;
    for (size_t k = 0; k < len; k++) {
        const char c = ch_upper(text[(k + 4) % len]);
        if (ch_digit(c))
            rest = (rest * 10 + (unsigned)(c - '0')) % 97;
        else if (ch_alpha(c))
            rest = (rest * 100 + (unsigned)(c - 'A' + 10)) % 97;
        else
            return false;
    }
    return rest == 1;
}

bool pii_check_ssn(const char *d) {
    const int area = (d[0] - '0') * 100 + (d[1] - '0') * 10 + (d[2] - '0');
    const int group = (d[3] - '0') * 10 + (d[4] - '0');
    const bool serial = d[5] != '0' || d[6] != '0' || d[7] != '0' || d[8] != '0';
    if (area >= 900) /* an ITIN has a group in these ranges */
        return serial && ((group >= 50 && group <= 65) || (group >= 70 && group <= 88) ||
                          (group >= 90 && group <= 92) || (group >= 94 && group <= 99));
    return area != 0 && area != 666 && group != 0 && serial;
}

bool pii_check_ssn_sample(const char *d) {
    return memcmp(d, "123456789", 9) == 0 || memcmp(d, "078051120", 9) == 0;
}

bool pii_check_date(int year, int month, int day) {
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return year >= 1900 && year <= 2035 && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

size_t pii_check_calling_code(const char *d, size_t len) {
    static const char two[] =
        "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 "
        "61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98 ";
    static const char three[] = "21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99 ";
    if (len < 4)
        return 0;
    if (d[0] == '1' || d[0] == '7')
        return 1;
    for (size_t i = 0; i + 2 < sizeof(two); i += 3)
        if (two[i] == d[0] && two[i + 1] == d[1])
            return 2;
    for (size_t i = 0; i + 2 < sizeof(three); i += 3)
        if (three[i] == d[0] && three[i + 1] == d[1])
            return 3;
    return 0;
}

/* log2 in 1/256ths: the bit length, then one bit of fraction per squaring. */
static uint32_t log2_256(uint32_t v) {
    static const uint16_t small[64] = {
        0,    0,    256,  405,  512,  594,  661,  718,  768,  811,  850,  885,  917,  947,  974,  1000,
        1024, 1046, 1067, 1087, 1106, 1124, 1141, 1158, 1173, 1188, 1203, 1217, 1230, 1243, 1256, 1268,
        1280, 1291, 1302, 1313, 1323, 1333, 1343, 1353, 1362, 1371, 1380, 1389, 1397, 1405, 1414, 1421,
        1429, 1437, 1444, 1452, 1459, 1466, 1473, 1480, 1486, 1493, 1499, 1505, 1512, 1518, 1524, 1530};
    if (v < ARRAY_LEN(small)) /* frequencies of characters, and lengths of most keys */
        return small[v];
    const uint32_t whole = 31u - (uint32_t)__builtin_clz(v);
    uint64_t x = ((uint64_t)v << 32) >> whole; /* 1.0 <= x < 2.0 with 32 bits behind the point */
    uint32_t out = whole;
    for (int i = 0; i < 8; i++) {
        x = (x >> 16) * (x >> 16);
        out <<= 1;
        if (x >> 33) {
            out |= 1;
            x >>= 1;
        }
    }
    return out;
}

/* n log n in 1/256ths. */
static uint64_t weight(uint32_t n) { return (uint64_t)n * log2_256(n); }

/* The increase of the sum of weight(n) if a character that occurred n times occurs once more. */
static uint64_t weight_step(uint32_t n) {
    static const uint16_t small[] = {
        0,    512,  703,  833,  922,  996,  1060, 1118, 1155, 1201, 1235, 1269, 1307, 1325, 1364, 1384,
        1398, 1424, 1447, 1467, 1484, 1498, 1532, 1518, 1548, 1578, 1581, 1581, 1607, 1633, 1628, 1652,
        1643, 1665, 1687, 1673, 1693, 1713, 1733, 1713, 1731, 1749, 1767, 1741, 1757, 1819, 1743, 1805,
        1821, 1787, 1852, 1816, 1830, 1844, 1858, 1816, 1885, 1841, 1853, 1925, 1878, 1890, 1902};
    return n < ARRAY_LEN(small) ? small[n] : weight(n + 1) - weight(n);
}

unsigned pii_check_entropy(const char *text, size_t len) {
    uint16_t count[256] = {0};
    uint64_t sum = 0;
    if (len == 0)
        return 0;
    if (len > 1024)
        len = 1024;
    for (size_t i = 0; i < len; i++)
        sum += weight_step(count[(uint8_t)text[i]]++);
    return (unsigned)((weight((uint32_t)len) - sum) * 100 / (256 * (uint64_t)len));
}
