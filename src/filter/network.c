/* Addresses: EMAIL, URL, IP, MAC, IBAN. */
#include "filter/checks.h"
#include "filter/detect.h"

#include "base/mem.h"

#define EMAIL_LOCAL_MAX 64
#define EMAIL_DOMAIN_MAX 253
#define URL_MAX 4096
#define MINOR_MAX 9    /* characters of a version that starts with 0. */
#define HEADER_BACK 96 /* bytes before the id of a message, of those before it */
#define SLICE_MAX 6    /* characters of start::step in brackets */

bool pii_network_mac(struct detect *d, uint32_t at, uint32_t *ret_end) {
    if (!detect_wants(d, PII_MAC) || d->n - at < 14 || !pii_detect_starts(d, at))
        return false;
    const char *p = d->p + at;
    const char before = detect_before(d, at);
    if (ch_hex(p[1]) && (p[2] == ':' || p[2] == '-') && d->n - at >= 17) {
        bool other = p[0] != p[1];
        for (uint32_t i = 0; i < 17; i++) {
            if (i % 3 == 2 ? p[i] != p[2] : !ch_hex(p[i]))
                return false;
            other |= i % 3 != 2 && p[i] != p[0];
        }
        const char next = detect_at(d, at + 17);
        if (!other || ch_alnum(next) || ((next == ':' || next == '-') && ch_alnum(detect_at(d, at + 18))) ||
            before == ':' || before == '-')
            return false;
        *ret_end = at + 17;
    } else if (ch_hex(p[3]) && p[4] == '.' && p[9] == '.') { /* 001b.6384.45e6 */
        bool letter = false;
        for (uint32_t i = 0; i < 14; i++) {
            if (i % 5 == 4 ? p[i] != '.' : !ch_hex(p[i]))
                return false;
            letter |= ch_alpha(p[i]);
        }
        if (!letter || ch_alnum(detect_at(d, at + 14)) || detect_at(d, at + 14) == '.' || before == '.')
            return false;
        *ret_end = at + 14;
    } else {
        return false;
    }
    pii_detect_add(d, at, *ret_end, PII_MAC, 92, "mac");
    return true;
}

static bool dotted_quad(const struct detect *d, uint32_t at, uint32_t *ret_end) {
    uint32_t i = at;
    for (unsigned part = 0; part < 4; part++) {
        if (part > 0 && detect_at(d, i++) != '.')
            return false;
        const uint32_t first = i;
        unsigned value = 0;
        while (i - first < 3 && ch_digit(detect_at(d, i)))
            value = value * 10 + (unsigned)(d->p[i++] - '0');
        if (i == first || value > 255 || (d->p[first] == '0' && i - first > 1))
            return false;
    }
    *ret_end = i;
    return !ch_alnum(detect_at(d, i)) && !(detect_at(d, i) == '.' && ch_digit(detect_at(d, i + 1)));
}

/* 255.255.240.0 */
static bool is_mask(struct slice text) {
    uint32_t bits = 0;
    struct slice part;
    if (!slice_starts(text, SLICE("255.")))
        return false;
    for (unsigned i = 0; i < 4; i++) {
        slice_cut(&text, '.', &part);
        unsigned value = 0;
        for (size_t k = 0; k < part.len; k++)
            value = value * 10 + (unsigned)(part.ptr[k] - '0');
        bits = bits << 8 | value;
    }
    return (~bits & (~bits + 1)) == 0;
}

/* requests>=2.28.0.1, ~=1.0.0.2: a version. */
static bool compared(const struct detect *d, uint32_t at) {
    const char c = at > 1 ? d->p[at - 2] : '\0';
    return detect_before(d, at) == '=' && (c == '>' || c == '<' || c == '~' || c == '=' || c == '!');
}

bool pii_network_ipv4(struct detect *d, uint32_t at, uint32_t *ret_end) {
    static const char *const nobody[] = {"127.0.0.1", "0.0.0.0", "255.255.255.255",
                                         "1.0.0.0",   "1.2.3.4", NULL};
    const char before = detect_before(d, at);
    if (before == '.' || before == '_' || (before == '-' && at > 1 && ch_alnum(d->p[at - 2])) ||
        !dotted_quad(d, at, ret_end))
        return false;
    if (before == '/' && at > 1 && ch_alnum(d->p[at - 2])) /* Chrome/108.0.0.0 */
        return true;
    const struct slice text = slice_of(d->p + at, *ret_end - at);
    if (slice_is_any(text, nobody) || detect_at(d, *ret_end) == '-' || is_mask(text) || compared(d, at))
        return true;
    const struct hints h = pii_context_of(d, at, *ret_end);
    unsigned score = 90;
    if (text.len <= MINOR_MAX && text.ptr[0] == '0' && !((h.label | h.near) & HINT_IP))
        score = 30; /* 0.7.100.3 */
    else if (h.label & HINT_VERSION || (h.near & HINT_VERSION && !(h.label & HINT_IP)))
        score = 30;
    else if (text.len == 7 && !((h.label | h.near) & HINT_IP)) /* sections and versions, but 8.8.8.8 */
        score = text.ptr[0] == text.ptr[6] || before == '/' || before == '@' ||
                        detect_at(d, *ret_end) == ':' || detect_at(d, *ret_end) == '/'
                    ? 55
                    : 45;
    pii_detect_add(d, at, *ret_end, PII_IP, score, "ipv4");
    return true;
}

bool pii_network_ipv6(struct detect *d, uint32_t at, uint32_t *ret_end) {
    if (!detect_wants(d, PII_IP))
        return false;
    uint32_t i = at, groups = 0, digits = 0;
    bool gap = false;
    const char before = detect_before(d, at);
    if (before == ':' || before == '.' || !pii_detect_starts(d, at))
        return false;
    if (detect_at(d, i) == ':') {
        if (detect_at(d, i + 1) != ':')
            return false;
        gap = true;
        i += 2;
    }
    while (groups < 8) {
        const uint32_t first = i;
        while (i - first < 4 && ch_hex(detect_at(d, i)))
            digits += ch_digit(d->p[i++]) ? 1 : 0;
        if (i == first)
            break;
        uint32_t quad_end;
        if (detect_at(d, i) == '.' && groups > 0 && (gap || groups == 6) &&
            dotted_quad(d, first, &quad_end)) {
            groups += 2;
            i = quad_end;
            break;
        }
        groups++;
        if (detect_at(d, i) != ':' || !(ch_hex(detect_at(d, i + 1)) || detect_at(d, i + 1) == ':'))
            break;
        if (detect_at(d, i + 1) == ':') {
            if (gap)
                break;
            gap = true;
            i += 2;
        } else {
            i++;
        }
    }
    if (gap ? groups == 0 || groups > 7 : groups != 8)
        return false;
    const char next = detect_at(d, i);
    if (ch_alnum(next) || next == '_' ||
        (next == ':' && (ch_alnum(detect_at(d, i + 1)) || detect_at(d, i + 1) == ':')))
        return false;
    if (digits == 0 && groups < 4) /* abc::def is a path in some languages */
        return false;
    if (before == '[' && groups <= 2 && i - at <= SLICE_MAX && at > 1 && ch_alnum(d->p[at - 2]))
        return false; /* sample[1::2] */
    const struct slice text = slice_of(d->p + at, i - at);
    *ret_end = i;
    if (slice_is(text, "::1") || (gap && groups == 1 && !slice_starts(text, SLICE("fe")) && text.len < 7))
        return !slice_is(text, "::1") ? false : true;
    pii_detect_add(d, at, i, PII_IP, 93, "ipv6");
    return true;
}

static bool local_char(char c) {
    return ch_alnum(c) || c == '.' || c == '_' || c == '-' || c == '+' || c == '%' || c == '\'' || c == '&' ||
           c == '!' || c == '~' || c == '#' || c == '$' || c == '*';
}

/* Latin letters beyond ASCII: two bytes from C3 80 to C9 BF. */
static bool latin2(const char *p) {
    return (uint8_t)p[0] >= 0xC3 && (uint8_t)p[0] <= 0xC9 && ((uint8_t)p[1] & 0xC0) == 0x80;
}

static uint32_t local_start(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (i > 0 && at - i < EMAIL_LOCAL_MAX) {
        if (local_char(d->p[i - 1]))
            i--;
        else if (i > 1 && latin2(d->p + i - 2))
            i -= 2;
        else
            break;
    }
    /* the n of "\n" and a leading mark are not part of it */
    if (i > 0 && i < at && d->p[i - 1] == '\\' && (d->p[i] == 'n' || d->p[i] == 't' || d->p[i] == 'r'))
        i++;
    while (i < at && !ch_alnum(d->p[i]) && d->p[i] != '_' && (uint8_t)d->p[i] < 0x80)
        i++;
    return i;
}

static uint32_t domain_end(const struct detect *d, uint32_t at, uint32_t *ret_tld) {
    uint32_t i = at, last = 0, labels = 0;
    while (i < d->n && i - at < EMAIL_DOMAIN_MAX) {
        const uint32_t first = i;
        while (i < d->n && (ch_alnum(d->p[i]) || d->p[i] == '-' || (i + 1 < d->n && latin2(d->p + i))))
            i += (uint8_t)d->p[i] >= 0x80 ? 2 : 1;
        while (i > first && d->p[i - 1] == '-')
            i--;
        if (i == first || d->p[first] == '-')
            break;
        labels++;
        last = i;
        *ret_tld = first;
        if (detect_at(d, i) != '.')
            break;
        i++;
    }
    return labels >= 2 ? last : 0;
}

static bool tld_ok(struct slice tld) {
    static const char *const files[] = {"png", "jpg",  "jpeg", "gif",  "svg",  "webp", "js", "ts",
                                        "css", "json", "html", "map",  "md",   "txt",  "py", "go",
                                        "c",   "h",    "yml",  "yaml", "lock", "tgz",  "gz", NULL};
    if (tld.len < 2 || tld.len > 24)
        return false;
    const bool puny = tld.len > 4 && slice_eq_nocase(slice_upto(tld, 4), SLICE("xn--"));
    for (size_t i = 0; i < tld.len && !puny; i++)
        if (!ch_alpha(tld.ptr[i]) && (uint8_t)tld.ptr[i] < 0x80)
            return false;
    for (const char *const *f = files; *f; f++)
        if (slice_eq_nocase(tld, slice_str(*f)))
            return false;
    return true;
}

/* ann@example.com555-123-4567: another value has been written right behind a name that ends addresses. Its
 * start. */
static uint32_t glued_end(const struct detect *d, uint32_t tld, uint32_t end) {
    static const char *const names[] = {"com", "org", "net", "edu", "gov", "io",
                                        "dev", "de",  "uk",  "fr",  NULL};
    uint32_t i = tld;
    while (i < end && ch_alpha(d->p[i]))
        i++;
    uint32_t digits = 0;
    for (uint32_t k = i; k < d->n && k - i < 16; k++)
        digits += ch_digit(d->p[k]);
    return digits >= 7 && ch_digit(d->p[i]) && slice_is_any(slice_of(d->p + tld, i - tld), names) ? i : end;
}

/* Message-ID: <…>, In-Reply-To: <…>, References: <…> <…>: no address of anybody. */
static bool message_id(const struct detect *d, uint32_t at) {
    const uint32_t from = at > HEADER_BACK ? at - HEADER_BACK : 0;
    const struct slice near = slice_of(d->p + from, at - from);
    const char *const line = memrchr(near.ptr, '\n', near.len);
    const struct slice head = line ? slice_of(line + 1, (size_t)(near.ptr + near.len - line) - 1) : near;
    static const char *const names[] = {"message-id:", "in-reply-to:", "references:"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_eq_nocase(slice_upto(head, strlen(names[i])), slice_str(names[i])))
            return true;
    return false;
}

void pii_network_email(struct detect *d, uint32_t at) {
    if (!detect_wants(d, PII_EMAIL))
        return;
    const uint32_t start = local_start(d, at);
    uint32_t tld = 0;
    uint32_t end = domain_end(d, at + 1, &tld);
    if (start == at || !end)
        return;
    /* user:password@host is handled with URLs */
    if (start > 2 && (d->p[start - 1] == ':' || d->p[start - 1] == '/')) {
        uint32_t i = start;
        while (i > 2 && start - i < 128 && !ch_space(d->p[i - 1]) && !ch_is(d->p[i - 1], CH_QUOTE)) {
            if (d->p[i - 1] == '/' && d->p[i - 2] == '/' && d->p[i - 3] == ':')
                return;
            i--;
        }
    }
    const uint32_t glued = glued_end(d, tld, end);
    if (!tld_ok(slice_of(d->p + tld, glued - tld)))
        return;
    if (glued < end)
        pii_digits_glued(d, glued);
    else if (detect_at(d, end) == '+' && ch_digit(detect_at(d, end + 1)))
        pii_digits_glued(d, end + 1);
    end = glued;
    if (detect_before(d, start) == '<' && detect_at(d, end) == '>' && message_id(d, start))
        return;
    pii_detect_add(d, start, end, PII_EMAIL, 97, "email");
}

static bool url_char(char c) {
    return (uint8_t)c > ' ' && c != '"' && c != '\'' && c != '<' && c != '>' && c != '`' && c != '|' &&
           c != '\\' && c != '{' && c != '}' && c != '^' && (uint8_t)c != 0x7f;
}

static bool url_scheme(const struct detect *d, uint32_t colon, uint32_t *ret_start) {
    static const char *const schemes[] = {"http", "https", "ftp", "ftps", "ws", "wss", "sftp", NULL};
    uint32_t i = colon;
    while (i > 0 && colon - i < 8 && ch_alpha(d->p[i - 1]))
        i--;
    for (uint32_t s = i; s < colon; s++) /* "nhttps" after an escape: try without the first letter too */
        for (const char *const *k = schemes; *k; k++)
            if (slice_eq_nocase(slice_of(d->p + s, colon - s), slice_str(*k)) && (s == i || s == i + 1)) {
                *ret_start = s;
                return s == i || pii_detect_starts(d, s);
            }
    return false;
}

/* scheme://user:password@host */
static void url_credentials(struct detect *d, uint32_t from) {
    uint32_t i = from, colon = 0;
    while (i < d->n && i - from < 512 && url_char(d->p[i]) && d->p[i] != '/' && d->p[i] != '@' &&
           d->p[i] != '?') {
        if (d->p[i] == ':' && !colon)
            colon = i;
        i++;
    }
    /* a password may contain slashes or question marks: the @ decides */
    if (i < d->n && (d->p[i] == '/' || d->p[i] == '?') && colon) {
        uint32_t k = i;
        while (k < d->n && k - from < 256 && url_char(d->p[k]) && d->p[k] != '@')
            k++;
        if (detect_at(d, k) == '@' && !memchr(d->p + from, '/', i - from) &&
            !ch_digit(detect_at(d, colon + 1)))
            i = k;
    }
    if (detect_at(d, i) != '@' || !colon || i - colon - 1 < 3 || !detect_wants(d, PII_SECRET))
        return;
    const struct slice password = slice_of(d->p + colon + 1, i - colon - 1);
    static const char *const plain[] = {"password", "pass", "passwd", "secret", "pwd",
                                        "token",    "user", "xxx",    NULL};
    if (pii_secret_dummy(password) || slice_is_any(password, plain))
        return;
    /* if the vendor issues both halves, both are secret */
    const struct slice host = slice_of(d->p + i, d->n - i < 48 ? d->n - i : 48);
    const bool both = memmem(host.ptr, host.len, ".contribsys.com", 15) != NULL;
    pii_detect_add(d, both ? from : colon + 1, i, PII_SECRET, 88, both ? "sidekiq" : "url-credentials");
}

void pii_network_url(struct detect *d, uint32_t colon) {
    uint32_t start = 0;
    url_credentials(d, colon + 3);
    if (!detect_wants(d, PII_URL) || !url_scheme(d, colon, &start))
        return;
    uint32_t i = colon + 3;
    int depth = 0;
    const char sep = pii_context_separator(d, start);
    while (i < d->n && i - start < URL_MAX && url_char(d->p[i]) && (!sep || d->p[i] != sep)) {
        const char c = d->p[i];
        if (c == '(' || c == '[')
            depth++;
        if ((c == ')' || c == ']') && --depth < 0)
            break;
        i++;
    }
    while (i > colon + 3 && memchr(".,;:!?*_~", d->p[i - 1], 9))
        i--;
    if (i < colon + 5 || !(ch_alnum(d->p[colon + 3]) || d->p[colon + 3] == '['))
        return;
    pii_detect_add(d, start, i, PII_URL, 90, "url");
}

/* Two letters, two digits, then blocks. Written in one piece or in fours. */
bool pii_network_iban(struct detect *d, uint32_t at, uint32_t *ret_end) {
    if (!detect_wants(d, PII_IBAN) || !pii_detect_starts(d, at))
        return false;
    const size_t want = pii_check_iban_length(d->p[at], d->p[at + 1]);
    if (!want)
        return false;
    char bare[40];
    size_t len = 0;
    uint32_t i = at;
    char sep = 0;
    while (len < want && i < d->n) {
        const char c = d->p[i];
        if (ch_alnum(c)) {
            bare[len++] = c;
        } else if ((c == ' ' || c == '-') && len % 4 == 0 && len > 0 && (!sep || sep == c) &&
                   ch_alnum(detect_at(d, i + 1))) {
            sep = c;
        } else {
            return false;
        }
        i++;
    }
    if (len != want || ch_alnum(detect_at(d, i)) ||
        (sep && detect_at(d, i) == sep && ch_alnum(detect_at(d, i + 1)) && sep == '-') ||
        (sep && d->p[at + 4] != sep) || !pii_check_iban(bare, len))
        return false;
    pii_detect_add(d, at, i, PII_IBAN, 97, "iban");
    *ret_end = i;
    return true;
}
