#include "risk/toolset.h"

#include "base/mem.h"
#include "risk/split.h"
#include "risk/vocabulary.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

struct heads {
    struct slice words[RISK_PREFIX_TOKENS_MAX];
    size_t count; /* of the whole name */
};

/* The most frequent word at position `at` of the names, if it has a majority, and its count. */
static struct slice common_word(const struct heads *names, size_t n, size_t at, size_t *ret_count) {
    struct slice word = {0};
    size_t votes = 0;
    for (size_t i = 0; i < n; i++) {
        if (names[i].count <= at)
            continue;
        if (votes == 0)
            word = names[i].words[at];
        votes = slice_eq(word, names[i].words[at]) ? votes + 1 : votes - 1;
    }
    *ret_count = 0;
    for (size_t i = 0; i < n; i++)
        *ret_count += names[i].count > at && slice_eq(word, names[i].words[at]);
    return word;
}

/* protect_list_users, protect_get_camera: the shared first word is a product name that is also a verb. */
static bool verbs_follow(const struct heads *names, size_t n, size_t at, struct slice word, size_t same) {
    size_t verbs = 0;
    for (size_t i = 0; i < n && at + 1 < RISK_PREFIX_TOKENS_MAX; i++) {
        if (names[i].count <= at + 1 || !slice_eq(names[i].words[at], word))
            continue;
        const struct risk_word *w = risk_word_find(names[i].words[at + 1]);
        verbs += w && w->kind == WORD_VERB;
    }
    return verbs * 10 >= same * 7;
}

/* A first word that at least 60 % of the names share, and at least three of them, names the server, unless
 * it is a verb. */
static void find_prefix(struct risk_toolset *ctx, const struct heads *names, size_t n) {
    for (size_t at = 0; at < RISK_PREFIX_TOKENS_MAX; at++) {
        size_t same;
        struct slice word = common_word(names, n, at, &same);
        const struct risk_word *w = risk_word_find(word);
        if (same < 3 || same * 10 < n * 6 ||
            (w && w->kind == WORD_VERB &&
             (slice_is(word, "get") || slice_is(word, "list") || !verbs_follow(names, n, at, word, same))))
            return;
        ctx->prefix[ctx->prefix_count++] = word;
    }
}

static void count_kinds(const struct slice *names, size_t count, uint32_t *gestures, uint32_t *money) {
    bool gesture = false, coin = false;
    for (size_t i = 0; i < count; i++) {
        const struct risk_word *w = risk_word_find(names[i]);
        gesture |= w && w->nouns & NOUN_GESTURE;
        coin |= w && w->nouns & (NOUN_MONEY | NOUN_COIN);
    }
    *gestures += gesture;
    *money += coin;
}

void risk_toolset_read(const struct tape *t, uint32_t tools, struct slice server, struct arena *a,
                       struct risk_toolset *ret_ctx) {
    *ret_ctx = (struct risk_toolset){0};
    ret_ctx->server_word_count = risk_split_name(server, ret_ctx->server_words, RISK_SERVER_WORDS_MAX, a);
    if (!tape_is(t, tools, TAPE_ARRAY))
        return;
    size_t max = tape_node(t, tools)->count < RISK_TOOLS_MAX ? tape_node(t, tools)->count : RISK_TOOLS_MAX;
    struct heads *names = arena_array(a, struct heads, max + 1);
    uint32_t *sizes = arena_array(a, uint32_t, max + 1);
    uint32_t gestures = 0, money = 0;
    size_t n = 0;
    TAPE_FOR_ELEM(t, tools, tool) {
        uint32_t name = n < max && tape_is(t, tool, TAPE_OBJECT) ? tape_get_str(t, tool, "name") : 0;
        if (!name || !tape_is(t, name, TAPE_STRING))
            continue;
        struct slice tokens[RISK_NAME_TOKENS_MAX];
        size_t count = risk_split_name(tape_text(t, name, a), tokens, RISK_NAME_TOKENS_MAX, a);
        count_kinds(tokens, count, &gestures, &money);
        names[n].count = count;
        memcpy(names[n].words, tokens,
               sizeof *tokens * (count < RISK_PREFIX_TOKENS_MAX ? count : RISK_PREFIX_TOKENS_MAX));
        uint32_t text = tape_get_str(t, tool, "description");
        sizes[n++] = text ? tape_node(t, text)->len : 0;
    }
    qsort(sizes, n, sizeof *sizes, by_size);
    ret_ctx->tool_count = (uint32_t)n;
    ret_ctx->description_median = n ? sizes[n / 2] : 0;
    ret_ctx->browser = gestures >= 2 && gestures * 10 >= n;
    ret_ctx->till = money >= 2;
    find_prefix(ret_ctx, names, n);
}
