/* The operators that look inside a string. Pure: text in, answer out. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"
#include "policy/limits.h"

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

/* One round of percent decoding: %41 is a byte, %u0041 a character. *ret_steps: a dot, slash, backslash, NUL
 * or percent sign was encoded. */
struct slice policy_percent_decode(struct slice text, struct arena *a, bool *ret_steps);

/* What a text is, besides a path or the content of a file. */
enum policy_preset_form {
    POLICY_PRESET_COMMAND = 1, /* every word counts */
    POLICY_PRESET_JSON = 2,    /* a server may parse it: every string in it counts */
};
/* A path with a component from which agents, editors, shells or the system read instructions: .cursor,
 * mcp.json, .bashrc … Of any length; each line counts as well, and the names in the head of a patch. */
bool policy_preset_names_config(struct slice text, unsigned forms, struct arena *a);

/* A folder in one text and its content in another: {"dir": "/x/.github", "file": "workflows/a.yml"}. */
struct policy_preset_parts {
    uint64_t folders[POLICY_PRESET_NAMES_MAX / 64]; /* one bit for each protected name */
    uint64_t contents[POLICY_PRESET_NAMES_MAX / 64];
};
/* true: what was added so far names such a path together. */
bool policy_preset_add_part(struct policy_preset_parts *parts, struct slice text, struct arena *a);

/* Nothing in it that a shell treats specially, and no control characters; nor after a normalisation. Valid
 * UTF-8. */
bool policy_shell_clean(struct slice text, struct arena *a);
/* Does a program read it as an option: a dash, after what a server may remove? */
bool policy_shell_is_option(struct slice text);
