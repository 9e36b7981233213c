/* PostgreSQL: its own grammar reads the statement, and every part of the tree must be one that is known.
 *
 * libpg_query writes the tree as JSON, nodes with a capital letter, members without:
 *
 *   {"stmts":[{"stmt":{"SelectStmt":{"targetList":[{"ResTarget":{"val":{"FuncCall":{"funcname":[
 *     {"String":{"sval":"pg_catalog"}},{"String":{"sval":"lower"}}],...
 *
 * So one pass over its keys is enough. A kind of node or a member that is not listed (INSERT inside WITH,
 * INTO, FOR SHARE) refuses the statement, and so do a function and an operator that nobody knows.
 *
 * `t.f` and `(expression).f` call the function f when there is no such column. So `(expression).f` passes
 * only for columns of known functions. `t.f` does so if t is the result of a function that is no row: there
 * only its own name and the names that the statement gives are columns. If t is a table any name may be a
 * column, but for the names that act. */
#include "policy/limits.h"
#include "policy/sql.h"

#include "base/mem.h"
#include "wire/tape.h"

#include <pg_query.h>
#include <string.h>

#define SQL_NAME_PARTS_MAX 4
#define SQL_RESULTS_MAX 16
#define SQL_NAME_MAX 64 /* bytes; PostgreSQL cuts names at 63 */

/* clang-format off */
static const char nodes[] =
    " a_arrayexpr a_const a_expr a_indices a_indirection a_star alias bitstring boolean booleantest boolexpr caseexpr"
    " casewhen coalesceexpr collateclause columndef columnref commontableexpr defelem explainstmt float funccall"
    " groupingfunc groupingset integer joinexpr list minmaxexpr namedargexpr nulltest paramref rangefunction"
    " rangesubselect rangetablefunc rangetablefunccol rangetablesample rangevar restarget rowexpr selectstmt"
    " sortby sqlvaluefunction string sublink typecast typename variableshowstmt windowdef xmlexpr xmlserialize ";

static const char members[] =
    " all is_local"
    " agg_distinct agg_filter agg_order agg_star agg_within_group alias aliascolnames aliasname arg argisrow"
    " argnumber args arraybounds bitwidth boolop booltesttype boolval bsval catalogname coldefexpr coldeflist"
    " colexpr collclause collname colname colnames columns content ctematerialized ctename ctequery ctes"
    " cycle_clause cycle_col_list cycle_mark_column cycle_mark_default cycle_mark_value cycle_path_column def"
    " defaction defname defnamespace defresult distinctclause docexpr elements endoffset expr fields"
    " for_ordinality fraction frameoptions fromclause func_variadic funcformat funcname functions fval groupclause"
    " groupdistinct havingclause indirection inh is_not_null is_rowsfrom is_slice isnatural isnull items ival"
    " join_using_alias jointype kind larg lateral lexpr lidx limitcount limitoffset limitoption location method"
    " minmaxtype multidims name named_args names namespaces node nulltesttype number op opername options"
    " orderclause ordinality over partitionclause pct_type quals query rarg recursive refname relation relname"
    " relpersistence repeatable result rexpr row_format rowexpr schemaname search_breadth_first search_clause"
    " search_col_list search_seq_column setof sortby_dir sortby_nulls sortclause startoffset stmt stmt_len"
    " stmt_location stmts sublinktype subquery subselect sval targetlist testexpr typemod typename typmod typmods"
    " uidx useop usingclause val valueslists version whereclause windowclause withclause xmloption"
    " ";

static const char operators[] =
    " !! !~ !~* !~~ !~~* # ## #- #<# #<=# #= #> #># #>=# #>> % %# %% %> %>> & && &&& &< &<| &> &/& * *< *<= *<> *= *> *>="
    " + - -> ->> -|- / < <#> <#># <% <-> <->> <->>> <+> <<#>> << <<% <<-> <<<-> <<= <<| <= <=> <> <@ <@> <^ <~> <%> = => > >="
    " >> >>= >^ ? ?# ?& ?- ?-| ?<@ ?@ ?@> ?| ?|| ?~ @ @-@ @> @? @@ @@@ @>> @<< ^ ^<@ ^? ^@ ^@> ^~ | |&> |/ |=| |>> || ||/ ~ ~* ~<=~"
    " ~<~ ~= ~== ~> ~>=~ ~>~ ~~ ~~* != ";
/* Columns that known functions return. */
static const char result_columns[] =
    " alias classid dictionaries dictionary elem element file_name file_offset geom grantee grantor identity"
    " is_grantable key lexeme lexemes location mode n name objid objsubid option_name option_value ordinality path"
    " pid positions privilege_type query reason relid schema setting state timestamp token tokid type valid value"
    " values weights word x y ";

/* Known functions that return rows. */
static const char row_functions[] =
    " aclexplode chunks_detailed_size each hypertable_detailed_size json_each json_each_text json_populate_record"
    " json_populate_recordset json_to_record json_to_recordset jsonb_each jsonb_each_text jsonb_populate_record"
    " jsonb_populate_recordset jsonb_to_record jsonb_to_recordset pg_available_extension_versions"
    " pg_available_extensions pg_config pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system"
    " pg_extension_update_paths pg_get_catalog_foreign_keys pg_get_keywords pg_get_object_address"
    " pg_get_publication_tables pg_identify_object pg_identify_object_as_address pg_input_error_info"
    " pg_last_committed_xact pg_lock_status pg_mcv_list_items pg_options_to_table pg_partition_tree"
    " pg_prepared_xact pg_sequence_parameters pg_show_all_settings pg_stat_get_activity pg_stat_get_archiver"
    " pg_stat_get_progress_info pg_stat_get_replication_slot pg_stat_get_slru pg_stat_get_subscription"
    " pg_stat_get_subscription_stats pg_stat_get_wal pg_stat_get_wal_receiver pg_stat_get_wal_senders"
    " pg_stat_statements pg_stat_statements_info pg_timezone_abbrevs pg_timezone_names pg_walfile_name_offset"
    " pgp_armor_headers populate_record st_dump st_dumppoints st_dumprings st_hexagongrid st_isvaliddetail"
    " st_squaregrid ts_debug ts_parse ts_token_type ";
/* clang-format on */

struct names {
    char text[SQL_NAME_PARTS_MAX][SQL_NAME_MAX + 4]; /* one character more may come out of an escape */
    struct slice part[SQL_NAME_PARTS_MAX];
    size_t count;
};

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* A JSON string at p; returns the place behind its closing quote. */
static const char *read_string(const char *p, struct slice *ret_text) {
    const char *start = ++p;
    while (*p && *p != '"')
        p += *p == '\\' && p[1] ? 2 : 1;
    *ret_text = slice_of(start, (size_t)(p - start));
    return *p ? p + 1 : p;
}

static bool add_name(struct names *n, struct slice escaped) {
    if (n->count == SQL_NAME_PARTS_MAX)
        return false;
    char *out = n->text[n->count];
    size_t len = 0;
    for (const char *p = escaped.ptr; p < escaped.ptr + escaped.len;) {
        if (len >= SQL_NAME_MAX)
            return false;
        len += tape_unescape(&p, out + len);
    }
    n->part[n->count++] = slice_of(out, len);
    return true;
}

/* [{"String":{"sval":"a"}},{"A_Star":{}}]: NULL when it is anything else. A star is an empty name. */
static const char *read_names(const char *p, struct names *ret_names) {
    const struct slice open = SLICE("{\"String\":{\"sval\":"), star = SLICE("{\"A_Star\":{}}");
    ret_names->count = 0;
    if (*p != '[')
        return NULL;
    do {
        struct slice part = SLICE("");
        p++;
        if (strncmp(p, star.ptr, star.len) == 0) {
            p += star.len;
        } else {
            if (strncmp(p, open.ptr, open.len) != 0 || p[open.len] != '"')
                return NULL;
            p = read_string(p + open.len, &part);
            if (p[0] != '}' || p[1] != '}')
                return NULL;
            p += 2;
        }
        if (!add_name(ret_names, part))
            return NULL;
    } while (*p == ',');
    return *p == ']' ? p + 1 : NULL;
}

/* f or pg_catalog.f; any other schema may contain anything. */
static bool is_system(const struct names *n) {
    return n->count == 1 || (n->count == 2 && slice_is(n->part[0], "pg_catalog"));
}

/* Names come folded to lower case unless they were quoted, and "LOWER" is not lower. */
static bool function_is_known(const struct names *n) {
    struct slice name = n->part[n->count - 1];
    for (size_t i = 0; i < name.len; i++)
        if (is_upper(name.ptr[i]))
            return false;
    return is_system(n) && policy_sql_knows(name, POLICY_SQL_POSTGRES);
}

static bool operator_is_known(const struct names *n) {
    struct slice name = n->part[n->count - 1];
    /* Keywords of the grammar: BETWEEN, NOT BETWEEN SYMMETRIC. */
    return is_system(n) && ((name.len && is_upper(name.ptr[0])) || policy_sql_in(name, operators));
}

/* ---- results of functions in FROM ---- */

struct result {
    struct names name;  /* one */
    struct slice given; /* what the statement says about its columns */
};

struct results {
    struct result list[SQL_RESULTS_MAX];
    size_t count;
};

/* Behind the value at p. */
static const char *skip_value(const char *p) {
    struct slice text;
    unsigned depth = 0;
    do {
        if (*p == '"') {
            p = read_string(p, &text);
            continue;
        }
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
        p++;
    } while (*p && (depth || !strchr(",}]", *p)));
    return p;
}

/* The value of a member of the object at p, or NULL. */
static const char *member_of(const char *p, struct slice name) {
    struct slice key;
    if (*p != '{')
        return NULL;
    for (p++; *p == '"'; p += *p == ',') {
        p = read_string(p, &key) + 1;
        if (slice_eq(key, name))
            return p;
        p = skip_value(p);
    }
    return NULL;
}

/* The name of the function that is called first, with its schema. */
static bool first_function(const char *range, struct names *ret_names) {
    static const char head[] = "[{\"List\":{\"items\":[{\"FuncCall\":";
    const char *p = member_of(range, SLICE("functions"));
    if (!p || strncmp(p, head, sizeof(head) - 1) != 0)
        return false;
    p = member_of(p + sizeof(head) - 1, SLICE("funcname"));
    return p && read_names(p, ret_names);
}

/* Notes the name of a result that is no row. */
static bool add_result(struct results *r, const char *range) {
    struct names function;
    struct slice text;
    const char *alias = member_of(range, SLICE("alias")), *list = member_of(range, SLICE("coldeflist"));
    const char *columns = alias ? member_of(alias, SLICE("colnames")) : NULL;
    bool is_call = first_function(range, &function);
    if (is_call && policy_sql_in(function.part[function.count - 1], row_functions))
        return true;
    if (r->count == SQL_RESULTS_MAX || (!is_call && !alias))
        return false;
    struct result *one = &r->list[r->count++];
    one->name.count = 0;
    one->given = columns ? slice_of(columns, (size_t)(skip_value(columns) - columns)) : (struct slice){0};
    if (list)
        one->given = slice_of(list, (size_t)(skip_value(list) - list));
    if (!alias)
        return add_name(&one->name, function.part[function.count - 1]);
    read_string(member_of(alias, SLICE("aliasname")), &text);
    return add_name(&one->name, text);
}

/* All of the statement. A text has its quotes escaped, so it cannot contain the key. */
static bool find_results(struct results *r, const char *tree) {
    static const char key[] = "\"RangeFunction\":";
    r->count = 0;
    for (const char *p = tree; (p = strstr(p, key)); p += sizeof(key) - 1)
        if (!add_result(r, p + sizeof(key) - 1))
            return false;
    return true;
}

/* Is it a name in the list of names or column definitions? */
static bool is_given(struct slice list, struct slice name) {
    if (!list.len)
        return false;
    const char *end = list.ptr + list.len;
    struct slice text;
    for (const char *p = list.ptr; p < end;) {
        if (*p != '"') {
            p++;
            continue;
        }
        p = read_string(p, &text);
        if (*p == ':' || !slice_eq(text, name))
            continue;
        return true;
    }
    return false;
}

/* f of table, which may be the result of a function. */
static bool is_column_of(const struct results *r, struct slice table, bool is_whole, struct slice column) {
    for (size_t i = 0; is_whole && column.len && i < r->count; i++) {
        const struct result *one = &r->list[i];
        if (slice_eq(one->name.part[0], table) && !slice_eq(column, table) && !is_given(one->given, column) &&
            !policy_sql_in(column, result_columns))
            return false;
    }
    return true;
}

static bool is_column(const struct results *r, const struct names *n) {
    return is_column_of(r, n->part[0], n->count == 2, n->part[n->count - 1]);
}

/* (arg).f, where {"arg":{...},"indirection":[{"String":{"sval":"f"}},{"A_Indices":{...}}]} is at p. Of a
 * plain column any name may be a part of it, but for the names that act. */
static bool indirection_is_known(const struct results *r, const char *p) {
    static const char column[] = "{\"ColumnRef\":", name[] = "{\"String\":{\"sval\":";
    const char *arg = member_of(p, SLICE("arg")), *fields = NULL;
    struct names n;
    struct slice text;
    if (!arg || !(p = member_of(p, SLICE("indirection"))))
        return false;
    if (strncmp(arg, column, sizeof(column) - 1) == 0)
        fields = member_of(arg + sizeof(column) - 1, SLICE("fields"));
    if (fields && !read_names(fields, &n))
        return false;
    for (p++; *p == '{'; p += *p == ',') {
        if (strncmp(p, name, sizeof(name) - 1) == 0) {
            read_string(p + sizeof(name) - 1, &text);
            bool may_be_part = fields && is_column_of(r, n.part[0], n.count == 1, text);
            if (!policy_sql_in(text, result_columns) && (!may_be_part || policy_sql_acts_as_column(text)))
                return false;
        }
        p = skip_value(p);
    }
    return true;
}

/* ---- the tree ---- */

/* A list of names where it is allowed: a function that it calls must be known. */
static bool names_are_known(const struct results *r, struct slice member, const struct names *n) {
    struct slice last = n->part[n->count - 1];
    if (slice_is(member, "funcname"))
        return function_is_known(n);
    if (slice_is(member, "method"))
        return is_system(n) && policy_sql_in(last, " bernoulli system system_rows system_time ");
    if (slice_is(member, "fields"))
        return n->count == 1 || (!policy_sql_acts_as_column(last) && is_column(r, n));
    return operator_is_known(n);
}

/* Names of types, collations and columns of an alias: skips the list. */
static const char *skip_names(const char *p) {
    struct slice text;
    while (*p && *p != ']')
        p = *p == '"' ? read_string(p, &text) : p + 1;
    return p;
}

static bool is_name_list(struct slice member, const char *value) {
    return *value == '[' && policy_sql_in(member, " funcname method fields name opername useop ");
}

static bool member_is_known(const struct results *r, struct slice member, const char **p) {
    struct names n;
    if (!policy_sql_in(member, members))
        return false;
    if (**p == '[' && policy_sql_in(member, " names collname colnames usingclause aliascolnames "))
        *p = skip_names(*p);
    return !is_name_list(member, *p) || ((*p = read_names(*p, &n)) && names_are_known(r, member, &n));
}

static bool tree_reads(const char *tree) {
    struct results results;
    unsigned statements = 0;
    if (!find_results(&results, tree))
        return false;
    for (const char *p = tree; *p;) {
        struct slice text;
        if (*p != '"') {
            p++;
            continue;
        }
        p = read_string(p, &text);
        if (*p != ':')
            continue;
        p++;
        if (text.len && is_upper(text.ptr[0])) {
            if (!policy_sql_in(text, nodes) ||
                (slice_is(text, "A_Indirection") && !indirection_is_known(&results, p)))
                return false;
        } else if ((slice_is(text, "stmt") && ++statements > 1) || !member_is_known(&results, text, &p)) {
            return false;
        }
    }
    return statements == 1;
}

/* The kind of the statement. */
static bool tree_is_query(const char *tree) {
    static const char *const kinds[] = {"SelectStmt", "ExplainStmt", "VariableShowStmt"};
    const char *at = strstr(tree, "\"stmt\":{\"");
    for (size_t i = 0; at && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (slice_starts(slice_str(at + 9), slice_str(kinds[i])))
            return true;
    return false;
}

/* Is it safe to hand over? The library walks the tree by recursion, so what can nest is counted. A server
 * with standard_conforming_strings off ends a string elsewhere after a backslash; hints in comments can set
 * options. */
static bool text_is_plain(struct slice sql) {
    unsigned tokens = 0, slashes = 0;
    bool in_word = false;
    for (size_t i = 0; i < sql.len; i++) {
        char c = sql.ptr[i];
        bool is_word = (c >= '0' && c <= '9') || (c | 0x20) >= 'a' || c == '_';
        if (c == '\'' && slashes % 2)
            return false;
        if (c == '/' && slice_starts(slice_from(sql, i), SLICE("/*+")))
            return false;
        slashes = c == '\\' ? slashes + 1 : 0;
        tokens += c > ' ' && !(is_word && in_word);
        in_word = is_word;
    }
    return tokens <= POLICY_SQL_TOKENS_MAX;
}

enum policy_sql_answer policy_sql_postgres(struct slice sql) {
    if (!text_is_plain(sql))
        return POLICY_SQL_UNCLEAR;
    cleanup_free char *text = mem_dup(sql.ptr, sql.len);
    PgQueryParseResult parsed = pg_query_parse(text);
    enum policy_sql_answer answer = POLICY_SQL_UNCLEAR;
    if (!parsed.error && parsed.parse_tree) {
        if (!tree_is_query(parsed.parse_tree))
            answer = POLICY_SQL_WRITES;
        else if (tree_reads(parsed.parse_tree))
            answer = POLICY_SQL_READS;
    }
    pg_query_free_parse_result(parsed);
    return answer;
}

/* Only what stands behind a point: text for any database may reach PostgreSQL. What its grammar does not read
 * has no effect there. */
enum policy_sql_answer policy_sql_postgres_columns(struct slice sql) {
    struct results results;
    struct names n;
    if (!text_is_plain(sql))
        return POLICY_SQL_UNCLEAR;
    cleanup_free char *text = mem_dup(sql.ptr, sql.len);
    PgQueryParseResult parsed = pg_query_parse(text);
    const char *tree = parsed.error ? NULL : parsed.parse_tree;
    bool reads = !tree || find_results(&results, tree);
    for (const char *p = tree; p && reads && (p = strstr(p, "\"fields\":["));) {
        p += strlen("\"fields\":");
        reads = read_names(p, &n) && is_column(&results, &n);
    }
    for (const char *p = tree; p && reads && (p = strstr(p, "\"A_Indirection\":"));) {
        p += strlen("\"A_Indirection\":");
        reads = indirection_is_known(&results, p);
    }
    pg_query_free_parse_result(parsed);
    return reads ? POLICY_SQL_READS : POLICY_SQL_UNCLEAR;
}

bool policy_sql_is_result_column(struct slice name) { return policy_sql_in(name, result_columns); }
