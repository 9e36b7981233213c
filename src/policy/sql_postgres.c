/* PostgreSQL: its own grammar reads the statement, and every part of the tree must be one that is known.
 *
 * libpg_query writes the tree as JSON, nodes with a capital letter, members without:
 *
 *   {"stmts":[{"stmt":{"SelectStmt":{"targetList":[{"ResTarget":{"val":{"FuncCall":{"funcname":[
 *     {"String":{"sval":"pg_catalog"}},{"String":{"sval":"lower"}}],...
 *
 * So one pass over its keys is enough. A kind of node or a member that is not listed (INSERT inside WITH,
 * INTO, FOR SHARE) refuses the statement, and so do a function and an operator that nobody knows. `t.f` and
 * `(expression).f` call the function f when there is no such column: names that act are refused there too. */
#include "policy/limits.h"
#include "policy/sql.h"

#include "base/mem.h"
#include "wire/tape.h"

#include <pg_query.h>
#include <string.h>

#define SQL_NAME_PARTS_MAX 4
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

/* A list of names where it is allowed: a function that it calls must be known. */
static bool names_are_known(struct slice member, const struct names *n) {
    struct slice last = n->part[n->count - 1];
    if (slice_is(member, "funcname"))
        return function_is_known(n);
    if (slice_is(member, "method"))
        return is_system(n) && policy_sql_in(last, " bernoulli system system_rows system_time ");
    if (slice_is(member, "fields"))
        return n->count == 1 || !policy_sql_acts_as_column(last);
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

static bool tree_reads(const char *tree) {
    unsigned statements = 0;
    bool is_name = false; /* the next text is a name that stands for itself: (expression).f */
    for (const char *p = tree; *p;) {
        struct slice text;
        if (*p != '"') {
            p++;
            continue;
        }
        p = read_string(p, &text);
        if (*p != ':') {
            if (is_name && policy_sql_acts_as_column(text))
                return false;
            is_name = false;
            continue;
        }
        p++;
        if (text.len && is_upper(text.ptr[0])) {
            is_name = slice_is(text, "String");
            if (!policy_sql_in(text, nodes))
                return false;
            continue;
        }
        if (*p == '[' && policy_sql_in(text, " names collname colnames usingclause aliascolnames "))
            p = skip_names(p);
        struct names n;
        if (!policy_sql_in(text, members) || (slice_is(text, "stmt") && ++statements > 1))
            return false;
        if (is_name_list(text, p) && (!(p = read_names(p, &n)) || !names_are_known(text, &n)))
            return false;
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
