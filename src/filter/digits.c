/* Numbers: one reader for everything that starts with a digit, because only together the kinds can be told
 * apart. A run is digits in groups with one or two separators between them:
 *
 *   +41 (0)96 471 07 95     3714-496353-98431     251-89-4203     1982-05-17     22.10.1983
 */
#include "base/mem.h"
#include "filter/checks.h"
#include "filter/detect.h"

#define RUN_DIGITS_MAX 32
#define GROUP_COPY 16 /* bytes of a group that are copied at once */

struct run {
    uint32_t start; /* with the plus or parenthesis */
    uint32_t end;
    char digits[RUN_DIGITS_MAX + GROUP_COPY]; /* bytes after the last digit are not read */
    uint32_t count;
    uint32_t groups;
    uint32_t len[PII_GROUPS_MAX];  /* of each group */
    uint32_t stop[PII_GROUPS_MAX]; /* where it ends */
    char sep[PII_GROUPS_MAX];      /* in front of each group */
    bool plus;
    bool paren;
    bool mixed; /* separators of more than one sort */
};

/* Separator between two groups: its length, or 0. */
static uint32_t separator(const struct detect *d, uint32_t at, bool open, char *ret_sep) {
    const char c = detect_at(d, at), c1 = detect_at(d, at + 1), c2 = detect_at(d, at + 2);
    if (open && c == ')') {
        *ret_sep = ')';
        if (ch_digit(c1))
            return 1;
        return (c1 == ' ' || c1 == '-' || c1 == '.') && ch_digit(c2) ? 2 : 0;
    }
    if (c != ' ' && c != '-' && c != '.' && c != '/')
        return 0;
    *ret_sep = c;
    if (ch_digit(c1))
        return 1;
    return 0;
}

static void run_group(const struct detect *d, const struct word *w, struct run *r, uint32_t *at) {
    uint32_t i = *at, len = 0;
    const uint32_t before = i - w->at, seen = before < WORD_SURE ? word_run(w->digits >> before) : WORD_SURE;
    if (before + seen < WORD_SURE && seen <= GROUP_COPY && r->count + seen <= RUN_DIGITS_MAX &&
        d->n - i >= GROUP_COPY) {
        memcpy(r->digits + r->count, d->p + i, GROUP_COPY);
        len = seen;
    } else {
        while (i + len < d->n && ch_digit(d->p[i + len]) && r->count + len < RUN_DIGITS_MAX) {
            r->digits[r->count + len] = d->p[i + len];
            len++;
        }
    }
    i += len;
    r->count += len;
    r->len[r->groups] = len;
    r->stop[r->groups++] = i;
    *at = i;
}

static void run_read(const struct detect *d, const struct word *w, struct run *r) {
    const uint32_t at = w->at;
    *r = (struct run){.start = at};
    bool open = false;
    if (detect_before(d, at) == '(') {
        r->start = at - 1;
        r->paren = open = true;
    }
    if (detect_before(d, r->start) == '+' &&
        !(r->start > 1 &&
          (ch_alnum(d->p[r->start - 2]) || d->p[r->start - 2] == ')' || d->p[r->start - 2] == '~'))) {
        r->start--;
        r->plus = true;
    }
    uint32_t i = at;
    run_group(d, w, r, &i);
    while (r->groups < PII_GROUPS_MAX && r->count < 20) {
        char sep = 0;
        uint32_t skip = separator(d, i, open, &sep);
        /* +46 (0)8 928 571 38 and 1 (201) 555-0123 */
        if (!skip && !open && detect_at(d, i) == ' ' && detect_at(d, i + 1) == '(' &&
            ch_digit(detect_at(d, i + 2))) {
            skip = 2;
            sep = '(';
            open = r->paren = true;
        } else if (!skip && !open && detect_at(d, i) == '(' && ch_digit(detect_at(d, i + 1)) && r->plus) {
            skip = 1;
            sep = '(';
            open = r->paren = true;
        } else if (skip && sep == ')') {
            open = false;
        }
        if (!skip)
            break;
        if (r->groups > 1 && sep != r->sep[r->groups - 1] && r->sep[r->groups - 1] != ')' &&
            r->sep[r->groups - 1] != '(' && sep != ')' && sep != '(')
            r->mixed = true;
        r->sep[r->groups] = sep;
        i += skip;
        run_group(d, w, r, &i);
    }
    r->end = i;
    if (open && r->start + 1 == at) { /* (536-22-1234): the brackets are around the number, not of it */
        r->start = at;
        r->paren = false;
    }
}

static int digits_int(const char *p, size_t len) {
    int v = 0;
    for (size_t i = 0; i < len; i++)
        v = v * 10 + (p[i] - '0');
    return v;
}

/* 1982-05-17, 17.05.1982, 05/17/1982, 17-05-1982: three groups of a calendar day. */
static bool run_is_date(const struct run *r) {
    if (r->groups < 3 || r->plus || r->paren || r->sep[1] != r->sep[2] || r->sep[1] == ' ' ||
        (r->groups > 3 && r->sep[3] == r->sep[2]))
        return false;
    const char *g = r->digits;
    if (r->len[0] == 4 && r->len[1] <= 2 && r->len[2] <= 2)
        return pii_check_date(digits_int(g, 4), digits_int(g + 4, r->len[1]),
                              digits_int(g + 4 + r->len[1], r->len[2]));
    if (r->len[0] <= 2 && r->len[1] <= 2 && (r->len[2] == 4 || r->len[2] == 2)) {
        const int a = digits_int(g, r->len[0]), b = digits_int(g + r->len[0], r->len[1]);
        int year = digits_int(g + r->len[0] + r->len[1], r->len[2]);
        if (r->len[2] == 2)
            year += year > 30 ? 1900 : 2000;
        return pii_check_date(year, b, a) || pii_check_date(year, a, b);
    }
    return false;
}

static void date_read(struct detect *d, const struct run *r, struct hints h) {
    static const char epoch[] = "19700101"; /* a default, unless a label says what it is */
    if (r->len[2] >= 2 && (h.label & HINT_DOB || r->count < 8 || memcmp(r->digits, epoch, 8) != 0))
        pii_dates_add(d, r->start, r->stop[2], h, "numeric");
}

static bool word_after(const struct detect *d, uint32_t at) {
    const char c = detect_at(d, at);
    return ch_alnum(c) || c == '_';
}

/* Groups that make a card: 4-4-4-4, 4-6-5, 4-6-4, one block, or 4-4-4-4-3. */
static uint32_t card_groups(const struct run *r) {
    if (r->groups == 1 || (r->len[0] >= 12 && r->sep[1] != '.'))
        return 1;
    if (r->len[0] != 4 || r->sep[1] == '.' || r->sep[1] == '/')
        return 0;
    if (r->groups >= 3 && r->len[1] == 6 && (r->len[2] == 5 || r->len[2] == 4) && r->sep[1] == r->sep[2])
        return 3;
    uint32_t g = 1;
    while (g < r->groups && r->len[g] == 4 && r->sep[g] == r->sep[1])
        g++;
    if (g < 3)
        return 0;
    return g == 4 && r->groups > 4 && r->len[4] == 3 && r->sep[4] == r->sep[1] ? 5 : g;
}

static bool card_read(struct detect *d, const struct run *r, struct hints h, uint32_t *ret_end) {
    uint32_t groups = card_groups(r);
    if (groups == 5 && r->len[4] == 4 && (h.label | h.near) & HINT_CARD)
        groups = 4; /* the next card starts after it */
    if (!groups || !detect_wants(d, PII_CREDIT_CARD) || r->plus)
        return false;
    uint32_t len = 0;
    for (uint32_t g = 0; g < groups; g++)
        len += r->len[g];
    const uint32_t end = r->stop[groups - 1];
    if (word_after(d, end) || (detect_at(d, end) == '.' && ch_digit(detect_at(d, end + 1))))
        return false;
    const bool named = ((h.label | h.near) & HINT_CARD) != 0;
    const char *brand = "card";
    if (!pii_check_card(r->digits, len, named || groups > 1, &brand)) {
        if (!named || !(h.label & HINT_CARD) || len < 13 || len > 19 || !pii_check_luhn(r->digits, len))
            return false;
    }
    unsigned score = 70 + (named ? 25 : 0) + (groups > 1 ? 10 : 0);
    if (!named && groups == 1 && (h.label & (HINT_ID | HINT_PHONE | HINT_VERSION) || h.near & HINT_ID))
        score -= 30;
    if (!named && groups == 1 && h.label & HINT_NATIONAL)
        score -= 30;
    if (r->digits[0] == '0' || (len > 4 && memcmp(r->digits, "0000", 4) == 0))
        return false;
    pii_detect_add(d, r->start, end, PII_CREDIT_CARD, score > 99 ? 99 : score, brand);
    *ret_end = end;
    return true;
}

/* 4111.1111.1111.1111, 3714_496353_98431: groups of a card with separators that no card is printed with. The
 * issuer's prefix must fit in full, because versions and paths are grouped like this too. */
static bool card_disguised(struct detect *d, uint32_t at, uint32_t *ret_end) {
    static const uint32_t shapes[][4] = {{4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}};
    const char sep = detect_at(d, at + 4), before = detect_before(d, at);
    if (!detect_wants(d, PII_CREDIT_CARD) || ch_alnum(before) || before == '_' || before == sep)
        return false;
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        char digits[16];
        uint32_t i = at, count = 0;
        bool fits = true;
        for (uint32_t g = 0; fits && g < 4 && shapes[s][g]; g++) {
            if (g)
                fits = detect_at(d, i++) == sep;
            for (uint32_t k = 0; fits && k < shapes[s][g]; k++, i++) {
                fits = ch_digit(detect_at(d, i));
                digits[count++] = detect_at(d, i);
            }
        }
        const char *brand = "card";
        const char after = detect_at(d, i);
        if (!fits || ch_alnum(after) || after == '_' || (after == sep && ch_alnum(detect_at(d, i + 1))) ||
            !pii_check_card(digits, count, false, &brand))
            continue;
        pii_detect_add(d, at, i, PII_CREDIT_CARD, 80, brand);
        *ret_end = i;
        return true;
    }
    return false;
}

/* 219-09-9999, however it is separated. */
static bool ssn_shape(const struct run *r) {
    return r->groups == 3 && r->len[0] == 3 && r->len[1] == 2 && r->len[2] == 4 && r->sep[1] == r->sep[2];
}

static bool ssn_read(struct detect *d, const struct run *r, struct hints h, uint32_t *ret_end) {
    const bool grouped = ssn_shape(r);
    const bool named = ((h.label | h.near) & HINT_SSN) != 0;
    if (!detect_wants(d, PII_SSN) || r->plus || r->paren || (!grouped && !(r->groups == 1 && r->count == 9)))
        return false;
    if (!pii_check_ssn(r->digits) || word_after(d, r->end) || (!named && pii_check_ssn_sample(r->digits)))
        return false;
    unsigned score = 0;
    if (grouped && r->sep[1] == '-')
        score = 85;
    else if (grouped && named)
        score = 85;
    else if (grouped && !(h.label & HINT_PHONE))
        score = r->sep[1] == ' ' ? 45 : 40;
    else if (r->groups == 1 && h.label & HINT_SSN)
        score = 80;
    else if (r->groups == 1 && h.near & HINT_SSN)
        score = 70;
    if (!score || (r->digits[0] == '9' && !named))
        return false;
    if (!named && h.label & HINT_ID)
        score -= 20;
    pii_detect_add(d, r->start, r->end, PII_SSN, named ? score + 10 : score,
                   r->digits[0] == '9' ? "itin" : "us");
    *ret_end = r->end;
    return true;
}

/* x126, ext. 126, ext 126 after a number. */
static uint32_t extension(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (detect_at(d, i) == ' ' && i - at < 2)
        i++;
    if ((detect_at(d, i) | 32) == 'x')
        i++;
    else if (d->n - i > 3 && (d->p[i] | 32) == 'e' && (d->p[i + 1] | 32) == 'x' && (d->p[i + 2] | 32) == 't')
        i += 3;
    else
        return at;
    while (detect_at(d, i) == '.' || detect_at(d, i) == ' ')
        i++;
    const uint32_t digits = i;
    while (i < d->n && i - digits < 7 && ch_digit(d->p[i]))
        i++;
    return i > digits && i - digits < 7 && !word_after(d, i) ? i : at;
}

/* 070-667 12 08, 08/433 42 52: only the area code is set apart by another sign. */
static bool area_apart(const struct run *r) {
    if (r->sep[1] != '-' && r->sep[1] != '/')
        return false;
    for (uint32_t g = 2; g < r->groups; g++)
        if (r->sep[g] != ' ' || r->len[g] > 3)
            return false;
    return r->len[0] <= 5 && r->groups > 3;
}

/* <Buffer 08 07 06 05 04>: one of many bytes in hexadecimal digits. */
static bool in_dump(const struct detect *d, const struct run *r) {
    for (uint32_t g = 0; g < r->groups; g++)
        if (r->len[g] != 2 || (g && r->sep[g] != ' '))
            return false;
    const uint32_t at = r->start, end = r->stop[r->groups - 1];
    const bool before = at > 3 && d->p[at - 1] == ' ' && ch_hex(d->p[at - 2]) && ch_hex(d->p[at - 3]) &&
                        !ch_alnum(d->p[at - 4]);
    const bool after = d->n - end > 2 && d->p[end] == ' ' && ch_hex(d->p[end + 1]) && ch_hex(d->p[end + 2]) &&
                       !ch_alnum(detect_at(d, end + 3));
    return before || after || (detect_at(d, end) == '>' && r->digits[0] == '0');
}

/* A line of only digits and blanks, beside another one: rows of numbers. */
static bool in_rows(const struct detect *d, const struct run *r) {
    const uint32_t at = r->start, end = r->stop[r->groups - 1];
    for (uint32_t g = 1; g < r->groups; g++)
        if (r->sep[g] != ' ')
            return false;
    const bool alone = (at == 0 || d->p[at - 1] == '\n') && (end == d->n || d->p[end] == '\n');
    return alone && ((at > 1 && ch_digit(d->p[at - 2])) || ch_digit(detect_at(d, end + 1)));
}

/* The score of a national number by its shape alone; 0: none. */
static unsigned national_shape(const struct run *r) {
    const uint32_t g = r->groups;
    const char first = r->digits[0];
    /* (201) 555-0123, 201-555-0123, 201.555.0123, 1-201-555-0123, 001-201-555-0123 */
    const uint32_t k =
        (r->len[0] == 1 && first == '1') || (r->len[0] == 3 && memcmp(r->digits, "001", 3) == 0);
    if (g == 3 + k && r->len[k] == 3 && r->len[k + 1] == 3 && r->len[k + 2] == 4) {
        const char area = r->digits[k ? r->len[0] : 0];
        if (area >= '2' && !r->mixed)
            return r->paren               ? 85
                   : r->sep[k + 1] == '-' ? 80
                   : r->sep[k + 1] == '.' ? 65
                   : r->sep[k + 1] == ' ' ? 50
                                          : 0;
    }
    if (g == 5 && first == '8' && r->count == 11 && r->len[0] == 1 && r->len[1] == 3 && r->len[2] == 3 &&
        r->paren && r->sep[1] == '(')
        return 75; /* 8 (916) 973-13-64 */
    if (first == '0' && r->count >= 9 && r->count <= 11 && g >= 3 && g <= 5 && (!r->mixed || area_apart(r)) &&
        r->sep[g - 1] != '/') {
        for (uint32_t i = 0; i < g; i++)
            if (r->len[i] < 2 || r->len[i] > 5)
                return 0;
        if (r->paren)
            return 75;
        return r->len[0] >= 2 && r->digits[1] != '0' ? (r->sep[1] == '.' ? 58 : 60) : 0;
    }
    if (r->paren && g >= 2 && g <= 3 && r->sep[1] == ')' && r->len[0] <= 4 && r->count >= 8 && r->count <= 11)
        return first == '0' || (g == 3 && r->sep[2] == '-') ? 65 : 45;
    return 0;
}

/* Shapes that need a word nearby: 467 3395, 60-56-85-91, 416 60 039, 0393 1144137, 9498777106. */
static bool loose_shape(const struct run *r) {
    if (r->count < 7 || r->count > 13 || r->groups > 6)
        return false;
    if (r->groups >= 2 && r->len[0] == 4 && r->len[1] == 2 && (r->digits[0] == '1' || r->digits[0] == '2') &&
        r->sep[1] == '-')
        return false;
    for (uint32_t i = 0; i < r->groups; i++)
        if (r->len[i] == 1 && i > 0 && r->groups > 2)
            return false;
    return true;
}

static bool international(const struct run *r, uint32_t groups, uint32_t skip) {
    uint32_t count = 0;
    for (uint32_t g = 0; g < groups; g++)
        count += r->len[g];
    if (count < skip + 7 || count > skip + 15)
        return false;
    const char *d = r->digits + skip;
    const size_t code = pii_check_calling_code(d, count - skip);
    return code > 0 && count - skip - code >= 5 && !(d[0] == '1' && count - skip != 11);
}

static bool phone_read(struct detect *d, const struct run *r, struct hints h, uint32_t *ret_end) {
    if (!detect_wants(d, PII_PHONE))
        return false;
    const bool label = (h.label & HINT_PHONE) != 0;
    const uint32_t last = label || r->plus ? HINT_PHONE : pii_context_last(d, r->start);
    /* "reference 626 227 9120" is none, wherever a telephone is mentioned */
    const bool other = last & (HINT_ID | HINT_VERSION) && !(last & HINT_PHONE);
    const bool named = label || (h.near & HINT_PHONE && !other);
    const bool decimal = r->groups == 2 && r->sep[1] == '.';
    const uint32_t skip = r->digits[0] == '0' && r->digits[1] == '0' && !decimal ? 2 : 0;
    unsigned score = 0;
    uint32_t groups = r->groups;
    if (r->plus) {
        while (groups > 0 && !international(r, groups, 0))
            groups--;
        score = groups ? 90 : 0;
    } else if (skip && r->digits[2] != '0' && r->count >= 10) {
        while (groups > 0 && !international(r, groups, 2))
            groups--;
        score = !groups ? 0 : groups > 1 ? 75 : 40;
        if (!groups)
            groups = r->groups;
    }
    if (!score)
        score = national_shape(r);
    if (!named && !r->plus && score && (in_dump(d, r) || in_rows(d, r)))
        return false;
    if (!r->plus && named && loose_shape(r) && !ssn_shape(r) &&
        !(h.label & (HINT_ID | HINT_VERSION | HINT_CARD | HINT_SSN | HINT_DOB))) {
        const unsigned loose = label            ? (r->groups == 1 ? 75 : 85)
                               : r->groups == 1 ? (r->count >= 9 ? 52 : 30)
                                                : 60;
        score = score + 15 > loose ? score + 15 : loose;
    } else if (score && named) {
        score += 8;
    }
    if (!score || !groups)
        return false;
    if ((other && score < 70) ||
        (h.label & (HINT_ID | HINT_VERSION | HINT_CARD | HINT_IP | HINT_SSN | HINT_NATIONAL) && !label))
        score = score > 35 ? score - 35 : 0;
    uint32_t end = r->stop[groups - 1];
    const uint32_t ext = extension(d, end);
    if (ext == end && word_after(d, end))
        return false;
    if (!r->plus && !label && detect_at(d, end) == '-' && ch_alnum(detect_at(d, end + 1)) && !named)
        return false;
    uint32_t start = r->start;
    if (r->paren && d->p[start] == '(' && r->groups == 1)
        start++;
    pii_detect_add(d, start, ext, PII_PHONE, score > 99 ? 99 : score, r->plus ? "international" : "national");
    *ret_end = ext;
    return true;
}

/* Can a number start here? Not after letters, in fractions, in amounts or after hyphens. */
static bool number_starts(const struct detect *d, uint32_t start) {
    const char c = detect_before(d, start);
    if (c == '.' || c == ',')
        return start < 2 || !ch_digit(d->p[start - 2]) || c == ',';
    if (c == '-')
        return start < 2 || !(ch_alnum(d->p[start - 2]) || d->p[start - 2] == ')');
    if (c == '+' || c == '#' || c == '$' || c == '_' || c == '/')
        return c == '/' && start >= 2 && !ch_alnum(d->p[start - 2]);
    return true;
}

static uint32_t skip_number(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (i < d->n && (ch_alnum(d->p[i]) || (d->p[i] == '.' && ch_digit(detect_at(d, i + 1)))))
        i++;
    return i;
}

/* 555-123-4567 219-09-9998: groups with separators other than the blank before the next are separate numbers.
 */
static void run_part(struct run *r) {
    for (uint32_t g = 2; g < r->groups; g++) {
        if (r->sep[g] != ' ' || r->sep[g - 1] == ' ' || r->sep[g - 1] == ')' || r->sep[g - 1] == '(' ||
            r->plus)
            continue;
        uint32_t count = 0;
        for (uint32_t i = 0; i < g; i++)
            count += r->len[i];
        if (count < 9 || r->count - count < 7)
            continue;
        r->groups = g;
        r->count = count;
        r->end = r->stop[g - 1];
        r->mixed = false;
        for (uint32_t i = 2; i < g; i++)
            r->mixed |= r->sep[i] != r->sep[i - 1] && r->sep[i - 1] != ')' && r->sep[i - 1] != '(';
        return;
    }
}

static uint32_t run_kinds(struct detect *d, const struct word *w, bool glued) {
    struct run r;
    uint32_t end = 0;
    run_read(d, w, &r);
    if (r.mixed)
        run_part(&r);
    if (r.count < 7 || !(glued || number_starts(d, r.start)))
        return r.stop[0];
    if (r.groups >= 3 && run_is_date(&r)) {
        if (d->kinds & PII_BIT(PII_DATE_OF_BIRTH))
            date_read(d, &r, pii_context_of(d, r.start, r.stop[2]));
        return r.stop[2];
    }
    if (r.groups == 1 && r.count > 19)
        return r.end;
    /* an international number and a card in fours need no label */
    const bool plain = r.plus || (r.groups == 4 && r.count == 16 && card_groups(&r) == 4);
    const struct hints h = plain ? (struct hints){0} : pii_context_of(d, r.start, r.end);
    if (ssn_read(d, &r, h, &end) || card_read(d, &r, h, &end))
        return end;
    if (detect_wants(d, PII_NATIONAL_ID) && (h.label | h.near) & (HINT_NATIONAL | HINT_SOCIAL) &&
        !(h.label & HINT_PHONE) && !word_after(d, r.end) &&
        pii_national_digits(d, r.start, r.end, r.digits, r.count, h))
        return r.end;
    if (phone_read(d, &r, h, &end))
        return end;
    if (detect_wants(d, PII_NATIONAL_ID) && !word_after(d, r.end) && r.groups > 1 &&
        pii_national_digits(d, r.start, r.end, r.digits, r.count, h))
        return r.end;
    return r.stop[0];
}

/* 10.0.0.1 and not 10.25: another dot follows up to three digits. */
static bool second_dot(const struct detect *d, uint32_t at) {
    return detect_at(d, at) == '.' || detect_at(d, at + 1) == '.' || detect_at(d, at + 2) == '.';
}

uint32_t pii_digits_read(struct detect *d, const struct word *w) {
    const uint32_t at = w->at;
    uint32_t i = at + word_run(w->digits), end;
    while (i - at >= WORD_SURE && i < d->n && ch_digit(d->p[i]))
        i++;
    const uint32_t len = i - at;
    const char c = detect_at(d, i), c1 = detect_at(d, i + 1);
    if (len == 4 && (c == '.' || c == '_' || c == '/') && ch_digit(c1) && card_disguised(d, at, &end))
        return end;
    if (c == '.' && len <= 3 && ch_digit(c1)) {
        if (detect_wants(d, PII_IP) && second_dot(d, i + 2) && pii_network_ipv4(d, at, &end))
            return end;
        if (len == 1 && detect_before(d, at) != '(')
            return skip_number(d, at);
    } else if (len == 4 && (c == '\xe5' || c == '\xeb') && pii_dates_units(d, at, &end)) {
        return end;
    } else if (ch_alpha(c)) {
        if (w->len <= 4 && ch_hex(c) && (pii_network_mac(d, at, &end) || pii_network_ipv6(d, at, &end)))
            return end;
        if (len <= 10 && ((c | 32) == 'x') && ch_digit(c1) && len >= 7)
            return run_kinds(d, w, false);
        if (pii_national_fits(w->len) && ((len >= 2 && len <= 9) || (len == 17 && (c | 32) == 'x')) &&
            pii_national_word(d, at, &end))
            return end;
        return at;
    } else if ((c == ':' || c == '-') && len <= 4) {
        if (c == ':' && (pii_network_mac(d, at, &end) || pii_network_ipv6(d, at, &end)))
            return end;
        if (c == '-' && len == 2 && pii_network_mac(d, at, &end))
            return end;
        if (c == ':')
            return i;
    }
    if (len == 6 && (c == '-' || c == '+') && ch_alpha(detect_at(d, at + 10)) &&
        pii_national_word(d, at, &end))
        return end;
    if (len == 4 && detect_at(d, at + 4) == '-' && detect_at(d, at + 7) == '-' &&
        detect_at(d, at + 10) == 'T')
        return at + 10;
    if (len < 7) {
        const bool sep =
            c == ' ' || c == '-' || c == '.' || c == '/' || (c == ')' && detect_before(d, at) == '(');
        if (!sep && c != '(')
            return i;
        if ((!ch_digit(c1) && c != ')' && c1 != '(' && c1 != ' ') || word_digits_near(w) < 7)
            return i;
    } else if (c == '.' && ch_digit(c1)) {
        return skip_number(d, at);
    }
    end = run_kinds(d, w, false);
    return end > at ? end : i;
}

void pii_digits_glued(struct detect *d, uint32_t at) {
    struct word w = {.at = at};
    for (unsigned i = 0; i < WORD_SURE && at + i < d->n; i++)
        w.digits |= (uint64_t)ch_digit(d->p[at + i]) << i;
    run_kinds(d, &w, true);
}
