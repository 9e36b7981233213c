/* STREET_ADDRESS by its own form, off by default:
 *
 *   12 Maple Street, Apt 4     Hauptstraße 12a     12 bis rue de la Paix     Calle Mayor 7     P.O. Box 123
 *
 * A number starts most of them, or ends them; so every number is looked at, with the words beside it. */
#include "filter/people.h"

#include "base/mem.h"
#include "filter/letter.h"

#define NUMBER_MAX 5
#define STREET_WORDS_MAX 5
#define UNIT_MAX 6

/* Behind the name: 12 Maple Street. */
static const char *const after[] = {
    "street", "st",      "avenue",   "ave",     "road",     "rd",    "boulevard", "blvd",
    "lane",   "ln",      "drive",    "dr",      "court",    "ct",    "way",       "place",
    "pl",     "square",  "sq",       "terrace", "crescent", "close", "gardens",   "highway",
    "hwy",    "parkway", "pkwy",     "circle",  "cir",      "trail", "alley",     "mews",
    "grove",  "quay",    "turnpike", "row",     "walk",     NULL};
/* At the end of one word before the number: Hauptstraße 12. */
static const char *const tails[] = {"straße", "strasse", "str",    "gasse", "allee", "weg",  "platz", "damm",
                                    "ufer",   "gracht",  "straat", "laan",  "plein", "kade", "gatan", "vägen",
                                    "gata",   "veien",   "vej",    "gade",  "katu",  NULL};
/* Before the name: 12 rue de la Paix, Calle Mayor 7. */
static const char *const before[] = {"rue",      "avenue", "boulevard", "place",   "quai",   "chemin",
                                     "impasse",  "calle",  "c/",        "avenida", "avda",   "paseo",
                                     "plaza",    "via",    "viale",     "corso",   "piazza", "rua",
                                     "travessa", "ul",     "ulica",     "laan",    NULL};
static const char *const units[] = {"apt",  "apartment", "suite", "ste", "unit",
                                    "flat", "floor",     "room",  NULL};

static bool is_link(struct slice w) {
    static const char *const words[] = {"de", "du", "des", "la", "le",    "les", "del", "las", "los",
                                        "da", "do", "dos", "di", "della", "van", "den", "der", NULL};
    return slice_is_any(w, words);
}

static uint32_t letters_end(const struct detect *d, uint32_t i) {
    uint32_t step;
    while (i < d->n && ((step = letter_at(d, i)) ||
                        ((d->p[i] == '-' || d->p[i] == '\'') && (step = 1) && letter_at(d, i + 1))))
        i += step;
    return i;
}

/* The start of the word that ends at `end`. */
static uint32_t letters_start(const struct detect *d, uint32_t end) {
    uint32_t i = end;
    while (i > 0 &&
           (ch_alpha(d->p[i - 1]) || (uint8_t)d->p[i - 1] >= 0x80 ||
            ((d->p[i - 1] == '-' || d->p[i - 1] == '\'') && i < end && i > 1 && ch_alpha(d->p[i - 2]))))
        i--;
    return i;
}

/* Over ", Apt 4" and its like. */
static uint32_t past_unit(const struct detect *d, uint32_t end) {
    uint32_t i = end;
    while (i - end < 2 && (detect_at(d, i) == ',' || detect_at(d, i) == ' '))
        i++;
    const uint32_t stop = letters_end(d, i);
    if (detect_at(d, i) != '#' && !slice_is_any_nocase(slice_of(d->p + i, stop - i), units))
        return end;
    i = stop > i ? stop : i + 1;
    while (i - stop < 3 && (detect_at(d, i) == '.' || detect_at(d, i) == ' ' || detect_at(d, i) == '#'))
        i++;
    uint32_t last = i;
    while (last < d->n && last - i < UNIT_MAX && (ch_alnum(d->p[last]) || d->p[last] == '-'))
        last++;
    return last > i && !ch_alnum(detect_at(d, last)) ? last : end;
}

/* 12 Maple Street: words with capitals behind the number, the last of them one for a street. */
static uint32_t street_behind(const struct detect *d, uint32_t at) {
    uint32_t i = at, end = 0;
    for (unsigned words = 0; words < STREET_WORDS_MAX && letter_capital(d, i); words++) {
        const uint32_t stop = letters_end(d, i);
        const struct slice w = slice_of(d->p + i, stop - i);
        if (words == 0 && slice_is(w, "The"))
            break;
        i = stop;
        if (words > 0 && slice_is_any_nocase(w, after))
            end = i + (detect_at(d, i) == '.' && w.len <= 4 && detect_at(d, i + 1) != '\n' && i + 1 < d->n &&
                               d->p[i + 1] == ' '
                           ? 1
                           : 0);
        if (detect_at(d, i) == '.' && w.len <= 2)
            i++;
        if (detect_at(d, i) != ' ')
            break;
        i++;
    }
    return end ? past_unit(d, end) : 0;
}

/* rue de la Paix: a word for a street, then a name. `at` is the first; the end, or 0. */
static uint32_t street_named(const struct detect *d, uint32_t at) {
    uint32_t i = at, end = 0;
    const uint32_t stop = detect_at(d, at + 1) == '/' ? at + 2 : letters_end(d, at);
    if (!slice_is_any_nocase(slice_of(d->p + at, stop - at), before))
        return 0;
    i = stop + (detect_at(d, stop) == '.');
    for (unsigned words = 0; words < STREET_WORDS_MAX && detect_at(d, i) == ' '; words++) {
        const uint32_t word = letters_end(d, i + 1);
        const struct slice w = slice_of(d->p + i + 1, word - i - 1);
        const bool elided = w.len > 2 && w.ptr[1] == '\'' && (w.ptr[0] == 'd' || w.ptr[0] == 'l');
        if (!w.len || (!letter_capital(d, i + 1) && !elided && !is_link(w)))
            break;
        i = word;
        if (!is_link(w))
            end = i;
    }
    return end;
}

/* Hauptstraße 12, Berliner Straße 12, Am Kirchplatz 3, Calle Mayor 7: the start of what ends before the
 * number. */
static uint32_t street_before(const struct detect *d, uint32_t number) {
    uint32_t i = number;
    if (i > 1 && d->p[i - 1] == ' ')
        i--;
    if (i > 0 && (d->p[i - 1] == ',' || d->p[i - 1] == '.'))
        i--;
    const uint32_t last = i;
    uint32_t start = letters_start(d, last);
    const struct slice w = slice_of(d->p + start, last - start);
    for (const char *const *t = tails; start < last && *t; t++) {
        const size_t len = strlen(*t);
        if (w.len < len || !slice_eq_nocase(slice_from(w, w.len - len), slice_of(*t, len)) ||
            d->p[last] == ',')
            continue;
        if (w.len > len + 2 && letter_capital(d, start))
            return start;
        if (w.len == len && letter_capital(d, start) && start > 3 && d->p[start - 1] == ' ') {
            const uint32_t name = letters_start(d, start - 1);
            return name < start - 2 && letter_capital(d, name) ? name : number;
        }
    }
    for (unsigned words = 0; words <= STREET_WORDS_MAX && start < last; words++) {
        if (street_named(d, start) == last)
            return start;
        if (start < 2 || d->p[start - 1] != ' ')
            break;
        uint32_t end = start - 1;
        if (d->p[end - 1] == '.' || d->p[end - 1] == '/')
            end--;
        const uint32_t next = letters_start(d, end);
        if (next == end)
            break;
        start = next;
    }
    return number;
}

/* P.O. Box 123, Postfach 10 20 */
static uint32_t box_before(const struct detect *d, uint32_t number) {
    static const char *const boxes[] = {"P.O. Box ", "PO Box ",  "P.O.Box ",  "P O Box ", "Post Office Box ",
                                        "Postfach ", "Postbus ", "Apartado ", NULL};
    const struct slice head = slice_of(d->p, number);
    for (const char *const *b = boxes; *b; b++) {
        const size_t len = strlen(*b);
        if (head.len >= len && slice_eq_nocase(slice_from(head, head.len - len), slice_of(*b, len)))
            return number - (uint32_t)len;
    }
    return number;
}

static uint32_t number_read(struct detect *d, uint32_t at) {
    uint32_t stop = at;
    while (stop < d->n && ch_digit(d->p[stop]))
        stop++;
    uint32_t end = stop;
    if (ch_is(detect_at(d, end), CH_UPPER | CH_LOWER) && !ch_alnum(detect_at(d, end + 1)))
        end++; /* 12a */
    const char first = detect_before(d, at);
    if (stop - at > NUMBER_MAX || ch_alnum(detect_at(d, end)) || first == '.' || first == '-' ||
        first == '_' || first == '/' || ch_alpha(first))
        return stop;
    uint32_t start = box_before(d, at);
    if (start == at && stop - at < NUMBER_MAX)
        start = street_before(d, at);
    if (start < at) {
        pii_detect_add(d, start, past_unit(d, end), PII_STREET_ADDRESS, 70, "street");
        return end;
    }
    uint32_t name = end;
    if (detect_at(d, name) == ',')
        name++;
    if (detect_at(d, name) != ' ')
        return stop;
    name++;
    if (d->n - name > 4 && (slice_eq_nocase(slice_of(d->p + name, 4), SLICE("bis ")) ||
                            slice_eq_nocase(slice_of(d->p + name, 4), SLICE("ter "))))
        name += 4;
    uint32_t street = street_behind(d, name);
    if (!street && stop - at < NUMBER_MAX)
        street = street_named(d, name);
    if (street)
        pii_detect_add(d, at, street, PII_STREET_ADDRESS, 70, "street");
    return street ? street : stop;
}

void pii_streets_scan(struct detect *d) {
    for (uint32_t i = 0; i < d->n;)
        i = ch_digit(d->p[i]) ? number_read(d, i) : i + 1;
}
