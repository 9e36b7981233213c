/* The sql operator against a real SQLite: what passes there prepares as a statement that only reads, and
 * reads nothing but the database. */
#include "policy/match.h"

#include "base/mem.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>

#include <cmocka.h>

#define LINE_MAX_BYTES 4096

static const char schema[] = "CREATE TABLE people (name TEXT, age INTEGER, city TEXT, born TEXT, data TEXT);"
                             "CREATE INDEX by_city ON people (city);"
                             "CREATE TABLE ticks (open REAL, \"end\" REAL);"
                             "CREATE VIRTUAL TABLE docs USING fts5 (body);"
                             "INSERT INTO people VALUES ('A', 5, 'Rome', '2000-01-01', '{}');";

static sqlite3 *open_database(void) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, schema, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* Whether SQLite takes the statement; the checker has let it through. */
static bool run_read(sqlite3 *db, struct slice sql) {
    const char *tail = NULL;
    sqlite3_stmt *statement = NULL;
    int before = sqlite3_total_changes(db);
    int code = sqlite3_prepare_v2(db, sql.ptr, (int)sql.len, &statement, &tail);
    if (code == SQLITE_OK && statement) {
        if (!sqlite3_stmt_readonly(statement) || (tail < sql.ptr + sql.len && *tail != ' '))
            fail_msg("acts: %.*s", SLICE_FMT(sql));
        while (sqlite3_step(statement) == SQLITE_ROW)
            ;
    }
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_total_changes(db), before);
    return code == SQLITE_OK;
}

static FILE *open_table(const char *name) {
    char path[LINE_MAX_BYTES];
    snprintf(path, sizeof(path), "%s/tests/policy/sql/%s", getenv("SALLYPORT_ROOT"), name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

static struct slice read_line(FILE *file, char *line) {
    if (!fgets(line, LINE_MAX_BYTES, file))
        return (struct slice){0};
    return slice_trim(slice_str(line));
}

static void test_honest(void **state) {
    (void)state;
    sqlite3 *db = open_database();
    cleanup_file FILE *file = open_table("sqlite.sql");
    char line[LINE_MAX_BYTES];
    unsigned ran = 0;
    for (struct slice sql; (sql = read_line(file, line)).len;) {
        if (policy_sql_judge(sql, POLICY_SQL_SQLITE) != POLICY_SQL_READS)
            fail_msg("refused: %.*s", SLICE_FMT(sql));
        ran += run_read(db, sql);
    }
    assert_true(ran >= 35); /* a few need a newer SQLite */
    sqlite3_close(db);
}

/* Words of the grammar in random order. Most are nonsense; what passes and prepares only reads. */
static void test_random(void **state) {
    (void)state;
    static const char *const words[] = {"SELECT",
                                        "FROM",
                                        "people",
                                        "WHERE",
                                        "(",
                                        ")",
                                        ",",
                                        "1",
                                        "name",
                                        "AS",
                                        "x",
                                        "WITH",
                                        "DELETE",
                                        "INSERT",
                                        "INTO",
                                        "UNION",
                                        "VALUES",
                                        "lower",
                                        "*",
                                        "ticks",
                                        ";",
                                        "PRAGMA",
                                        "(1)",
                                        "'a'",
                                        "EXPLAIN",
                                        "PLAN",
                                        "QUERY",
                                        "SET",
                                        "changes",
                                        "pragma_x",
                                        "JOIN",
                                        "ON",
                                        "x AS (",
                                        "UPDATE",
                                        "age",
                                        "=",
                                        "RETURN",
                                        "DROP",
                                        "TABLE",
                                        "REPLACE",
                                        "user_version",
                                        "load_extension",
                                        "IN",
                                        "CASE",
                                        "WHEN",
                                        "THEN",
                                        "END",
                                        "--x\n",
                                        "/**/",
                                        "[name]",
                                        "\"age\"",
                                        "ORDER",
                                        "BY",
                                        "LIMIT"};
    sqlite3 *db = open_database();
    uint32_t seed = 12345;
    unsigned passed = 0;
    for (unsigned round = 0; round < 200000; round++) {
        char sql[512] = "SELECT";
        size_t len = round % 3 ? 6 : 0;
        for (unsigned i = 0; i < 2 + round % 9; i++) {
            seed = seed * 1664525 + 1013904223;
            len += (size_t)snprintf(sql + len, sizeof(sql) - len, " %s",
                                    words[(seed >> 8) % (sizeof(words) / sizeof(words[0]))]);
        }
        struct slice text = slice_trim(slice_of(sql, len));
        if (policy_sql_judge(text, POLICY_SQL_SQLITE) == POLICY_SQL_READS)
            passed += run_read(db, text);
    }
    assert_true(passed > 100);
    sqlite3_close(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
