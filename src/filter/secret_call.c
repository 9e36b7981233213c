/* SECRET where no sign of assignment stands between the name and the value:
 *
 *   setPassword("…")   define('DB_PASSWORD', '…')   login("svc", "…")       calls
 *   IDENTIFIED BY '…'   CREATE ROLE r PASSWORD '…'                          SQL
 *   mysql -p…   sshpass -p …   --password …                                 command lines
 *   machine h login u password …   ENV API_TOKEN …   requirepass …          directives
 */
#include "filter/detect.h"
#include "filter/letters.h"

#include "base/mem.h"

#define QUOTED_MAX 256
#define PASSWORD_MIN 5
#define SQL_MIN 4
#define STRONG_MIN 6 /* if the context is unambiguous */
#define CALL_MAX 200 /* bytes between the bracket of a call and an argument */
#define LINE_MAX_BACK 240
#define NAME_MAX_BACK 64

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool has_any(struct slice v, const char *const *words) {
    for (; *words; words++)
        if (pii_secret_has(v, *words))
            return true;
    return false;
}

struct mix {
    unsigned digits, letters, others, blanks;
};

static struct mix mix_of(struct slice v) {
    struct mix m = {0};
    for (size_t i = 0; i < v.len; i++) {
        m.digits += ch_digit(v.ptr[i]);
        m.letters += ch_alpha(v.ptr[i]);
        m.blanks += ch_space(v.ptr[i]);
    }
    m.others = (unsigned)v.len - m.digits - m.letters - m.blanks;
    return m;
}

/* A name of a field, a label or a file, not a value. */
static bool mentions_secret(struct slice v) {
    static const char *const words[] = {"password", "passwd", "token", "secret", "_key", "field", NULL};
    return has_any(v, words);
}

/* The context (call, statement, option) shows that this is the password. */
static bool is_password(struct slice v, bool sure) {
    const struct mix m = mix_of(v);
    if (v.len < (sure ? PASSWORD_MIN : STRONG_MIN) || m.blanks || pii_secret_dummy(v) || mentions_secret(v) ||
        memchr("/<-:(*", v.ptr[0], 6) || memchr(v.ptr, '/', v.len))
        return false;
    return (m.digits && m.letters) || pii_letters_random(v) ||
           (sure && v.len >= STRONG_MIN && m.letters && m.others);
}

static void add(struct detect *d, struct slice v, const char *sub) {
    const uint32_t at = (uint32_t)(v.ptr - d->p);
    pii_detect_add(d, at, at + (uint32_t)v.len, PII_SECRET, 75, sub);
    d->assign_done = at + (uint32_t)v.len;
}

/* The value that this name identifies as secret. */
static bool keyed(struct detect *d, struct slice key, struct slice v) {
    const uint32_t hints = pii_context_hints(d, key);
    const char *sub;
    if (!(hints & HINT_SECRET) || hints & HINT_PUBLIC || mentions_secret(v))
        return false;
    if (pii_secret_has(key, "pass") || pii_secret_has(key, "pwd"))
        return is_password(v, false);
    return (mix_of(v).digits > 1 || pii_letters_random(v)) && pii_secret_fits(key, v, hints, true, &sub);
}

/* Backwards from `end`: the token that ends there. */
static struct slice token_before(const struct detect *d, uint32_t end, uint32_t *ret_start) {
    uint32_t start = end;
    while (start > 0 && end - start < NAME_MAX_BACK &&
           (ch_alnum(d->p[start - 1]) || memchr("_-.$", d->p[start - 1], 4)))
        start--;
    *ret_start = start;
    return slice_of(d->p + start, end - start);
}

static uint32_t blanks_before(const struct detect *d, uint32_t at) {
    while (at > 0 && is_blank(d->p[at - 1]))
        at--;
    return at;
}

static struct slice line_before(const struct detect *d, uint32_t at) {
    uint32_t start = at;
    while (start > 0 && at - start < LINE_MAX_BACK && d->p[start - 1] != '\n')
        start--;
    return slice_of(d->p + start, at - start);
}

/* ---- calls ---- */

/* The last argument before the comma at `comma`, when it is a text. */
static struct slice text_before(const struct detect *d, uint32_t comma) {
    uint32_t end = blanks_before(d, comma);
    if (end < 2 || !ch_is(d->p[end - 1], CH_QUOTE))
        return (struct slice){0};
    const char quote = d->p[--end];
    uint32_t start = end;
    while (start > 0 && end - start < NAME_MAX_BACK && d->p[start - 1] != quote && d->p[start - 1] != '\n')
        start--;
    return slice_of(d->p + start, end - start);
}

/* The function name before the bracket of the argument after `at`; empty if there is none. */
static struct slice call_around(const struct detect *d, uint32_t at) {
    unsigned depth = 0;
    for (uint32_t i = at; i > 0 && at - i < CALL_MAX; i--) {
        const char c = d->p[i - 1];
        if (c == '\n' || c == ';' || c == '{' || c == '}')
            break;
        depth += c == ')';
        if (c != '(' || depth-- > 0)
            continue;
        uint32_t end = blanks_before(d, i - 1), start;
        if (end > 0 && d->p[end - 1] == '=') /* auth=("svc", "…") */
            end = blanks_before(d, end - 1);
        return token_before(d, end, &start);
    }
    return (struct slice){0};
}

static struct slice last_name(struct slice chain) {
    for (size_t i = chain.len; i > 0; i--)
        if (chain.ptr[i - 1] == '.')
            return slice_from(chain, i);
    return chain;
}

static void first_argument(struct detect *d, uint32_t bracket, struct slice v) {
    static const char *const asks[] = {"get",    "has",     "is",    "check",  "find",
                                       "verify", "valid",   "reset", "remove", "by",
                                       "label",  "compare", "read",  "load",   NULL};
    static const char *const auth[] = {"auth", "bearer_auth", "bearerAuth", NULL};
    uint32_t start;
    const struct slice name = last_name(token_before(d, bracket, &start));
    if (name.len < 3 || !(keyed(d, name, v) ||
                          (slice_is_any_nocase(name, auth) && mix_of(v).digits > 1 && is_password(v, false))))
        return;
    for (size_t i = 0; asks[i]; i++)
        if (slice_eq_nocase(slice_upto(name, strlen(asks[i])), slice_str(asks[i])))
            return;
    add(d, v, "call");
}

static void later_argument(struct detect *d, uint32_t comma, struct slice v) {
    static const char *const logins[] = {
        "login",      "credential",    "passwordauth", "basicauth",  "basic_auth",
        "setauth",    "getconnection", "pdo",          "i_connect",  "create_user",
        "createuser", "pw_set",        "useradd",      "wifi.begin", NULL};
    static const char *const signs[] = {"hmac", "jwt.sign", "jwt.encode", "jwt.verify", NULL};
    if (!mix_of(v).digits && !pii_letters_random(v))
        return;
    const struct slice before = text_before(d, comma);
    const struct slice name = call_around(d, comma);
    if (!name.len)
        return;
    const char *sub;
    if (before.len && keyed(d, before, v))
        add(d, v, "call");
    else if ((has_any(name, logins) || slice_eq_nocase(name, SLICE("auth"))) && is_password(v, false) &&
             !memchr(v.ptr, '.', v.len) && !memchr(v.ptr, '@', v.len))
        add(d, v, "call");
    else if (has_any(name, signs) && pii_secret_fits(SLICE("secret"), v, HINT_SECRET, true, &sub))
        add(d, v, "call");
}

/* ---- statements ---- */

/* IDENTIFIED BY, IDENTIFIED WITH plugin BY: `at` is behind BY. */
static bool identified_by(const struct detect *d, uint32_t at) {
    uint32_t start;
    struct slice word = token_before(d, at, &start);
    if (!slice_eq_nocase(word, SLICE("by")))
        return false;
    for (unsigned i = 0; i < 3 && start > 0; i++) {
        word = token_before(d, blanks_before(d, start), &start);
        if (slice_eq_nocase(word, SLICE("identified")))
            return true;
    }
    return false;
}

static bool is_capital(struct slice v) {
    for (size_t i = 0; i < v.len; i++)
        if (ch_is(v.ptr[i], CH_LOWER))
            return false;
    return true;
}

/* CREATE USER u WITH PASSWORD '…', IDENTIFIED BY '…': nothing else than a password stands there, however it
 * looks. */
static bool is_sql_literal(struct slice line, struct slice v) {
    static const char *const owners[] = {"USER", "ROLE", "LOGIN", NULL};
    if (v.len < SQL_MIN || pii_secret_dummy(v) || mentions_secret(v) || mix_of(v).blanks ||
        memchr("<:?@", v.ptr[0], 4))
        return false;
    for (const char *const *w = owners; *w; w++)
        if (memmem(line.ptr, line.len, *w, 4))
            return true;
    return false;
}

/* A text behind a word: `at` is the end of that word. */
static void text_behind_word(struct detect *d, uint32_t at, struct slice v) {
    static const char *const leads[] = {"with", "encrypted", "login",  "unencrypted",
                                        "env",  "setenv",    "export", NULL};
    uint32_t start, more;
    const struct slice word = token_before(d, at, &start);
    const bool sql = slice_eq(word, SLICE("PASSWORD")) || (is_capital(word) && identified_by(d, at));
    if (sql && is_sql_literal(line_before(d, start), v)) {
        add(d, v, "sql");
        return;
    }
    if (identified_by(d, at)) {
        if (is_password(v, true))
            add(d, v, "sql");
        return;
    }
    if (slice_eq_nocase(word, SLICE("ConvertTo-SecureString"))) {
        if (is_password(v, true))
            add(d, v, "call");
        return;
    }
    const uint32_t before = blanks_before(d, start);
    const bool listed = before > 0 && (d->p[before - 1] == ',' || d->p[before - 1] == '(');
    if (word.len < 3 || word.ptr[0] == '-')
        return; /* options are read at their dash */
    if (is_capital(word) || listed || slice_is_any_nocase(token_before(d, before, &more), leads))
        if (keyed(d, word, v))
            add(d, v, "statement");
}

/* A quote behind a bracket or a blank. */
void pii_secret_quoted(struct detect *d, uint32_t at) {
    const char quote = d->p[at];
    const uint32_t from = at + 1, most = d->n - from < QUOTED_MAX ? d->n : from + QUOTED_MAX;
    uint32_t end = from;
    unsigned digits = 0, others = 0;
    if (!detect_wants(d, PII_SECRET) || at < 3)
        return;
    const uint32_t lead = blanks_before(d, at);
    const char sign = lead > 0 ? d->p[lead - 1] : '\n';
    if (sign != '(' && sign != ',' && !ch_alnum(sign))
        return;
    for (; end < most && d->p[end] != quote; end++) {
        if (is_blank(d->p[end]) || d->p[end] == '\n' || d->p[end] == '\\')
            return;
        digits += ch_digit(d->p[end]);
        others += !ch_alnum(d->p[end]);
    }
    const struct slice v = slice_of(d->p + from, end - from);
    const bool word = sign != '(' && sign != ',';
    if (end == most || v.len < (word ? SQL_MIN : PASSWORD_MIN) ||
        !(word || digits + others || pii_letters_random(v)))
        return;
    if (sign == '(')
        first_argument(d, lead - 1, v);
    else if (sign == ',')
        later_argument(d, lead - 1, v);
    else
        text_behind_word(d, lead, v);
}

/* ---- command lines and directives ---- */

/* The word at `at`, or the text in quotes there. */
static struct slice word_at(const struct detect *d, uint32_t at) {
    const char quote = ch_is(detect_at(d, at), CH_QUOTE) ? d->p[at++] : '\0';
    uint32_t end = at;
    while (end < d->n && end - at < QUOTED_MAX && d->p[end] != '\n' &&
           (quote ? d->p[end] != quote
                  : !ch_space(d->p[end]) && !ch_is(d->p[end], CH_QUOTE) && d->p[end] != ';' &&
                        d->p[end] != '|' && d->p[end] != ')' && d->p[end] != '\\' && d->p[end] != '<'))
        end++;
    return slice_of(d->p + at, end - at);
}

/* --password x, --api-key x: `at` is behind the dashes. */
static void long_option(struct detect *d, uint32_t at) {
    static const char *const others[] = {"stdin", "file", "env", "command", "prompt", "hint", NULL};
    uint32_t end = at;
    while (end < d->n && end - at < NAME_MAX_BACK &&
           (ch_alnum(d->p[end]) || d->p[end] == '-' || d->p[end] == '_'))
        end++;
    const struct slice name = slice_of(d->p + at, end - at);
    if (!is_blank(detect_at(d, end)) || name.len < 3 || has_any(name, others))
        return;
    while (is_blank(detect_at(d, end)))
        end++;
    const struct slice v = word_at(d, end);
    if (v.len && v.ptr[0] != '-' && v.ptr[0] != '$' && v.ptr[0] != '(' && keyed(d, name, v))
        add(d, v, "option");
}

/* -p and its like, by the program that reads them. */
static void short_option(struct detect *d, uint32_t at) {
    static const struct {
        const char *program, *and;
        char letter;
        bool attached;
    } options[] = {{"mysql", NULL, 'p', true},      {"mariadb", NULL, 'p', true},
                   {"sshpass", NULL, 'p', false},   {"docker", "login", 'p', false},
                   {"podman", "login", 'p', false}, {"az ", "login", 'p', false},
                   {"helm", "login", 'p', false},   {"redis-cli", NULL, 'a', false},
                   {"ldap", NULL, 'w', false},      {"zip ", NULL, 'P', false}};
    uint32_t value = at + 1;
    const bool attached = !is_blank(detect_at(d, value));
    while (is_blank(detect_at(d, value)))
        value++;
    const struct slice v = word_at(d, value);
    if (!is_password(v, false))
        return;
    const struct slice line = line_before(d, at);
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (options[i].letter == d->p[at] && options[i].attached == attached &&
            pii_secret_has(line, options[i].program) &&
            (!options[i].and || pii_secret_has(line, options[i].and))) {
            add(d, v, "option");
            return;
        }
}

/* A word right behind a dash. */
void pii_secret_option(struct detect *d, uint32_t at) {
    if (!detect_wants(d, PII_SECRET) || at < 3)
        return;
    if (d->p[at - 2] == '-')
        long_option(d, at);
    else if (is_blank(d->p[at - 2]) && ch_is(d->p[at], CH_UPPER) && ch_alpha(detect_at(d, at + 1)))
        long_option(d, at); /* PowerShell: -Password x */
    else if (is_blank(d->p[at - 2]) && memchr("paPw", d->p[at], 4))
        short_option(d, at);
}

/* A word of letters and digits behind a blank: is it the value of a directive? */
void pii_secret_directive(struct detect *d, uint32_t at) {
    static const char *const plain[] = {"requirepass", "masterauth", "bindpw", "rootpw", NULL};
    static const char *const leads[] = {"env", "arg", "setenv", "machine", "default", "mysqladmin", NULL};
    if (!detect_wants(d, PII_SECRET) || at < 4)
        return;
    if (memchr("crCR", d->p[at - 2], 4)) {
        pii_secret_scheme(d, at);
        return;
    }
    const uint32_t end = blanks_before(d, at);
    uint32_t start;
    if (end == at || end == 0 || !ch_alnum(d->p[end - 1]))
        return;
    const struct slice key = token_before(d, end, &start);
    const bool by = slice_eq_nocase(key, SLICE("by"));
    if (!slice_is_any_nocase(key, plain) && !by && !(pii_context_hints(d, key) & HINT_SECRET))
        return;
    const struct slice v = word_at(d, at);
    if (by) {
        if (identified_by(d, end) && is_password(v, false))
            add(d, v, "sql");
        return;
    }
    struct slice line = slice_trim(line_before(d, start)), first = line;
    slice_cut(&line, ' ', &first);
    const char behind = detect_at(d, at + (uint32_t)v.len);
    /* alone on its line, or in one that is known to be of this form */
    const bool alone = !first.len && (behind == '\n' || behind == '\r' || behind == '\0');
    if (!alone && !slice_is_any_nocase(first, leads))
        return;
    if (slice_is_any_nocase(key, plain) ? is_password(v, false) : keyed(d, key, v))
        add(d, v, "directive");
}
