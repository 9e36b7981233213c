/* DATE_OF_BIRTH with the name of a month:
 *
 *   12 March 1980     12. März 1980     3 de mayo de 1980     March 3rd, 1990     Oct. 4 1971
 *
 * A number of one or two digits leads here; the month follows or precedes it. */
#include "filter/checks.h"
#include "filter/detect.h"

#include "base/mem.h"

#define MONTH_MIN 3
#define MONTH_MAX 13 /* bytes of the longest name */
#define GAP_MAX 5    /* bytes between day, month and year */
#define ABBREVIATION_GAP 5

struct month {
    const char *name;
    int number;
};

/* English, German, French, Spanish, Portuguese, Italian, Dutch, Swedish, Danish, Norwegian, Polish; lower
 * case. */
static const struct month months[] = {
    {"january", 1},
    {"jan", 1},
    {"januar", 1},
    {"janvier", 1},
    {"enero", 1},
    {"janeiro", 1},
    {"gennaio", 1},
    {"januari", 1},
    {"february", 2},
    {"feb", 2},
    {"februar", 2},
    {"f\xc3\xa9vrier", 2},
    {"febrero", 2},
    {"fevereiro", 2},
    {"febbraio", 2},
    {"februari", 2},
    {"march", 3},
    {"mar", 3},
    {"m\xc3\xa4rz", 3},
    {"mars", 3},
    {"marzo", 3},
    {"mar\xc3\xa7o", 3},
    {"maart", 3},
    {"april", 4},
    {"apr", 4},
    {"avril", 4},
    {"abril", 4},
    {"aprile", 4},
    {"may", 5},
    {"mai", 5},
    {"mayo", 5},
    {"maio", 5},
    {"maggio", 5},
    {"mei", 5},
    {"june", 6},
    {"jun", 6},
    {"juni", 6},
    {"juin", 6},
    {"junio", 6},
    {"junho", 6},
    {"giugno", 6},
    {"july", 7},
    {"jul", 7},
    {"juli", 7},
    {"juillet", 7},
    {"julio", 7},
    {"julho", 7},
    {"luglio", 7},
    {"august", 8},
    {"aug", 8},
    {"ao\xc3\xbbt", 8},
    {"agosto", 8},
    {"augustus", 8},
    {"september", 9},
    {"sep", 9},
    {"sept", 9},
    {"septembre", 9},
    {"septiembre", 9},
    {"setembro", 9},
    {"settembre", 9},
    {"october", 10},
    {"oct", 10},
    {"oktober", 10},
    {"okt", 10},
    {"octobre", 10},
    {"octubre", 10},
    {"outubro", 10},
    {"ottobre", 10},
    {"november", 11},
    {"nov", 11},
    {"novembre", 11},
    {"noviembre", 11},
    {"novembro", 11},
    {"december", 12},
    {"dec", 12},
    {"dezember", 12},
    {"dez", 12},
    {"d\xc3\xa9"
     "cembre",
     12},
    {"diciembre", 12},
    {"dezembro", 12},
    {"dicembre", 12},
    {"desember", 12},
    {"maj", 5},
    {"augusti", 8},
    {"stycznia", 1},
    {"lutego", 2},
    {"marca", 3},
    {"kwietnia", 4},
    {"maja", 5},
    {"czerwca", 6},
    {"lipca", 7},
    {"sierpnia", 8},
    {"wrze\xc5\x9bnia", 9},
    {"pa\xc5\xba"
     "dziernika",
     10},
    {"listopada", 11},
    {"grudnia", 12},
};

static bool is_letter(char c) { return ch_alpha(c) || (uint8_t)c >= 0x80; }

static int month_number(struct slice word) {
    if (word.len < MONTH_MIN || !memchr("jfmasondegklcwp", ch_lower(word.ptr[0]), 15))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(months); i++)
        if (months[i].name[0] == ch_lower(word.ptr[0]) && slice_eq_nocase(word, slice_str(months[i].name)))
            return months[i].number;
    return 0;
}

/* Over dots, commas, blanks, "de" and "of": at most GAP_MAX bytes. */
static uint32_t past_gap(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (i - at < GAP_MAX && (detect_at(d, i) == ' ' || detect_at(d, i) == '.' || detect_at(d, i) == ',' ||
                                detect_at(d, i) == '-'))
        i++;
    const struct slice rest = slice_of(d->p + i, d->n - i);
    const struct slice word = slice_upto(rest, 3);
    return slice_eq_nocase(word, SLICE("de ")) || slice_eq_nocase(word, SLICE("of ")) ? i + 3 : i;
}

static int number_at(const struct detect *d, uint32_t at, uint32_t len) {
    int v = 0;
    for (uint32_t i = 0; i < len; i++) {
        if (!ch_digit(detect_at(d, at + i)))
            return -1;
        v = v * 10 + (d->p[at + i] - '0');
    }
    return ch_alnum(detect_at(d, at + len)) ? -1 : v;
}

/* D.O.B. before a date: no word has letters that stand alone. */
static bool abbreviated(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (i > 0 && at - i < ABBREVIATION_GAP && !ch_alnum(d->p[i - 1]) && d->p[i - 1] != '\n')
        i--;
    return i >= 5 && slice_eq_nocase(slice_of(d->p + i - 5, 5), SLICE("d.o.b")) &&
           !ch_alnum(detect_before(d, i - 5));
}

void pii_dates_add(struct detect *d, uint32_t start, uint32_t end, struct hints h, const char *sub) {
    const unsigned score = h.label & HINT_DOB ? 95 : h.near & HINT_DOB ? 80 : abbreviated(d, start) ? 90 : 0;
    if (score)
        pii_detect_add(d, start, end, PII_DATE_OF_BIRTH, score, sub);
}

static bool date_add(struct detect *d, uint32_t start, uint32_t end) {
    const uint32_t before = d->out->count;
    pii_dates_add(d, start, end, pii_context_of(d, start, end), "words");
    return d->out->count > before;
}

/* The number at `*at` and the word behind it, of one to three bytes more than `most` digits. */
static int number_unit(const struct detect *d, uint32_t *at, uint32_t most, const char *const units[2]) {
    int v = 0;
    uint32_t i = *at;
    while (detect_at(d, i) == ' ' && i - *at < 1)
        i++;
    const uint32_t first = i;
    while (i - first < most && ch_digit(detect_at(d, i)))
        v = v * 10 + (d->p[i++] - '0');
    for (size_t u = 0; i > first && u < 2; u++)
        if (slice_starts(slice_of(d->p + i, d->n - i), slice_str(units[u]))) {
            *at = i + (uint32_t)strlen(units[u]);
            return v;
        }
    return -1;
}

bool pii_dates_units(struct detect *d, uint32_t at, uint32_t *ret_end) {
    static const char *const years[] = {"\xe5\xb9\xb4", "\xeb\x85\x84"},
                             *const months_[] = {"\xe6\x9c\x88", "\xec\x9b\x94"},
                             *const days[] = {"\xe6\x97\xa5", "\xec\x9d\xbc"};
    uint32_t i = at;
    const int year = number_unit(d, &i, 4, years);
    const int month = year > 0 ? number_unit(d, &i, 2, months_) : -1;
    const int day = month > 0 ? number_unit(d, &i, 2, days) : -1;
    if (day < 0 || !pii_check_date(year, month, day))
        return false;
    *ret_end = i;
    if (detect_wants(d, PII_DATE_OF_BIRTH))
        pii_dates_add(d, at, i, pii_context_of(d, at, i), "words");
    return true;
}

bool pii_dates_words(struct detect *d, uint32_t at, uint32_t *ret_end) {
    if (!detect_wants(d, PII_DATE_OF_BIRTH))
        return false;
    uint32_t i = at;
    int day = 0;
    while (i < d->n && i - at < 2 && ch_digit(d->p[i]))
        day = day * 10 + (d->p[i++] - '0');
    const struct slice suffix = slice_of(d->p + i, d->n - i < 2 ? d->n - i : 2);
    if (slice_eq_nocase(suffix, SLICE("st")) || slice_eq_nocase(suffix, SLICE("nd")) ||
        slice_eq_nocase(suffix, SLICE("rd")) || slice_eq_nocase(suffix, SLICE("th")))
        i += 2;
    const uint32_t next = past_gap(d, i);
    if (next == i)
        return false;
    if (ch_digit(detect_at(d, next))) { /* March 3rd, 1990 */
        uint32_t from = at;
        while (from > 0 && at - from < 3 && (d->p[from - 1] == ' ' || d->p[from - 1] == '.'))
            from--;
        const uint32_t stop = from;
        while (from > 0 && stop - from < MONTH_MAX && is_letter(d->p[from - 1]))
            from--;
        const int month = month_number(slice_of(d->p + from, stop - from));
        *ret_end = next + 4;
        return month && pii_check_date(number_at(d, next, 4), month, day) && date_add(d, from, next + 4);
    }
    uint32_t stop = next;
    while (stop < d->n && stop - next < MONTH_MAX && is_letter(d->p[stop]))
        stop++;
    const int month = month_number(slice_of(d->p + next, stop - next));
    const uint32_t year = past_gap(d, stop);
    *ret_end = year + 4;
    return month && year > stop && pii_check_date(number_at(d, year, 4), month, day) &&
           date_add(d, at, year + 4);
}
