/* PERSON and STREET_ADDRESS where something says that one follows. Both are off by default. Nothing here
 * knows names: a name is a row of capitalised words in such a place.
 *
 *   "full_name": "Ana Silva"     name;street            Ana Silva <ana@…>     Dear Ana,     Dr. Silva
 *   my name is Ana Silva         Ana Silva;Gata 1       Regards,\nAna Silva   Street: Storgatan 12 B
 */
#include "filter/people.h"

#include "base/mem.h"
#include "filter/letter.h"

#define LABEL_MAX 32
#define WORDS_MAX 5
#define PHRASE_BACK 32
#define CELL_MAX 96
#define CLOSING_MAX 40 /* bytes of the line before a signature */
#define MAIL_AHEAD 64  /* bytes of a mailbox behind a name */

enum says {
    SAYS_NOTHING,
    SAYS_PERSON,
    SAYS_NAME /* of anything: two words are one of a person */,
    SAYS_STREET
};

/* Keys, labels and heads of columns, in lower case without separators. */
static const struct {
    enum says says;
    const char *const *keys;
} labels[] = {
    {SAYS_PERSON,
     (const char *const[]){"fullname",       "firstname",   "lastname",   "givenname",     "familyname",
                           "surname",        "displayname", "middlename", "contactname",   "contactperson",
                           "customername",   "patientname", "patient",    "employeename",  "cardholder",
                           "cardholdername", "holder",      "holdername", "accountholder", "beneficiary",
                           "recipientname",  "recipient",   "ownername",  "authorname",    "billingname",
                           "shippingname",   "maidenname",  "billto",     "shipto",        "soldto",
                           "attn",           "requester",   "assignee",   "reporter",      "attendee",
                           "person",         "vorname",     "nachname",   "familienname",  "empfänger",
                           "prénom",         "prenom",      "nombre",     "apellido",      "apellidos",
                           "cognome",        "sobrenome",   "nazwisko",   "imię",          "imie",
                           "förnamn",        "efternamn",   "fornavn",    "etternavn",     "voornaam",
                           "achternaam",     "имя",         "фио",        "клиент",        "客户",
                           "姓名",           "氏名",        "お名前",     "名前",          "이름",
                           "성명",           "Имя",         "ФИО",        "Клиент",        NULL}},
    {SAYS_NAME, (const char *const[]){"name", "nom", "nome", "naam", "namn", "navn", "contact", "client",
                                      "owner", "author", "customer", "username", "employee", "driver",
                                      "spouse", "manager", "doctor", "physician", NULL}},
    {SAYS_STREET,
     (const char *const[]){"street",          "streetaddress", "address1",       "addressline1",
                           "addr1",           "line1",         "straße",         "strasse",
                           "adresse",         "adress",        "dirección",      "direccion",
                           "domicilio",       "calle",         "indirizzo",      "endereço",
                           "endereco",        "rua",           "adres",          "ulica",
                           "mailingstreet",   "billingstreet", "shippingstreet", "billingaddress",
                           "shippingaddress", "homeaddress",   "postaladdress",  "mailingaddress",
                           "residence",       "address",       "住所",           "地址",
                           "адрес",           "Адрес",         "주소",           NULL}},
};

/* Most words differ from those of a list in their first letter. The lists are in lower case. */
static bool is_among(struct slice w, const char *const *words) {
    const char first = w.len ? ch_lower(w.ptr[0]) : '\0';
    for (; *words; words++)
        if (**words == first && slice_eq_nocase(w, slice_str(*words)))
            return true;
    return false;
}

static enum says says_of(struct slice key) {
    char low[LABEL_MAX];
    size_t n = 0;
    for (size_t i = 0; i < key.len; i++) {
        if (memchr(" _-.\"'*", key.ptr[i], 7))
            continue;
        if (n == LABEL_MAX)
            return SAYS_NOTHING;
        low[n++] = ch_lower(key.ptr[i]);
    }
    for (size_t k = 0; n > 2 && k < ARRAY_LEN(labels); k++)
        if (is_among(slice_of(low, n), labels[k].keys))
            return labels[k].says;
    return SAYS_NOTHING;
}

/* ---- names ---- */

static bool is_particle(struct slice w) {
    static const char *const words[] = {"de", "van", "von", "der", "den", "la", "di",
                                        "da", "del", "dos", "bin", "al",  NULL};
    return slice_is_any(w, words);
}

/* Words that start sentences and lines, and titles of things. */
static bool is_common(struct slice w) {
    static const char *const words[] = {
        "the",      "this",    "that",      "your",       "please",  "thank",    "thanks",  "hello",
        "dear",     "best",    "regards",   "kind",       "all",     "team",     "world",   "there",
        "everyone", "sir",     "madam",     "customer",   "service", "support",  "admin",   "user",
        "sales",    "info",    "office",    "company",    "street",  "error",    "warning", "name",
        "true",     "false",   "null",      "none",       "not",     "unknown",  "test",    "system",
        "number",   "string",  "object",    "default",    "date",    "email",    "phone",   "address",
        "monday",   "tuesday", "wednesday", "thursday",   "friday",  "saturday", "sunday",  "and",
        "for",      "new",     "with",      "from",       "folks",   "guys",     "ladies",  "damen",
        "herr",     "frau",    "colleague", "colleagues", "friend",  "friends",  "sent",    "fwd",
        "subject",  "bot",     "inc",       "ltd",        "gmbh",    "llc",      "corp",    NULL};
    return is_among(w, words);
}

static uint32_t word_end(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (i < d->n) {
        const uint32_t step = letter_at(d, i);
        if (step)
            i += step;
        else if ((d->p[i] == '-' || d->p[i] == '\'') && i > at && letter_at(d, i + 1))
            i++;
        else
            break;
    }
    return i;
}

/* The end of the name that starts at `at`, or 0. */
static uint32_t name_end(const struct detect *d, uint32_t at, unsigned *ret_words) {
    uint32_t i = at, end = 0;
    unsigned words = 0;
    bool whole = false;
    while (words < WORDS_MAX) {
        const uint32_t stop = word_end(d, i);
        const struct slice w = slice_of(d->p + i, stop - i);
        const bool capital = letter_capital(d, i);
        if (stop == i || (words == 0 && (!capital || is_common(w))) || (!capital && !is_particle(w)) ||
            (capital && is_common(w)))
            break;
        i = stop;
        if (capital) {
            const bool initial = w.len == 1;
            if (initial && detect_at(d, i) == '.')
                i++;
            whole |= !initial;
            words++;
            end = i;
        }
        if (detect_at(d, i) != ' ')
            break;
        i++;
    }
    *ret_words = words;
    return whole && !ch_alnum(detect_at(d, end)) && !memchr("_(/\\=", detect_at(d, end), 5) ? end : 0;
}

static bool ends_with_any(struct slice head, const char *const *words) {
    for (; *words; words++) {
        const size_t len = strlen(*words);
        if (head.len < len || (head.len > len && !memchr(" ([\"'>,", head.ptr[head.len - len - 1], 7)))
            continue;
        if (slice_eq_nocase(slice_from(head, head.len - len), slice_of(*words, len)))
            return true;
    }
    return false;
}

/* Text before `at` on its line, without the blanks and dots at its end. */
static struct slice lead(const struct detect *d, uint32_t at) {
    const uint32_t from = at > PHRASE_BACK ? at - PHRASE_BACK : 0;
    const char *line = memrchr(d->p + from, '\n', at - from);
    const char *start = line ? line + 1 : d->p + from;
    struct slice head = slice_of(start, (size_t)(d->p + at - start));
    while (head.len && memchr(" .\"", head.ptr[head.len - 1], 3))
        head.len--;
    return head;
}

static bool is_introduced(const struct detect *d, uint32_t at, unsigned words) {
    static const char *const titles[] = {"mr",   "mrs",     "ms",    "mx",   "miss", "dr",    "prof",
                                         "herr", "frau",    "herrn", "mme",  "sra",  "señor", "señora",
                                         "sig",  "signora", "dhr",   "mevr", "pani", "sayın", NULL};
    static const char *const phrases[] = {
        "my name is",   "my name's", "name is",      "mein name ist", "ich heiße",   "ich heisse",
        "je m'appelle", "me llamo",  "mi chiamo",    "meu nome é",    "nazywam się", "jag heter",
        "jeg heter",    "ik heet",   "mijn naam is", "меня зовут",    "adım",        NULL};
    static const char *const weak[] = {"soy", "i am", "i'm", "ich bin", "je suis", "sono", NULL};
    const struct slice head = lead(d, at);
    return ends_with_any(head, titles) || ends_with_any(head, phrases) ||
           (words > 1 && ends_with_any(head, weak));
}

/* Dear Ana, at the start of a line. */
static bool is_greeted(const struct detect *d, uint32_t at, uint32_t end) {
    static const char *const greetings[] = {"dear",     "hi",       "hello", "hey",  "hallo", "liebe",
                                            "lieber",   "bonjour",  "hola",  "ciao", "caro",  "cara",
                                            "estimado", "estimada", "beste", "hej",  "cześć", NULL};
    const struct slice head = slice_trim(lead(d, at));
    const char next = detect_at(d, end);
    return slice_is_any_nocase(head, greetings) &&
           (next == ',' || next == '!' || next == ':' || next == '\n');
}

/* Alone on a line below one that closes a letter. */
static bool is_signature(const struct detect *d, uint32_t at, uint32_t end) {
    static const char *const closings[] = {
        "regards",     "sincerely",  "cheers",       "thanks",     "thank you", "wishes", "grüßen",
        "grüße",       "grüssen",    "cordialement", "saludos",    "saluti",    "groet",  "groeten",
        "atentamente", "hälsningar", "hilsen",       "pozdrawiam", "abraços",   "yours",  NULL};
    if (at == 0 || d->p[at - 1] != '\n' || (end < d->n && d->p[end] != '\n' && d->p[end] != '\r'))
        return false;
    uint32_t stop = at;
    while (stop > 0 && (ch_space(d->p[stop - 1]) || memchr(",.!", d->p[stop - 1], 3)))
        stop--;
    const uint32_t from = stop > CLOSING_MAX ? stop - CLOSING_MAX : 0;
    return ends_with_any(slice_of(d->p + from, stop - from), closings);
}

/* Ana Silva <ana@example.org>, "Ana Silva" (ana@example.org */
static bool has_mailbox(const struct detect *d, uint32_t end) {
    uint32_t i = end;
    while (i - end < 4 && (detect_at(d, i) == '"' || detect_at(d, i) == ' ' || detect_at(d, i) == ',' ||
                           detect_at(d, i) == '\\'))
        i++;
    if (detect_at(d, i) != '<' && detect_at(d, i) != '(')
        return false;
    for (uint32_t k = i + 1; k < d->n && k - i < MAIL_AHEAD; k++) {
        if (d->p[k] == '@')
            return k > i + 1 && ch_alnum(detect_at(d, k + 1));
        if (!ch_alnum(d->p[k]) && !memchr("._+-", d->p[k], 4))
            return false;
    }
    return false;
}

/* ---- values of keys, labels and columns ---- */

static bool looks_like_street(struct slice v) {
    unsigned digits = 0, letters = 0, blanks = 0;
    for (size_t i = 0; i < v.len; i++) {
        if (memchr("@=/{}<>;|\\_", v.ptr[i], 11) && v.ptr[i] != '/')
            return false;
        digits += ch_digit(v.ptr[i]);
        letters += ch_alpha(v.ptr[i]) || (uint8_t)v.ptr[i] >= 0x80;
        blanks += v.ptr[i] == ' ' || (uint8_t)v.ptr[i] >= 0xe3; /* Chinese and Japanese have none */
        if (v.ptr[i] == ':' || (v.ptr[i] == '.' && i + 1 < v.len && ch_digit(v.ptr[i + 1])))
            return false;
    }
    return digits && letters > 2 && blanks && digits < 12;
}

static bool add_named(struct detect *d, uint32_t start, uint32_t end, enum says says) {
    const struct slice v = slice_of(d->p + start, end - start);
    unsigned words = 0;
    if (v.len < 2 || v.len > CELL_MAX || says == SAYS_NOTHING)
        return false;
    if (says == SAYS_STREET) {
        if (!detect_wants(d, PII_STREET_ADDRESS) || v.len < 5 || !looks_like_street(v))
            return false;
        pii_detect_add(d, start, end, PII_STREET_ADDRESS, 80, "named");
        return true;
    }
    const uint32_t stop = name_end(d, start, &words);
    uint32_t second = letter_caseless(d, start) ? word_end(d, start) : start;
    if (second > start && second < end && d->p[second] == ' ' && letter_caseless(d, second + 1))
        second = word_end(d, second + 1);
    const bool caseless = second == end;
    if (!detect_wants(d, PII_PERSON) || (!caseless && (stop != end || (says == SAYS_NAME && words < 2))))
        return false;
    pii_detect_add(d, start, end, PII_PERSON, says == SAYS_PERSON ? 85 : 70, "named");
    return true;
}

/* The end of a value on its line: before a quote, a bracket or the comma of the next member. */
static uint32_t value_end(const struct detect *d, uint32_t at, bool quoted, enum says says) {
    uint32_t i = at;
    while (i < d->n && i - at <= CELL_MAX && !(d->p[i] == ' ' && detect_at(d, i + 1) == ' ') &&
           d->p[i] != '\n' && d->p[i] != '"' && d->p[i] != '<' && d->p[i] != '|' && d->p[i] != '\\' &&
           d->p[i] != ';' && !(!quoted && says != SAYS_STREET && (d->p[i] == ',' || d->p[i] == '(')) &&
           !(quoted && d->p[i] == '\'' && !letter_at(d, i + 1)) && (uint8_t)d->p[i] != 0xef)
        i++;
    while (i > at && (ch_space(d->p[i - 1]) || memchr(",.", d->p[i - 1], 2)))
        i--;
    return i;
}

/* A value behind the sign at `sign`, which a key stands before. */
static uint32_t label_read(struct detect *d, uint32_t sign) {
    uint32_t start, stop = sign;
    enum says says = says_of(pii_context_key(d, sign, &start));
    if (!says) { /* keys in other scripts */
        while (stop > 0 && sign - stop < 4 &&
               (d->p[stop - 1] == '"' || (uint8_t)d->p[stop - 1] == 0xbc || (uint8_t)d->p[stop - 1] == 0xef))
            stop--;
        uint32_t from = stop;
        while (from > 0 && stop - from < LABEL_MAX && (uint8_t)d->p[from - 1] >= 0x80)
            from--;
        says = says_of(slice_of(d->p + from, stop - from));
    }
    uint32_t at = sign + 1;
    while (at < d->n && at - sign < 8 &&
           (d->p[at] == ' ' || d->p[at] == '"' || d->p[at] == '\'' || d->p[at] == '\\'))
        at++;
    if (!says || at >= d->n)
        return sign;
    const uint32_t end = value_end(d, at, ch_is(d->p[at - 1], CH_QUOTE), says);
    return end > at && add_named(d, at, end, says) ? end : sign;
}

struct table {
    char sep;
    uint8_t says[PII_COLUMNS_MAX];
};

static bool table_head(struct table *t, struct slice line, struct slice next) {
    static const char seps[] = {'\t', '|', ';', ','};
    for (size_t k = 0; k < sizeof(seps) && line.len < 1024; k++) {
        struct slice rest = line, cell;
        bool any = false, more = memchr(line.ptr, seps[k], line.len) && memchr(next.ptr, seps[k], next.len);
        memset(t->says, 0, sizeof(t->says));
        for (size_t c = 0; more && c < PII_COLUMNS_MAX; c++) {
            more = slice_cut(&rest, seps[k], &cell);
            cell = slice_trim(cell);
            t->says[c] = slice_is(cell, "last") || slice_is(cell, "first") ? SAYS_PERSON : says_of(cell);
            any |= t->says[c] != SAYS_NOTHING;
        }
        t->sep = any ? seps[k] : 0;
        if (any)
            return true;
    }
    return false;
}

static void table_row(struct detect *d, const struct table *t, uint32_t from, uint32_t to) {
    uint32_t at = from;
    for (size_t c = 0; at <= to && c < PII_COLUMNS_MAX; c++) {
        const char *sep = memchr(d->p + at, t->sep, to - at);
        uint32_t start = at, end = sep ? (uint32_t)(sep - d->p) : to;
        at = end + 1;
        while (start < end && memchr(" \"'*\r", d->p[start], 5))
            start++;
        while (end > start && memchr(" \"'*\r", d->p[end - 1], 5))
            end--;
        if (t->says[c])
            add_named(d, start, end, (enum says)t->says[c]);
    }
}

static void tables_read(struct detect *d) {
    struct table t = {0};
    bool fresh = true; /* a head is the first line of its paragraph */
    for (uint32_t at = 0; at < d->n;) {
        const char *nl = memchr(d->p + at, '\n', d->n - at);
        const uint32_t end = nl ? (uint32_t)(nl - d->p) : d->n;
        if (t.sep && !memchr(d->p + at, t.sep, end - at))
            t.sep = 0;
        if (t.sep) {
            table_row(d, &t, at, end);
        } else if (nl && (fresh || d->p[at] == '|')) {
            const char *stop = memchr(nl + 1, '\n', d->n - end - 1);
            table_head(&t, slice_of(d->p + at, end - at),
                       slice_of(nl + 1, stop ? (size_t)(stop - nl - 1) : d->n - end - 1));
        }
        fresh = end == at;
        at = end + 1;
    }
}

void pii_people_scan(struct detect *d) {
    if (d->key.len && add_named(d, 0, d->n, says_of(d->key)))
        return;
    tables_read(d);
    for (uint32_t i = 0; i < d->n;) {
        const char c = d->p[i];
        if (c == ':' || c == '=') {
            const uint32_t end = label_read(d, i);
            i = end > i ? end : i + 1;
            continue;
        }
        if ((uint8_t)c == 0xef && d->n - i > 3 && memcmp(d->p + i, "\xef\xbc\x9a", 3) == 0) {
            const uint32_t end = label_read(d, i + 2);
            i = end > i + 2 ? end : i + 3;
            continue;
        }
        if (!letter_at(d, i)) {
            i++;
            continue;
        }
        unsigned words;
        const uint32_t end = detect_wants(d, PII_PERSON) && letter_capital(d, i) ? name_end(d, i, &words) : 0;
        if (end && (has_mailbox(d, end) || is_introduced(d, i, words) || is_greeted(d, i, end) ||
                    is_signature(d, i, end))) {
            pii_detect_add(d, i, end, PII_PERSON, 75, "introduced");
            i = end;
            continue;
        }
        i = word_end(d, i);
    }
}
