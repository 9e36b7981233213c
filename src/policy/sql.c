/* Is this text one statement that only reads?
 *
 * Databases disagree about comments, quotes and escapes, and an attacker lives off the difference: text that
 * we take for a string must be a string to every one of them. So wherever the dialects differ (backslash
 * before a quote, nested or executable comments, `#`, dollar quotes, brackets holding quotes, a number grown
 * together with a word, bytes beyond ASCII outside quotes) the answer is no. What is left is a plain row of
 * tokens, in which the first word must be a reading one and no writing word may stand anywhere, because T-SQL
 * needs no semicolon between statements. Functions that act on the outside are listed; user-defined ones
 * cannot be known. */
#include "policy/limits.h"
#include "policy/match.h"

#define SQL_WORD_MAX 64

enum token { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_STRING, TOKEN_PUNCT, TOKEN_BAD };

struct lexer {
    struct slice text;
    size_t at;
    struct slice word;
    char punct;
};

static const char *const first_words[] = {"select", "with",     "show", "explain", "values",
                                          "table",  "describe", "desc", NULL};

static const char *const writing_words[] = {
    "insert",    "update",         "delete",  "merge",     "upsert",     "into",    "drop",     "alter",
    "create",    "truncate",       "exec",    "execute",   "call",       "grant",   "revoke",   "set",
    "do",        "declare",        "backup",  "restore",   "shutdown",   "kill",    "dbcc",     "bulk",
    "waitfor",   "reconfigure",    "refresh", "writetext", "updatetext", "outfile", "dumpfile", "openrowset",
    "openquery", "opendatasource", "attach",  "detach",    "pragma",     "copy",    "deny",     "replace",
    NULL};

static const char *const acting_functions[] = {"pg_sleep",
                                               "pg_sleep_for",
                                               "pg_sleep_until",
                                               "pg_terminate_backend",
                                               "pg_cancel_backend",
                                               "pg_reload_conf",
                                               "pg_rotate_logfile",
                                               "pg_promote",
                                               "pg_switch_wal",
                                               "pg_notify",
                                               "set_config",
                                               "nextval",
                                               "setval",
                                               "query_to_xml",
                                               "query_to_xmlschema",
                                               "query_to_xml_and_xmlschema",
                                               "cursor_to_xml",
                                               "database_to_xml",
                                               "table_to_xml",
                                               "load_file",
                                               "load_extension",
                                               "writefile",
                                               "readfile",
                                               "edit",
                                               "sys_exec",
                                               "sys_eval",
                                               "sleep",
                                               "benchmark",
                                               "get_lock",
                                               "release_lock",
                                               "xp_cmdshell",
                                               "sp_executesql",
                                               "release_all_locks",
                                               "ts_stat",
                                               "httpuritype",
                                               "file",
                                               "url",
                                               "s3",
                                               "remote",
                                               "mysql",
                                               "postgresql",
                                               "jdbc",
                                               "system",
                                               NULL};

static const char *const acting_prefixes[] = {"lo_",
                                              "dblink",
                                              "pg_read_",
                                              "pg_ls_",
                                              "pg_file_",
                                              "pg_write_",
                                              "pg_advisory_",
                                              "pg_try_advisory_",
                                              "pg_logical_",
                                              "pg_create_",
                                              "pg_drop_",
                                              "pg_stat_reset",
                                              "pg_stat_file",
                                              "pg_replication_",
                                              "pg_wal_replay_",
                                              "pg_backup_",
                                              "crosstab",
                                              "read_",
                                              "xp_",
                                              "sp_oa",
                                              NULL};

/* Packages of Oracle, whose functions follow a dot. */
static const char *const acting_packages[] = {"utl_", "dbms_", NULL};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const struct lexer *l, size_t ahead) {
    return l->at + ahead < l->text.len ? l->text.ptr[l->at + ahead] : '\0';
}

static bool word_in(struct slice word, const char *const *words) {
    for (; *words; words++)
        if (slice_eq_nocase(word, slice_str(*words)))
            return true;
    return false;
}

/* `-- ` to the end of the line. MySQL wants the blank, PostgreSQL also ends the line at a carriage return. */
static bool skip_line_comment(struct lexer *l) {
    char after = peek(l, 2);
    if (after != ' ' && after != '\n' && after != '\t' && after != '\0')
        return false;
    for (; l->at < l->text.len && l->text.ptr[l->at] != '\n'; l->at++)
        if (l->text.ptr[l->at] == '\r')
            return false;
    return true;
}

static bool skip_block_comment(struct lexer *l) {
    char first = peek(l, 2);
    if (first == '!' || first == '+' || first == 'M' || first == 'm')
        return false; /* MySQL, MariaDB and hint comments are executed */
    for (l->at += 2; l->at + 1 < l->text.len; l->at++) {
        if (peek(l, 0) == '/' && peek(l, 1) == '*')
            return false;
        if (peek(l, 0) == '*' && peek(l, 1) == '/') {
            l->at += 2;
            return true;
        }
    }
    return false;
}

static bool skip_blank(struct lexer *l) {
    for (;;) {
        char c = peek(l, 0);
        if (l->at < l->text.len && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            l->at++;
        } else if (c == '-' && peek(l, 1) == '-') {
            if (!skip_line_comment(l))
                return false;
        } else if (c == '/' && peek(l, 1) == '*') {
            if (!skip_block_comment(l))
                return false;
        } else {
            return true;
        }
    }
}

/* A doubled quote is a quote; a backslash before a quote would be one to MySQL only. */
static bool read_quoted(struct lexer *l, char quote) {
    for (l->at++; l->at < l->text.len; l->at++) {
        char c = l->text.ptr[l->at];
        if (c == '\0')
            return false;
        if (c == '\\' && (peek(l, 1) == quote || peek(l, 1) == '\\' || peek(l, 1) == '\0'))
            return false;
        if (c != quote)
            continue;
        if (peek(l, 1) == quote) {
            l->at++;
            continue;
        }
        l->at++;
        return true;
    }
    return false;
}

/* A name in backticks or brackets, where only some databases quote: nothing inside that would mean another
 * thing to the others. */
static bool read_name(struct lexer *l, char close) {
    size_t i = l->at + 1;
    for (; i < l->text.len && l->text.ptr[i] != close; i++) {
        char c = l->text.ptr[i];
        if (!is_letter(c) && !is_digit(c) && c != ' ' && c != '.' && c != ',' && c != ':' && c != '-')
            return false;
        if (c == '-' && l->text.ptr[i + 1 < l->text.len ? i + 1 : i] == '-')
            return false;
    }
    if (i == l->text.len)
        return false;
    l->at = close == '`' ? i + 1 : l->at + 1; /* the inside of brackets is read as tokens too */
    return true;
}

static enum token read_number(struct lexer *l) {
    if (peek(l, 0) == '0' && (peek(l, 1) | 0x20) == 'x') {
        for (l->at += 2; is_digit(peek(l, 0)) || ((peek(l, 0) | 0x20) >= 'a' && (peek(l, 0) | 0x20) <= 'f');)
            l->at++;
    } else {
        while (is_digit(peek(l, 0)) || peek(l, 0) == '.')
            l->at++;
        if ((peek(l, 0) | 0x20) == 'e') {
            size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';
            if (!is_digit(peek(l, 1 + sign)))
                return TOKEN_BAD;
            for (l->at += 1 + sign; is_digit(peek(l, 0));)
                l->at++;
        }
    }
    return is_letter(peek(l, 0)) ? TOKEN_BAD : TOKEN_NUMBER;
}

static enum token read_word(struct lexer *l) {
    size_t start = l->at;
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)))
        l->at++;
    l->word = slice_of(l->text.ptr + start, l->at - start);
    return l->word.len > SQL_WORD_MAX ? TOKEN_BAD : TOKEN_WORD;
}

static enum token next_token(struct lexer *l) {
    if (!skip_blank(l))
        return TOKEN_BAD;
    if (l->at == l->text.len)
        return TOKEN_END;
    char c = l->text.ptr[l->at];
    if ((unsigned char)c >= 0x80 || (unsigned char)c < 0x20 || c == 0x7f || c == '#' || c == '\\')
        return TOKEN_BAD;
    if (is_letter(c))
        return read_word(l);
    if (is_digit(c) || (c == '.' && is_digit(peek(l, 1))))
        return read_number(l);
    if (c == '\'' || c == '"' || c == '`') {
        size_t start = l->at + 1;
        if (!(c == '`' ? read_name(l, c) : read_quoted(l, c)))
            return TOKEN_BAD;
        l->word = c == '\'' ? (struct slice){0} : slice_of(l->text.ptr + start, l->at - 1 - start);
        return TOKEN_STRING;
    }
    if (c == '[' && !read_name(l, ']'))
        return TOKEN_BAD;
    if (c == '$' && !is_digit(peek(l, 1)))
        return TOKEN_BAD;
    if (c == ':' && peek(l, 1) == '=')
        return TOKEN_BAD;
    if (c != '[')
        l->at++;
    l->punct = c;
    return TOKEN_PUNCT;
}

static bool starts_with_any(struct slice word, const char *const *prefixes) {
    for (; *prefixes; prefixes++)
        if (slice_eq_nocase(slice_upto(word, strlen(*prefixes)), slice_str(*prefixes)))
            return true;
    return false;
}

static bool is_call(const struct lexer *l) {
    struct lexer ahead = *l;
    return skip_blank(&ahead) && peek(&ahead, 0) == '(';
}

static bool function_acts(struct slice name) {
    return starts_with_any(name, acting_prefixes) || word_in(name, acting_functions);
}

static bool word_acts(const struct lexer *l) {
    if (slice_eq_nocase(l->word, SLICE("replace")))
        return !is_call(l); /* replace(text, from, to) is an ordinary function */
    if (word_in(l->word, writing_words) || starts_with_any(l->word, acting_packages))
        return true;
    return is_call(l) && function_acts(l->word);
}

/* "pg_sleep"(1): a function may be named in double quotes or backticks. What is not plain in there could be
 * spelled in a way that only the database can read (U&"…"). */
static bool quoted_acts(const struct lexer *l) {
    if (starts_with_any(l->word, acting_packages))
        return true;
    if (!is_call(l))
        return false;
    for (size_t i = 0; i < l->word.len; i++)
        if (!is_letter(l->word.ptr[i]) && !is_digit(l->word.ptr[i]))
            return true;
    return function_acts(l->word);
}

bool policy_sql_read_only(struct slice sql) {
    /* Some databases stop reading at a NUL. */
    if (sql.len == 0 || sql.len > POLICY_SQL_MAX || slice_find(sql, '\0') >= 0)
        return false;
    struct lexer l = {.text = sql};
    bool started = false, ended = false;
    for (;;) {
        enum token token = next_token(&l);
        if (token == TOKEN_END)
            return started;
        if (token == TOKEN_BAD || ended)
            return false;
        if (token == TOKEN_PUNCT && l.punct == ';') {
            ended = true;
            continue;
        }
        if (!started) {
            if (token == TOKEN_PUNCT && l.punct == '(')
                continue;
            if (token != TOKEN_WORD || !word_in(l.word, first_words))
                return false;
            started = true;
            continue;
        }
        if ((token == TOKEN_WORD && word_acts(&l)) || (token == TOKEN_STRING && quoted_acts(&l)))
            return false;
    }
}
