/* Shared by the files of the SQL checker; match.h has its entry point.
 *
 *   sql.c            checks one statement: SQLite, MySQL, SQL Server, and text for any database
 *   sql_lexer.c      tokens that all those databases would read alike; otherwise an error
 *   sql_postgres.c   PostgreSQL, by its own grammar
 *   sql_names.c      the functions that only compute or read, per database */
#pragma once

#include "policy/match.h"

enum sql_token {
    SQL_END,
    SQL_WORD,   /* select, users */
    SQL_NAME,   /* "users", `users`, [users] */
    SQL_STRING, /* '...' */
    SQL_NUMBER,
    SQL_VARIABLE, /* @x, @@version, $1 */
    SQL_PUNCT,
    SQL_BAD,
};

struct sql_lexer {
    struct slice text;
    size_t at;
    enum policy_sql_dialect dialect;
    struct slice word; /* of a word; what stands between the quotes of a name */
    char punct;
};

enum sql_token policy_sql_next(struct sql_lexer *l);
/* The next token is an opening parenthesis. */
bool policy_sql_is_call(const struct sql_lexer *l);

/* `list` is words between blanks: " a b c ". Case does not matter. */
bool policy_sql_in(struct slice word, const char *list);
/* A function that computes or reads and does nothing else. */
bool policy_sql_knows(struct slice function, enum policy_sql_dialect dialect);
/* A function of PostgreSQL or Oracle with side effects that can be called like a column: `t.pg_read_file`,
 * `s.nextval`. */
bool policy_sql_acts_as_column(struct slice name);

enum policy_sql_answer policy_sql_postgres(struct slice sql);
/* Does no `t.f` in the statement call a function of PostgreSQL, where t is the result of a function? */
enum policy_sql_answer policy_sql_postgres_columns(struct slice sql);
/* Is it a column that functions of PostgreSQL return, so that `(f()).name` calls nothing? */
bool policy_sql_is_result_column(struct slice name);
