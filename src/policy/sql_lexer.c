/* Tokens of SQL, cut so that every database of the dialect cuts them alike.
 *
 * Databases disagree about comments, quotes and escapes, and attackers exploit the difference: what we
 * take for a string must be a string to all of them. Where they differ the token is bad:
 *
 *   'a\'            ends here, or does not
 *   q'!a'!'  E'\''  prefixes that change what a quote means
 *   ! or T! in      comments are executed by some; hints are, too; some nest comments
 *   [a'b]  [[1]]    a name in brackets, or an array
 *   --x  #  $$      a comment in some, code in others
 *   $1x  $1.x       a parameter, or money and a word
 *
 * Letters beyond ASCII are taken only where they are letters everywhere and no case mapping makes ASCII of
 * them
 * (`ſ` and `ı` do become S and I). */
#include "policy/sql.h"

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const struct sql_lexer *l, size_t ahead) {
    return l->at + ahead < l->text.len ? l->text.ptr[l->at + ahead] : '\0';
}

/* MySQL and compatible databases; text for any database may reach them. */
static bool is_mysql(const struct sql_lexer *l) {
    return l->dialect == POLICY_SQL_MYSQL || l->dialect == POLICY_SQL_ANY;
}

/* What ends a line for some readers: a lone CR (PostgreSQL), VT, FF, NEL, LS and PS. */
static bool is_doubtful_end(const struct sql_lexer *l) {
    struct slice rest = slice_from(l->text, l->at);
    return (peek(l, 0) == '\r' && peek(l, 1) != '\n') || peek(l, 0) == '\v' || peek(l, 0) == '\f' ||
           slice_starts(rest, SLICE("\xc2\x85")) || slice_starts(rest, SLICE("\xe2\x80\xa8")) ||
           slice_starts(rest, SLICE("\xe2\x80\xa9"));
}

static bool skip_line(struct sql_lexer *l) {
    for (; l->at < l->text.len && l->text.ptr[l->at] != '\n'; l->at++)
        if (is_doubtful_end(l))
            return false;
    return true;
}

/* `--` to the end of the line. MySQL requires a blank after it, else it subtracts. */
static bool skip_line_comment(struct sql_lexer *l) {
    char after = peek(l, 2);
    bool is_blank = after == ' ' || after == '\n' || after == '\r' || after == '\t' || after == '\0';
    return (is_blank || !is_mysql(l)) && skip_line(l);
}

static bool skip_block_comment(struct sql_lexer *l) {
    char first = peek(l, 2);
    if (is_mysql(l) && (first == '+' || first == '@' || first == '{' || first == '#' || first == '$'))
        return false;
    for (l->at += 2; l->at + 1 < l->text.len; l->at++) {
        if ((peek(l, 0) == '/' && peek(l, 1) == '*') || (is_mysql(l) && peek(l, 0) == '!'))
            return false;
        if (peek(l, 0) == '*' && peek(l, 1) == '/') {
            l->at += 2;
            return true;
        }
    }
    return false;
}

static bool skip_blank(struct sql_lexer *l) {
    for (;;) {
        char c = peek(l, 0);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            l->at++;
        } else if (c == '-' && peek(l, 1) == '-') {
            if (!skip_line_comment(l))
                return false;
        } else if (c == '/' && peek(l, 1) == '*') {
            if (!skip_block_comment(l))
                return false;
        } else if (c == '#' && l->dialect == POLICY_SQL_MYSQL) {
            if (!skip_line(l))
                return false;
        } else {
            return true;
        }
    }
}

bool policy_sql_is_call(const struct sql_lexer *l) {
    struct sql_lexer ahead = *l;
    return skip_blank(&ahead) && peek(&ahead, 0) == '(';
}

/* A doubled quote is a quote. After an odd number of backslashes, some databases do not end the string. */
static bool read_quoted(struct sql_lexer *l, char quote) {
    size_t start = ++l->at, slashes = 0;
    for (; l->at < l->text.len; l->at++) {
        char c = l->text.ptr[l->at];
        if (c != quote) {
            slashes = c == '\\' ? slashes + 1 : 0;
            continue;
        }
        if (is_mysql(l) && slashes % 2)
            return false;
        slashes = 0;
        if (peek(l, 1) == quote) {
            l->at++;
            continue;
        }
        l->word = slice_of(l->text.ptr + start, l->at - start);
        l->at++;
        return true;
    }
    return false;
}

/* A name in backticks. For any database it may only contain what is harmless where backticks do not quote. */
static bool read_backticks(struct sql_lexer *l) {
    if (l->dialect == POLICY_SQL_MSSQL || !read_quoted(l, '`'))
        return false;
    if (l->dialect != POLICY_SQL_ANY)
        return true;
    for (size_t i = 0; i < l->word.len; i++) {
        char c = l->word.ptr[i];
        bool is_dash = c == '-' && !(i + 1 < l->word.len && l->word.ptr[i + 1] == '-');
        if (!is_letter(c) && !is_digit(c) && !is_dash && c != ' ' && c != '.' && c != ':')
            return false;
    }
    return true;
}

/* [a name]: SQL Server doubles a closing bracket, SQLite cannot have one. */
static bool read_brackets(struct sql_lexer *l) {
    size_t start = ++l->at;
    for (; l->at < l->text.len; l->at++) {
        if (peek(l, 0) != ']')
            continue;
        if (peek(l, 1) == ']' && l->dialect == POLICY_SQL_MSSQL) {
            l->at++;
            continue;
        }
        l->word = slice_of(l->text.ptr + start, l->at - start);
        l->at++;
        return true;
    }
    return false;
}

/* For any database a bracket may open a name or an array, so it must close at the same place for both, and
 * its content is read as tokens, too. */
static bool brackets_are_plain(const struct sql_lexer *l) {
    bool in_quotes = false;
    for (size_t i = l->at + 1; i < l->text.len; i++) {
        char c = l->text.ptr[i];
        if (c == ']')
            return !in_quotes && !(i + 1 < l->text.len && l->text.ptr[i + 1] == ']');
        if (c == '\'')
            in_quotes = !in_quotes;
        else if (c == '[' || c == '"' || c == '`' || c == '\\' || c == '/' ||
                 (c == '-' && l->text.ptr[i - 1] == '-'))
            return false;
    }
    return false;
}

static enum sql_token read_number(struct sql_lexer *l) {
    if (peek(l, 0) == '0' && (peek(l, 1) | 0x20) == 'x') {
        for (l->at += 2; is_digit(peek(l, 0)) || ((peek(l, 0) | 0x20) >= 'a' && (peek(l, 0) | 0x20) <= 'f');)
            l->at++;
    } else {
        while (is_digit(peek(l, 0)) || peek(l, 0) == '.')
            l->at++;
        if ((peek(l, 0) | 0x20) == 'e') {
            size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';
            if (!is_digit(peek(l, 1 + sign)))
                return SQL_BAD;
            for (l->at += 1 + sign; is_digit(peek(l, 0));)
                l->at++;
        }
    }
    char next = peek(l, 0);
    return is_letter(next) || next == '$' || (unsigned char)next >= 0x80 ? SQL_BAD : SQL_NUMBER;
}

/* Bytes of the non-ASCII letter here; 0 when it is not a letter. The text is valid UTF-8. */
static size_t wide_letter(const struct sql_lexer *l) {
    static const struct {
        uint32_t from, to;
    } letters[] = {{0xc0, 0xd6},     {0xd8, 0xf6},     {0xf8, 0x12f},    {0x132, 0x17e},
                   {0x180, 0x24f},   {0x388, 0x3ff},   {0x400, 0x481},   {0x48a, 0x52f},
                   {0x3041, 0x3096}, {0x30a1, 0x30fa}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3}};
    unsigned char first = (unsigned char)peek(l, 0);
    size_t len = first >= 0xf0 ? 0 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    uint32_t code = len == 3 ? first & 0x0f : first & 0x1f;
    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)peek(l, i) & 0x3f);
    for (size_t i = 0; len && i < sizeof(letters) / sizeof(letters[0]); i++)
        if (code >= letters[i].from && code <= letters[i].to)
            return len;
    return 0;
}

/* Characters that continue a word: temporary tables and variables of SQL Server have more. */
static size_t word_part(const struct sql_lexer *l) {
    char c = peek(l, 0);
    if (is_letter(c) || is_digit(c) || c == '$')
        return 1;
    if (l->dialect == POLICY_SQL_MSSQL && (c == '#' || c == '@'))
        return 1;
    return wide_letter(l);
}

/* n'...', x'ff': the prefixes that leave a string a string. q'...', E'...', r'...' and the like do not. */
static bool prefix_is_plain(struct slice word, const struct sql_lexer *l) {
    if (slice_eq_nocase(word, SLICE("x")) || slice_eq_nocase(word, SLICE("b"))) {
        for (size_t i = l->at + 1; i < l->text.len && l->text.ptr[i] != '\''; i++)
            if (!is_digit(l->text.ptr[i]) && ((l->text.ptr[i] | 0x20) < 'a' || (l->text.ptr[i] | 0x20) > 'f'))
                return false;
        return true;
    }
    return policy_sql_in(word, " n date time timestamp _utf8 _utf8mb4 _latin1 _binary ");
}

static enum sql_token read_word(struct sql_lexer *l) {
    size_t start = l->at, step;
    while ((step = word_part(l)) > 0)
        l->at += step;
    l->word = slice_of(l->text.ptr + start, l->at - start);
    char next = peek(l, 0);
    if ((next == '\'' && !prefix_is_plain(l->word, l)) ||
        (next == '&' && (peek(l, 1) == '"' || peek(l, 1) == '\'')))
        return SQL_BAD;
    return (unsigned char)next >= 0x80 ? SQL_BAD : SQL_WORD;
}

/* @x @@x $1 */
static enum sql_token read_variable(struct sql_lexer *l) {
    /* For SQL Server it is money, and a word may follow at once: `$1DELETE`, `$1.DELETE`. */
    if (peek(l, 0) == '$' && l->dialect != POLICY_SQL_SQLITE) {
        l->at++;
        return read_number(l) == SQL_NUMBER ? SQL_VARIABLE : SQL_BAD;
    }
    while (peek(l, 0) == '@' || peek(l, 0) == '$')
        l->at++;
    enum sql_token token = read_word(l);
    return token == SQL_WORD ? SQL_VARIABLE : token;
}

static enum sql_token read_punct(struct sql_lexer *l) {
    static const char puncts[] = "()[].,;:=<>+-*/%|&^~!?@";
    char c = l->text.ptr[l->at++];
    if (!memchr(puncts, c, sizeof(puncts) - 1) || (c == ':' && peek(l, 0) == '='))
        return SQL_BAD;
    l->punct = c;
    return SQL_PUNCT;
}

enum sql_token policy_sql_next(struct sql_lexer *l) {
    l->word = (struct slice){0};
    if (!skip_blank(l))
        return SQL_BAD;
    if (l->at == l->text.len)
        return SQL_END;
    char c = peek(l, 0), next = peek(l, 1);
    if (is_letter(c) || wide_letter(l) || (c == '#' && l->dialect == POLICY_SQL_MSSQL))
        return read_word(l);
    if (is_digit(c) || (c == '.' && is_digit(next)))
        return read_number(l);
    if ((c == '@' && (is_letter(next) || next == '@')) ||
        (c == '$' && (is_digit(next) || l->dialect == POLICY_SQL_SQLITE)))
        return read_variable(l);
    switch (c) {
    case '\'':
        return read_quoted(l, c) ? SQL_STRING : SQL_BAD;
    case '"':
        return read_quoted(l, c) ? SQL_NAME : SQL_BAD;
    case '`':
        return read_backticks(l) ? SQL_NAME : SQL_BAD;
    case '[':
        if (l->dialect == POLICY_SQL_MSSQL || l->dialect == POLICY_SQL_SQLITE)
            return read_brackets(l) ? SQL_NAME : SQL_BAD;
        if (l->dialect == POLICY_SQL_MYSQL || !brackets_are_plain(l))
            return SQL_BAD;
        return read_punct(l);
    default:
        return read_punct(l);
    }
}
