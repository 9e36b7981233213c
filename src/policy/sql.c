/* Is this text one statement that only reads?
 *
 * For PostgreSQL its own grammar decides (sql_postgres.c). For the others, and for text that may reach any
 * database, the statement is checked token by token:
 *
 *   - It begins with a word that reads. It has no writing word and no second statement. SQL Server starts
 *     one without a semicolon, so a word that could start one is accepted only in place of an operand.
 *   - Every name before a parenthesis is a known function (sql_names.c), a word of the grammar, or names
 *     columns: WITH t(a), FROM (...) t(a).
 *   - Nothing in FROM is a file or on another server: DuckDB reads FROM 'a.csv', Spark FROM csv.`/a`, Oracle
 *     FROM t@link, SQL Server FROM server.db.dbo.t. The same holds for what DESCRIBE and SHOW name.
 *   - No line is a command of sqlite3, sqlcmd or SQL*Plus, through which some servers run statements.
 *
 * Text that no database accepts may pass: it has no effect there. */
#include "policy/sql.h"

#include "policy/limits.h"
#include "wire/tape.h"

/* clang-format off */
static const char query_words[] = " select with values table ";

static const char explain_words[] =
    " analyze analyse verbose extended partitions format query plan formatted cost costs codegen logical settings"
    " buffers timing json text tree traditional yaml xml summary wal on off true false ";

/* Refused everywhere, unless they are called as functions or follow a dot. */
static const char writing_words[] =
    " insert update delete merge upsert replace truncate drop alter create exec execute call grant revoke into outfile"
    " dumpfile openrowset openquery opendatasource writetext updatetext ";

/* Words that start a statement of SQL Server. */
static const char starting_words[] =
    " add backup begin break bulk checkpoint close commit continue copy dbcc deallocate declare deny disable do enable end"
    " get goto if kill lineno load move open print raiserror readtext receive reconfigure rename dump disk mount quiesce"
    " reorg unmount restore return revert rollback save send set setuser shutdown throw unlock use waitfor while ";

/* Hints of SQL Server that keep others from reading or writing. */
static const char locking_hints[] =
    " xlock updlock tablock tablockx holdlock serializable repeatableread readcommittedlock ";

/* Words that end a query of MySQL and do more than read. */
static const char locking_words[] = " lock procedure ";

/* After these every database expects an operand or a name, and no statement can end before it. */
static const char operand_words[] =
    " select distinct all where and or not like in between is on by from join having as case when then else union except"
    " intersect ";

/* Words of the grammar that may be followed by a parenthesis. */
static const char grammar_words[] =
    " all and any apply array as between by case cube distinct div else escape except exclude exists fetch filter from"
    " group having ignore ilike in index intersect is join key lateral like limit match materialized minus not offset on"
    " only option or order over partition pivot qualify regexp repeatable rlike rollup select sets some table"
    " tablesample then top union unpivot using values when where window with within xor against range rows to similar"
    " ordinality columns ";

/* Words of DuckDB before a table. */
static const char table_words[] = " table describe desc summarize pivot unpivot pivot_wider pivot_longer ";

/* Words that end FROM. */
static const char after_from[] =
    " where group having order limit union except intersect minus window select qualify fetch offset ";

/* Methods of SQL Server's XML type and functions of its schema sys. */
static const char mssql_members[] =
    " stastext stasbinary stdistance stintersects stcontains stwithin stlength starea stbuffer stx sty stsrid stisvalid"
    " stequals sttouches stoverlaps stcrosses stenvelope stcentroid stpointn stnumpoints stgeometrytype"
    " value query nodes exist dm_exec_sql_text dm_exec_query_plan dm_exec_text_query_plan dm_db_index_physical_stats"
    " dm_db_index_operational_stats dm_io_virtual_file_stats dm_sql_referenced_entities dm_sql_referencing_entities"
    " fn_my_permissions fn_listextendedproperty ";

/* Types that PostgreSQL and others cast to with a size: a::numeric(10, 2). */
static const char sized_types[] =
    " numeric decimal dec number float double varchar char character nchar nvarchar bpchar bit varbit binary varbinary"
    " time timetz timestamp timestamptz interval datetime2 ";

/* Static methods of its types. */
static const char mssql_statics[] =
    " point parse getroot stgeomfromtext stgeomfromwkb stpointfromtext stlinefromtext stpolyfromtext unionaggregate"
    " collectionaggregate envelopeaggregate convexhullaggregate ";

/* Statements of SQLite that only return information; the first group takes an argument that names a table. */
static const char pragmas_of_table[] =
    " table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check"
    " integrity_check quick_check ";
static const char pragmas[] =
    " database_list collation_list function_list module_list pragma_list compile_options user_version application_id"
    " schema_version page_count page_size freelist_count encoding journal_mode foreign_keys analysis_limit"
    " auto_vacuum automatic_index busy_timeout cache_size cache_spill cell_size_check checkpoint_fullfsync"
    " data_version defer_foreign_keys fullfsync hard_heap_limit ignore_check_constraints journal_size_limit"
    " legacy_alter_table locking_mode max_page_count mmap_size query_only read_uncommitted recursive_triggers"
    " reverse_unordered_selects secure_delete soft_heap_limit synchronous temp_store threads trusted_schema"
    " wal_autocheckpoint writable_schema ";

/* Virtual tables of SQLite that reach outside the database. */
static const char outside_tables[] = " fsdir zipfile sqlite_dbdata sqlite_dbptr csv lsdir ";
/* clang-format on */

/* In FROM a.csv DuckDB reads the file a.csv where there is no such table. */
static const char file_types[] =
    " arrow avro csv db duckdb feather gz json jsonl ndjson orc parquet sqlite tsv txt xls xlsx zst ";

enum cte { CTE_NONE, CTE_NAME, CTE_NAMED, CTE_BODY, CTE_DONE };

struct frame { /* what one pair of parentheses holds */
    bool is_query;
    bool in_from;
    bool is_name; /* nothing but a.b */
    enum cte cte;
    unsigned cases;
};

struct token {
    enum sql_token kind;
    struct slice word;
    char punct;
};

struct walk {
    struct sql_lexer l;
    struct token now, before;
    struct slice qualifier; /* the name before this one: a of a.b */
    unsigned dots;          /* of the name so far */
    bool closed_name;       /* the last pair held nothing but a.b */
    bool of_value;          /* the name follows an expression: (f(a)).b */
    bool calls_table;       /* a function stands in the place of a table */
    bool is_table;          /* the name, or the one that it is a part of, is in the place of a table */
    struct frame frames[POLICY_SQL_DEPTH_MAX];
    size_t depth;
};

const char *const policy_sql_dialects[] = {"postgres", "mysql", "sqlite", "mssql", NULL};

bool policy_sql_dialect_from(struct slice name, enum policy_sql_dialect *ret_dialect) {
    for (size_t i = 0; policy_sql_dialects[i]; i++) {
        if (slice_is(name, policy_sql_dialects[i])) {
            *ret_dialect = (enum policy_sql_dialect)(POLICY_SQL_POSTGRES + i);
            return true;
        }
    }
    return false;
}

static bool is_word(const struct token *t, const char *words) {
    return t->kind == SQL_WORD && policy_sql_in(t->word, words);
}

static bool is_punct(const struct token *t, const char *chars) {
    return t->kind == SQL_PUNCT && strchr(chars, t->punct);
}

static bool advance(struct walk *w) {
    w->before = w->now;
    w->now.kind = policy_sql_next(&w->l);
    w->now.word = w->l.word;
    w->now.punct = w->l.punct;
    return w->now.kind != SQL_BAD;
}

/* Text for any database may reach this one. */
static bool may_be(const struct walk *w, enum policy_sql_dialect dialect) {
    return w->l.dialect == dialect || w->l.dialect == POLICY_SQL_ANY;
}

static bool wants_operand(const struct token *t) {
    return is_punct(t, ",(.=<>+-/%|&^~![") || is_word(t, operand_words);
}

/* FOR is harmless in substring(a FROM 1 FOR 2), FOR XML, FOR JSON and FOR SYSTEM_TIME. Elsewhere it locks,
 * or takes the next value of a sequence. */
static bool for_passes(struct walk *w) {
    struct sql_lexer ahead = w->l;
    if (is_word(&w->before, " value "))
        return false;
    if (w->depth && !w->frames[w->depth].is_query)
        return true;
    return policy_sql_next(&ahead) == SQL_WORD &&
           policy_sql_in(ahead.word, " xml json system_time system_version join order group ");
}

/* WITH begins a query, or continues as WITH (NOLOCK), WITH TIES, WITH TIME ZONE. */
static bool with_passes(struct walk *w) {
    struct sql_lexer ahead = w->l;
    if (is_punct(&w->before, "(")) {
        w->frames[w->depth].cte = CTE_NAME;
        return true;
    }
    return policy_sql_is_call(&w->l) ||
           (policy_sql_next(&ahead) == SQL_WORD &&
            policy_sql_in(ahead.word, " ties rollup cube ordinality time offset totals "));
}

static void note_word(struct walk *w) {
    struct frame *f = &w->frames[w->depth];
    if (is_word(&w->now, " from ") && f->is_query && !is_word(&w->before, " distinct "))
        f->in_from = true;
    else if (is_word(&w->now, after_from))
        f->in_from = false;
    if (is_word(&w->now, " case "))
        f->cases++;
}

/* Only WITH name (columns) AS MATERIALIZED (query): ClickHouse has WITH f() AS name. */
static bool cte_passes(struct walk *w) {
    struct frame *f = &w->frames[w->depth];
    bool is_open = is_punct(&w->now, "(");
    switch (f->cte) {
    case CTE_NAME:
        if (is_word(&w->now, " recursive "))
            return true;
        f->cte = CTE_NAMED;
        return w->now.kind == SQL_WORD || w->now.kind == SQL_NAME;
    case CTE_NAMED:
        if (is_word(&w->now, " as "))
            f->cte = CTE_BODY;
        return is_open || f->cte == CTE_BODY;
    case CTE_BODY:
        return is_open || is_word(&w->now, " not materialized ");
    case CTE_DONE:
        f->cte = is_punct(&w->now, ",") ? CTE_NAME : CTE_NONE;
        return f->cte == CTE_NAME || is_open || is_word(&w->now, query_words);
    case CTE_NONE:
        break;
    }
    return true;
}

/* INNER MERGE JOIN of SQL Server. */
static bool is_join_hint(const struct walk *w) {
    struct sql_lexer ahead = w->l;
    return w->l.dialect == POLICY_SQL_MSSQL && is_word(&w->now, " merge ") &&
           policy_sql_next(&ahead) == SQL_WORD && policy_sql_in(ahead.word, " join ");
}

static bool word_passes(struct walk *w, bool is_call) {
    struct frame *f = &w->frames[w->depth];
    const struct token *t = &w->now;
    if (is_word(t, writing_words))
        return is_join_hint(w) || (is_call && policy_sql_knows(t->word, w->l.dialect));
    if (is_word(t, " end ") && f->cases) {
        f->cases--;
        return true;
    }
    bool may_start = may_be(w, POLICY_SQL_MSSQL) && is_word(t, starting_words);
    bool may_lock = may_be(w, POLICY_SQL_MYSQL) && is_word(t, locking_words);
    if ((may_start || may_lock) && !wants_operand(&w->before))
        return is_word(t, " set ") && is_word(&w->before, " character ") && !f->is_query;
    if (may_be(w, POLICY_SQL_MSSQL) && is_word(t, locking_hints) && !is_punct(&w->before, "."))
        return false;
    if (is_word(t, " for "))
        return for_passes(w);
    if (is_word(t, " with "))
        return with_passes(w);
    /* USING 'command' feeds rows to a program in Spark and Hive. */
    if (is_word(&w->before, " using "))
        return !f->is_query;
    note_word(w);
    return true;
}

/* Names that reach outside the database without being called. */
static bool name_stays_inside(const struct walk *w) {
    struct slice name = w->now.word;
    static const char *const packages[] = {"utl_", "dbms_", "owa_", "apex_", "httpuritype"};
    for (size_t i = 0; w->l.dialect == POLICY_SQL_ANY && i < sizeof(packages) / sizeof(packages[0]); i++)
        if (slice_eq_nocase(slice_upto(name, strlen(packages[i])), slice_str(packages[i])))
            return false;
    bool in_table = w->frames[w->depth].in_from || is_word(&w->before, " in ") || w->is_table;
    if (may_be(w, POLICY_SQL_SQLITE) && in_table &&
        (policy_sql_in(name, outside_tables) || (slice_eq_nocase(slice_upto(name, 7), SLICE("pragma_")) &&
                                                 !policy_sql_knows(name, POLICY_SQL_SQLITE))))
        return false;
    bool is_column = is_punct(&w->before, ".") && !w->is_table && !policy_sql_is_call(&w->l);
    if (is_column && may_be(w, POLICY_SQL_MYSQL) && slice_eq_nocase(name, SLICE("nextval")))
        return false; /* MariaDB has sequences as Oracle does */
    return !is_column || w->l.dialect != POLICY_SQL_ANY || !policy_sql_acts_as_column(name);
}

/* If quoted names keep their case, "LOWER" need not be lower. */
static bool has_upper(struct slice name) {
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z')
            return true;
    return false;
}

/* last_insert_id(5) sets what it returns. */
static bool is_last_id(const struct walk *w) {
    struct sql_lexer ahead = w->l;
    return w->l.dialect == POLICY_SQL_MYSQL && is_word(&w->now, " last_insert_id ") &&
           !is_punct(&w->before, ".") && policy_sql_next(&ahead) == SQL_PUNCT &&
           policy_sql_next(&ahead) == SQL_PUNCT && ahead.punct == ')';
}

/* FROM t (NOLOCK) of SQL Server: a function there could not have a column as its argument. */
static bool has_table_hint(const struct walk *w) {
    struct sql_lexer ahead = w->l;
    return w->l.dialect == POLICY_SQL_MSSQL && w->is_table && policy_sql_next(&ahead) == SQL_PUNCT &&
           policy_sql_next(&ahead) == SQL_WORD &&
           policy_sql_in(ahead.word, " nolock readuncommitted readpast rowlock readcommitted ") &&
           policy_sql_next(&ahead) == SQL_PUNCT && ahead.punct == ')';
}

static bool call_passes(struct walk *w) {
    struct frame *f = &w->frames[w->depth];
    if (is_last_id(w))
        return true;
    if (w->now.kind == SQL_NAME && has_upper(w->now.word))
        return false;
    if (is_punct(&w->before, ".") && slice_is(w->qualifier, "pg_catalog"))
        return w->l.dialect == POLICY_SQL_ANY && policy_sql_knows(w->now.word, POLICY_SQL_POSTGRES);
    if (is_punct(&w->before, "."))
        return w->l.dialect == POLICY_SQL_MSSQL &&
               (policy_sql_in(w->now.word, mssql_members) || has_table_hint(w));
    /* type::method() of SQL Server runs code of the database, but for its own types. */
    if (w->l.dialect == POLICY_SQL_MSSQL && is_punct(&w->before, ":"))
        return policy_sql_in(w->qualifier, " geography geometry hierarchyid ") &&
               policy_sql_in(w->now.word, mssql_statics);
    if (w->l.dialect == POLICY_SQL_ANY && is_punct(&w->before, ":"))
        return policy_sql_in(w->now.word, sized_types);
    if (f->cte == CTE_NAMED || f->cte == CTE_BODY)
        return true;
    if (f->in_from && (is_word(&w->before, " as ") || is_punct(&w->before, ")")))
        return true;
    if (is_word(&w->before, " tablesample ") && is_word(&w->now, " bernoulli system "))
        return true;
    if (w->l.dialect == POLICY_SQL_MYSQL && is_word(&w->before, " member ") && is_word(&w->now, " of "))
        return true;
    return is_word(&w->now, grammar_words) || has_table_hint(w) ||
           policy_sql_knows(w->now.word, w->l.dialect);
}

/* In the place of a table: a file there is refused. DuckDB has queries that begin with other words: FROM
 * (SUMMARIZE 'a.csv'), WITH t AS (PIVOT 'a.csv' ON b). */
static bool is_table_place(const struct walk *w) {
    if (w->l.dialect == POLICY_SQL_ANY && is_word(&w->before, table_words))
        return true;
    /* a IN t, where SQLite reads the table */
    if (may_be(w, POLICY_SQL_SQLITE) && is_word(&w->before, " in "))
        return w->now.kind == SQL_WORD || w->now.kind == SQL_NAME || w->now.kind == SQL_STRING;
    return w->frames[w->depth].in_from &&
           (is_word(&w->before, " from join straight_join table lateral only ") ||
            is_punct(&w->before, ",("));
}

static void start_name(struct walk *w) {
    /* a IN [t]: a table of SQLite, a list elsewhere */
    const bool in_brackets =
        may_be(w, POLICY_SQL_SQLITE) && is_punct(&w->now, "[") && is_word(&w->before, " in ");
    w->is_table = is_table_place(w) || in_brackets;
    w->dots = 0;
}

/* In FROM: a table of another database, or a file: t@link, @~/a. */
static bool at_passes(const struct walk *w) {
    bool follows = w->is_table && (w->before.kind == SQL_WORD || w->before.kind == SQL_NAME);
    return w->l.dialect != POLICY_SQL_ANY || !(follows || is_table_place(w));
}

/* mysql.db is a table. */
static bool is_file(const struct walk *w) {
    struct sql_lexer ahead = w->l;
    bool is_last = policy_sql_next(&ahead) != SQL_PUNCT || ahead.punct != '.';
    return is_last && w->l.dialect == POLICY_SQL_ANY && is_punct(&w->before, ".") &&
           policy_sql_in(w->now.word, file_types) && !slice_eq_nocase(w->qualifier, SLICE("mysql"));
}

static bool is_path(struct slice name) {
    for (size_t i = 0; i < name.len; i++)
        if (strchr("/\\:*?.@{}|<>", name.ptr[i]))
            return true;
    return false;
}

static bool name_passes(struct walk *w) {
    bool is_call = policy_sql_is_call(&w->l);
    bool is_member = is_punct(&w->before, ".");
    if (!is_member && !is_punct(&w->before, "["))
        start_name(w);
    if (w->now.kind == SQL_WORD && !is_member && !w->frames[w->depth].cte && !word_passes(w, is_call))
        return false;
    if (w->now.kind == SQL_NAME && w->l.dialect == POLICY_SQL_ANY && (is_member || is_table_place(w)) &&
        is_path(w->now.word))
        return false;
    if (w->is_table && is_file(w))
        return false;
    /* For PostgreSQL (a).f calls the function f. */
    if (is_member && w->of_value && w->l.dialect == POLICY_SQL_ANY &&
        !policy_sql_is_result_column(w->now.word))
        return false;
    w->calls_table |= is_call && w->frames[w->depth].in_from;
    bool passes = name_stays_inside(w) && (!is_call || call_passes(w));
    w->qualifier = w->now.word;
    return passes;
}

/* No CASE without END, no WITH without a query. */
static bool is_whole(const struct frame *f) { return f->cases == 0 && f->cte == CTE_NONE; }

/* TABLE (f) calls a function of Oracle. */
static bool calls_by_name(const struct walk *w) {
    struct sql_lexer ahead = w->l;
    if (w->l.dialect != POLICY_SQL_ANY || !is_word(&w->before, " table "))
        return false;
    enum sql_token kind;
    while ((kind = policy_sql_next(&ahead)) == SQL_WORD || kind == SQL_NAME ||
           (kind == SQL_PUNCT && ahead.punct == '.'))
        ;
    return kind == SQL_PUNCT && ahead.punct == ')';
}

static bool open_passes(struct walk *w) {
    if (is_punct(&w->before, "]") || w->depth + 1 == POLICY_SQL_DEPTH_MAX || calls_by_name(w))
        return false;
    bool in_from = is_table_place(w);
    const bool is_call =
        (w->before.kind == SQL_WORD && !is_word(&w->before, operand_words)) || w->before.kind == SQL_NAME;
    w->frames[++w->depth] = (struct frame){.in_from = in_from, .is_name = !is_call};
    struct sql_lexer ahead = w->l;
    if (policy_sql_next(&ahead) != SQL_WORD)
        return true;
    /* DuckDB: (FROM t SELECT a). In trim(FROM 'a') it is an operand for the others. */
    bool from_first = w->l.dialect == POLICY_SQL_ANY && policy_sql_in(ahead.word, " from ");
    if (from_first || policy_sql_in(ahead.word, query_words))
        w->frames[w->depth] = (struct frame){.is_query = true};
    return true;
}

/* CockroachDB runs the statement in FROM [CANCEL JOB 1]; for SQL Server the brackets quote a name. */
static bool runs_in_brackets(const struct walk *w) {
    struct sql_lexer ahead = w->l;
    if (w->l.dialect != POLICY_SQL_ANY || !is_table_place(w))
        return false;
    policy_sql_next(&ahead);
    return policy_sql_next(&ahead) != SQL_PUNCT || ahead.punct != ']';
}

static bool punct_passes(struct walk *w) {
    struct frame *f = &w->frames[w->depth];
    switch (w->now.punct) {
    case '(':
        return open_passes(w);
    case ')':
        if (w->depth == 0 || !is_whole(f))
            return false;
        w->closed_name = f->is_name;
        f = &w->frames[--w->depth];
        if (f->cte == CTE_BODY)
            f->cte = CTE_DONE;
        return true;
    case '.': /* server.database.schema.table */
        w->dots++;
        w->of_value = is_punct(&w->before, "]") || (is_punct(&w->before, ")") && !w->closed_name);
        return !may_be(w, POLICY_SQL_MSSQL) || !w->is_table || w->dots < 3;
    case '@':
        return at_passes(w);
    case '[':
        if (!is_punct(&w->before, "."))
            start_name(w);
        return !runs_in_brackets(w);
    default:
        return true;
    }
}

static bool token_passes(struct walk *w) {
    if (!cte_passes(w))
        return false;
    if (w->now.kind != SQL_WORD && w->now.kind != SQL_NAME && !is_punct(&w->now, ".)"))
        w->frames[w->depth].is_name = false;
    switch (w->now.kind) {
    case SQL_WORD:
    case SQL_NAME:
        return name_passes(w);
    case SQL_STRING:
        return !is_table_place(w) && !is_word(&w->before, " using ");
    case SQL_VARIABLE:
        return at_passes(w);
    case SQL_NUMBER:
        return true;
    case SQL_PUNCT:
        return punct_passes(w);
    default:
        return false;
    }
}

/* Nothing but a semicolon may be left. */
static bool is_end(struct walk *w) {
    if (is_punct(&w->now, ";") && !advance(w))
        return false;
    return w->now.kind == SQL_END;
}

/* From the first token of a query to its end. */
static bool query_reads(struct walk *w) {
    w->frames[w->depth].is_query = true;
    if (is_word(&w->now, " with "))
        w->frames[w->depth].cte = CTE_NAME;
    w->frames[w->depth].in_from = is_word(&w->now, " table ");
    while (advance(w) && w->now.kind != SQL_END && !is_punct(&w->now, ";"))
        if (!token_passes(w))
            return false;
    return w->depth == 0 && is_whole(&w->frames[0]) && is_end(w);
}

/* DuckDB reads the file in DESCRIBE 'a.csv'. A text is a pattern after a name or LIKE. */
static bool is_listed_file(const struct walk *w) {
    if (w->l.dialect != POLICY_SQL_ANY)
        return false;
    if (w->now.kind == SQL_STRING)
        return is_word(&w->before, table_words) || is_word(&w->before, " show from in ");
    return (w->now.kind == SQL_NAME && is_path(w->now.word)) || is_file(w);
}

/* SHOW and DESCRIBE: names, texts and numbers. For SQL Server their first word is a procedure that does
 * not exist, and the next one may start a statement. */
static bool listing_reads(struct walk *w) {
    bool is_any = w->l.dialect == POLICY_SQL_ANY;
    while (advance(w) && w->now.kind != SQL_END && !is_punct(&w->now, ";")) {
        struct sql_lexer ahead = w->l;
        if ((w->now.kind == SQL_PUNCT && !is_punct(&w->now, ".,=%*-")) || is_listed_file(w))
            return false;
        if (!is_any || !(is_word(&w->now, writing_words) || is_word(&w->now, starting_words)))
            continue;
        if (!is_word(&w->now, " create ") || !is_word(&w->before, " show ") ||
            policy_sql_next(&ahead) != SQL_WORD || !policy_sql_in(ahead.word, " table view "))
            return false;
    }
    return is_end(w);
}

static bool explain_reads(struct walk *w) {
    bool is_describe = !is_word(&w->now, " explain ");
    struct walk listing = *w;
    while (advance(w)) {
        if (is_word(&w->now, query_words))
            return query_reads(w);
        if (is_punct(&w->now, "(") ? !open_passes(w) : is_punct(&w->now, ")") ? !punct_passes(w) : false)
            return false;
        if (w->now.kind != SQL_NUMBER && !is_punct(&w->now, "=(),") && !is_word(&w->now, explain_words))
            break;
    }
    return is_describe && listing_reads(&listing);
}

static bool pragma_reads(struct walk *w) {
    struct sql_lexer ahead = w->l;
    enum sql_token schema = policy_sql_next(&ahead);
    if ((schema == SQL_WORD || schema == SQL_NAME) && policy_sql_next(&ahead) == SQL_PUNCT &&
        ahead.punct == '.')
        w->l = ahead; /* main.table_info */
    if (!advance(w) || w->now.kind != SQL_WORD)
        return false;
    bool takes_table = is_word(&w->now, pragmas_of_table);
    if (!takes_table && !is_word(&w->now, pragmas))
        return false;
    if (!advance(w))
        return false;
    if (takes_table && is_punct(&w->now, "(")) {
        if (!advance(w) || (w->now.kind != SQL_WORD && w->now.kind != SQL_NAME && w->now.kind != SQL_STRING))
            return false;
        if (!advance(w) || !is_punct(&w->now, ")") || !advance(w))
            return false;
    }
    return is_end(w);
}

static bool statement_reads(struct walk *w) {
    while (is_punct(&w->now, "("))
        if (!open_passes(w) || !advance(w))
            return false;
    if (is_word(&w->now, query_words))
        return query_reads(w);
    if (w->depth)
        return false;
    if (is_word(&w->now, " explain describe desc "))
        return explain_reads(w);
    if (is_word(&w->now, " show "))
        return w->l.dialect != POLICY_SQL_MSSQL && listing_reads(w);
    return is_word(&w->now, " pragma ") && w->l.dialect == POLICY_SQL_SQLITE && pragma_reads(w);
}

/* A line that a command-line client executes itself or after which it expects commands: `.shell`, `:!!`,
 * `!!`, and `go` or `/` before further text. */
static bool is_command(struct slice line, bool is_last) {
    char first = line.len ? line.ptr[0] : '\0', next = line.len > 1 ? line.ptr[1] : '\0';
    bool is_letter = (next | 0x20) >= 'a' && (next | 0x20) <= 'z';
    if (first == '!')
        return next != '=' && next != '<' && next != '>' && next != '~';
    if (first == ':' || first == '.')
        return is_letter || next == '!' || !next;
    if (slice_is(line, "/"))
        return !is_last;
    return slice_eq_nocase(slice_upto(line, 2), SLICE("go")) && !is_last &&
           (line.len == 2 || strchr(" \t;", line.ptr[2]));
}

static bool has_command(struct slice sql) {
    sql = slice_trim(sql);
    while (sql.len) {
        ptrdiff_t end = slice_find(sql, '\n');
        struct slice line = slice_trim(end < 0 ? sql : slice_upto(sql, (size_t)end));
        if (is_command(line, end < 0))
            return true;
        sql = end < 0 ? (struct slice){0} : slice_from(sql, (size_t)end + 1);
    }
    return false;
}

enum policy_sql_answer policy_sql_judge(struct slice sql, enum policy_sql_dialect dialect) {
    /* Some databases stop reading at a NUL. */
    if (sql.len == 0 || sql.len > POLICY_SQL_MAX || slice_find(sql, '\0') >= 0 || !tape_utf8_valid(sql))
        return POLICY_SQL_UNCLEAR;
    if (dialect == POLICY_SQL_POSTGRES)
        return policy_sql_postgres(sql);
    struct walk w = {.l = {.text = sql, .dialect = dialect}};
    if (has_command(sql) || !advance(&w))
        return POLICY_SQL_UNCLEAR;
    if (is_word(&w.now, writing_words))
        return POLICY_SQL_WRITES;
    if (!statement_reads(&w))
        return POLICY_SQL_UNCLEAR;
    return w.calls_table && dialect == POLICY_SQL_ANY ? policy_sql_postgres_columns(sql) : POLICY_SQL_READS;
}
