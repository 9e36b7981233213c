/* The SQL checker in every dialect. The first byte chooses the dialect, the rest is the statement. */
#include "fuzz.h"
#include "policy/match.h"

static bool reads(struct slice sql, enum policy_sql_dialect dialect) {
    return policy_sql_judge(sql, dialect) == POLICY_SQL_READS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    enum policy_sql_dialect dialect = (enum policy_sql_dialect)(fuzz_byte(&in) % POLICY_SQL_DIALECTS);
    char *copy = fuzz_copy(in);
    struct slice text = slice_of(copy, in.len);
    struct arena a;
    arena_init(&a);
    if (reads(text, dialect)) {
        /* A comment in front changes nothing; a second statement, written or hidden in WITH, is refused. */
        CHECK(reads(arena_printf(&a, "/* a */ %.*s", SLICE_FMT(text)), dialect));
        CHECK(!reads(arena_printf(&a, "%.*s\n;DROP TABLE t", SLICE_FMT(text)), dialect));
        CHECK(!reads(arena_printf(&a, "%.*s\n, pg_read_file('/etc/passwd')", SLICE_FMT(text)), dialect));
        CHECK(!reads(arena_printf(&a, "WITH d AS (DELETE FROM t) %.*s", SLICE_FMT(text)), dialect));
    }
    arena_free(&a);
    free(copy);
    return 0;
}
