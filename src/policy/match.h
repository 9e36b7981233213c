/* The operators that look inside a string. Pure: text in, answer out. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

enum policy_glob_answer {
    POLICY_GLOB_NO,
    POLICY_GLOB_YES,
    POLICY_GLOB_BROKEN, /* the pattern has an unclosed set, an unknown class or ends in a backslash */
    POLICY_GLOB_SPENT,
};
/* As git's wildmatch: `*` any run, `?` one character, `[a-z]` `[!a-z]` `[[:alpha:]]` one of a set, `\x` the
 * character itself. With a separator (not 0) `*`, `?` and sets stop there; `**` between separators stands for
 * any number of directories, none included, and at the end for everything below. Characters are those of
 * UTF-8. Each step is taken from *steps. */
enum policy_glob_answer policy_glob_match(struct slice pattern, struct slice text, char separator,
                                          uint64_t *steps);
/* Names of tools and methods: no separator. */
bool policy_glob_names(struct slice pattern, struct slice name);
bool policy_glob_is_pattern(struct slice text);
/* false: the pattern can match nothing. */
bool policy_glob_is_sound(struct slice pattern);

/* Is `path` inside `dir` (or dir itself)? Lexically: absolute, no NUL, no `~`, no percent-encoded dots or
 * slashes, no backslash, `.` and `..` folded, compared component by component. */
bool policy_under_holds(struct slice path, struct slice dir, struct arena *a);
/* The normalised form of an absolute path; false for paths that policy_under_holds refuses. */
bool policy_under_clean(struct slice path, struct arena *a, struct slice *ret_clean);

enum policy_sql_dialect {
    POLICY_SQL_ANY, /* for any database: only what all of them read the same way and what changes nothing */
    POLICY_SQL_POSTGRES,
    POLICY_SQL_MYSQL, /* and MariaDB, TiDB */
    POLICY_SQL_SQLITE,
    POLICY_SQL_MSSQL,
    POLICY_SQL_DIALECTS,
};
extern const char *const policy_sql_dialects[]; /* names as a policy writes them, NULL at the end */
bool policy_sql_dialect_from(struct slice name, enum policy_sql_dialect *ret_dialect);

enum policy_sql_answer {
    POLICY_SQL_READS,
    POLICY_SQL_WRITES,
    POLICY_SQL_UNCLEAR, /* something is unknown, or servers read it differently */
};
/* Is it one statement that only reads? */
enum policy_sql_answer policy_sql_judge(struct slice sql, enum policy_sql_dialect dialect);

/* A path with a component from which agents, editors, shells or the system read instructions: .cursor,
 * mcp.json, .bashrc … Of any length, on any number of lines; in a command every word counts. */
bool policy_preset_names_config(struct slice text, bool is_command);

/* Nothing in it that a shell treats specially, and no control characters. */
bool policy_shell_clean(struct slice text);
