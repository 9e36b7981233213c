#include "discovery/index.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "discovery/terms.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void put(struct index *ix, const char *server, const char *json) {
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, slice_str(json), NULL), TAPE_OK);
    struct err err;
    assert_int_equal(index_put(ix, slice_str(server), &t, 0, "Read", &err), 0);
}

static void assert_first(struct index *ix, const char *query, const char *want) {
    struct index_hit hits[5];
    size_t n = index_search(ix, slice_str(query), NULL, 5, hits, NULL);
    if (!n || !slice_is(hits[0].tool->name, want))
        fail_msg("%s: %.*s instead of %s", query, n ? (int)hits[0].tool->name.len : 7,
                 n ? hits[0].tool->name.ptr : "nothing", want);
}

static void splits_words(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    static const char *const rows[][2] = {
        {"createPullRequest", "create pull request"},
        {"create_pull-request", "create pull request"},
        {"HTTPServer", "http server"},
        {"  a--b ", "a b"},
        {"getV2Users", "get v2 users"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice got = terms_split(slice_str(rows[i][0]), &a);
        assert_string_equal(got.ptr, rows[i][1]);
    }
}

static struct index *shop(void) {
    struct index *ix = index_new();
    put(ix, "disk", "{\"name\":\"create_directory\",\"description\":\"Makes a directory\"}");
    put(ix, "disk", "{\"name\":\"deleteFile\",\"description\":\"Takes a file away permanently\"}");
    put(ix, "disk", "{\"name\":\"read_file\",\"description\":\"The bytes of one file\"}");
    put(ix, "shop",
        "{\"name\":\"refund_order\",\"description\":\"Gives a customer the money back\","
        "\"inputSchema\":{\"properties\":{\"order_id\":{},\"amount\":{}}}}");
    put(ix, "shop", "{\"name\":\"list_orders\",\"description\":\"Orders of a customer\"}");
    return ix;
}

static void finds_by_meaning(void **state) {
    (void)state;
    struct index *ix = shop();
    assert_first(ix, "make a new folder", "create_directory");
    assert_first(ix, "erase files", "deleteFile");
    assert_first(ix, "refudn", "refund_order");
    assert_first(ix, "read_file", "read_file");
    assert_first(ix, "which orders are there?", "list_orders");
    struct index_hit hits[5];
    assert_int_equal(index_search(ix, SLICE(""), NULL, 5, hits, NULL), 0);
    assert_int_equal(index_search(ix, SLICE("\" OR * : ( NEAR"), NULL, 5, hits, NULL), 0);
    index_free(ix);
}

/* A word that is guessed counts less than one that is known, and what is said twice counts once. */
static void weighs_what_is_sure(void **state) {
    (void)state;
    struct index *ix = shop();
    put(ix, "memory", "{\"name\":\"add_observations\",\"description\":\"Adds to the knowledge graph\"}");
    put(ix, "memory", "{\"name\":\"open_nodes\",\"description\":\"Nodes of the graph\"}");
    put(ix, "depot", "{\"name\":\"shelf\",\"description\":\"Stock\"}");
    assert_first(ix, "stoak knowledge", "add_observations");
    assert_first(ix, "remember a fact", "add_observations");
    assert_first(ix, "make a new folder", "create_directory");
    index_free(ix);
}

/* A word in a description alone is still the word: no tool that has it is dropped for one that only means
 * something like it, and what does not fit into the answer is counted. */
static void keeps_exact_matches(void **state) {
    (void)state;
    enum { MANY = 300 };
    struct index *ix = index_new();
    put(ix, "bank", "{\"name\":\"fraud\",\"title\":\"Fraud\",\"description\":\"Fraud fraud fraud fraud\"}");
    put(ix, "bank", "{\"name\":\"analyze_patterns\",\"description\":\"Analyze patterns for fraud.\"}");
    for (int i = 0; i < MANY; i++) {
        char json[200];
        snprintf(json, sizeof(json), "{\"name\":\"delete_row_%d\",\"description\":\"Erase a row\"}", i);
        put(ix, "rows", json);
    }
    put(ix, "rows",
        "{\"name\":\"zap\",\"description\":\"A long text that says much about many things and then, at its "
        "end, that it can remove a row or a row set\"}");
    struct index_hit hits[INDEX_HITS_MAX];
    size_t all, n = index_search(ix, SLICE("fraud"), NULL, 2, hits, &all);
    assert_int_equal(n, 2);
    assert_int_equal(all, 2);
    assert_true(hits[0].exact && hits[1].exact && slice_is(hits[1].tool->name, "analyze_patterns"));
    n = index_search(ix, SLICE("remove row"), NULL, 5, hits, &all);
    assert_int_equal(n, 5);
    assert_int_equal(all, MANY + 1);
    bool met = false;
    for (size_t i = 0; i < n; i++)
        met |= hits[i].exact && slice_is(hits[i].tool->name, "zap");
    assert_true(met);
    index_free(ix);
}

static bool only_disk(void *ctx, const struct index_tool *tool) {
    (void)ctx;
    return slice_is(tool->server, "disk");
}

static void shows_only_what_may_be_seen(void **state) {
    (void)state;
    struct index *ix = shop();
    const struct index_view view = {only_disk, NULL};
    struct index_hit hits[INDEX_HITS_MAX];
    assert_int_equal(index_search(ix, SLICE("refund order"), &view, INDEX_HITS_MAX, hits, NULL), 0);
    assert_null(index_find(ix, SLICE("shop"), SLICE("refund_order"), &view));
    assert_non_null(index_find(ix, SLICE(""), SLICE("refund_order"), NULL));
    size_t at = 0, seen = 0;
    while (index_next(ix, &view, &at))
        seen++;
    assert_int_equal(seen, 3);
    index_free(ix);
}

static void a_list_may_change(void **state) {
    (void)state;
    struct index *ix = shop();
    put(ix, "shop", "{\"name\":\"refund_order\",\"description\":\"Now about parcels\"}");
    assert_int_equal(index_count(ix), 5);
    assert_first(ix, "parcel", "refund_order");
    put(ix, "disk2", "{\"name\":\"read_file\"}");
    assert_null(index_find(ix, SLICE(""), SLICE("read_file"), NULL)); /* which one? */
    index_free(ix);
}

/* ---- real lists ---- */

static bool read_text(const char *path, struct buf *out) {
    buf_init(out, 16u << 20);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    char bytes[65536];
    size_t n;
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
        buf_put(out, bytes, n);
    fclose(f);
    return true;
}

static void put_list(struct index *ix, const char *dir, const char *file) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    cleanup_buf struct buf text;
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_true(read_text(path, &text));
    assert_int_equal(tape_parse(&t, buf_slice(&text), NULL), TAPE_OK);
    uint32_t tools = tape_get_str(&t, 0, "tools");
    struct slice server = slice_upto(slice_str(file), strlen(file) - strlen(".json"));
    struct err err;
    TAPE_FOR_ELEM(&t, tools, i) { assert_int_equal(index_put(ix, server, &t, i, "Read", &err), 0); }
}

static bool is_wanted(struct slice names, struct slice name) {
    struct slice one;
    while (names.len) {
        slice_cut(&names, ' ', &one);
        if (slice_eq(one, name))
            return true;
    }
    return false;
}

static size_t answer_all(struct index *ix, struct slice rows, size_t *ret_found) {
    size_t asked = 0;
    struct slice row;
    while (rows.len) {
        slice_cut(&rows, '\n', &row);
        struct slice query;
        if (!slice_cut(&row, '\t', &query))
            continue;
        struct index_hit hits[5];
        size_t n = index_search(ix, query, NULL, 5, hits, NULL);
        bool found = false;
        for (size_t i = 0; i < n; i++)
            found |= is_wanted(row, hits[i].tool->name);
        asked++;
        *ret_found += found;
        if (!found && getenv("VERBOSE")) {
            print_message("missed: %.*s\n", SLICE_FMT(query));
            for (size_t i = 0; i < n; i++)
                print_message("    %.2f %.*s %.*s\n", hits[i].score, SLICE_FMT(hits[i].tool->server),
                              SLICE_FMT(hits[i].tool->name));
        }
    }
    return asked;
}

/* Questions in other words than the definitions use, over thousands of tools of real servers. */
static void finds_among_thousands(void **state) {
    (void)state;
    const char *root = getenv("SALLYPORT_ROOT");
    assert_non_null(root);
    const char *data = getenv("SALLYPORT_DATA");
    char dir[1024], path[1024];
    snprintf(dir, sizeof(dir), "%s%s/toollists", data ? "" : root, data ? data : "/../shared/data");
    DIR *d = opendir(dir);
    if (!d) {
        print_message("SKIPPED: no tool lists in %s; set SALLYPORT_DATA\n", dir);
        skip();
    }
    struct index *ix = index_new();
    struct dirent *e;
    while ((e = readdir(d)))
        if (slice_ends(slice_str(e->d_name), SLICE(".json")))
            put_list(ix, dir, e->d_name);
    closedir(d);
    cleanup_buf struct buf rows;
    snprintf(path, sizeof(path), "%s/tests/search/queries.tsv", root);
    assert_true(read_text(path, &rows));
    size_t found = 0;
    uint64_t start = clock_mono_us();
    size_t asked = answer_all(ix, buf_slice(&rows), &found);
    print_message("%zu tools; the right one among the first five for %zu of %zu questions; %.2f ms each\n",
                  index_count(ix), found, asked, (double)(clock_mono_us() - start) / 1000 / (double)asked);
    assert_true(found * 10 >= asked * 9);
    index_free(ix);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_words),
        cmocka_unit_test(finds_by_meaning),
        cmocka_unit_test(weighs_what_is_sure),
        cmocka_unit_test(keeps_exact_matches),
        cmocka_unit_test(shows_only_what_may_be_seen),
        cmocka_unit_test(a_list_may_change),
        cmocka_unit_test(finds_among_thousands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
