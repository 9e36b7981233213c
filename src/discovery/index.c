#include "discovery/index.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "discovery/limits.h"
#include "discovery/terms.h"

#include <math.h>
#include <stdlib.h>

#define QUERY_WORDS_MAX 12
/* BM25 with fields: the weight of a word in each field, and the saturation of repeated words. */
#define WEIGHT_NAME 6.0f
#define WEIGHT_SERVER 4.0f
#define WEIGHT_MORE 1.5f /* title and parameters */
#define WEIGHT_DESCRIPTION 1.0f
#define SATURATION 3.0f
#define LENGTH_SHARE 0.4f /* share of the saturation that grows with the length of the text */
#define SYNONYM 0.55f     /* share of the weight of the word itself, for a synonym */
#define GUESS 0.6f        /* the same for the correction of an unknown word */
#define NAME_BONUS 2.0f   /* bonus for a name that contains only words of the query */

struct posting {
    uint32_t entry;
    float weight; /* frequency of the word in that definition */
};

struct term {
    struct posting *postings;
    size_t count;
};

struct shelf { /* what one server has */
    struct slice server;
    struct map names; /* of its tools: number of the entry + 1 */
    struct arena arena;
};

enum field { FIELD_NAME, FIELD_SERVER, FIELD_MORE, FIELD_DESCRIPTION, FIELD_COUNT };
static const float field_weights[FIELD_COUNT] = {WEIGHT_NAME, WEIGHT_SERVER, WEIGHT_MORE, WEIGHT_DESCRIPTION};

struct entry {
    struct index_tool tool;
    struct slice words[FIELD_COUNT];
    float length;
    struct shelf *shelf; /* NULL: removed; its postings are skipped until the index is compacted */
};

struct index {
    struct entry *entries;
    size_t count;
    size_t cap;
    size_t used;
    double length_sum;
    struct map shelves;
    struct map terms; /* by stem */
    struct arena stems;
    struct map meanings; /* by stem: the group of words that mean the same */
};

struct index *index_new(void) {
    struct index *ix = mem_zalloc(sizeof(*ix));
    map_init(&ix->shelves);
    map_init(&ix->terms);
    arena_init(&ix->stems);
    map_init(&ix->meanings);
    const char *const *group;
    for (size_t i = 0; (group = terms_meaning(i)); i++)
        for (const char *const *word = group; *word; word++)
            map_put(&ix->meanings, terms_stem(slice_str(*word)), (void *)(uintptr_t)group);
    return ix;
}

static void terms_free(struct index *ix) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&ix->terms, &at))) {
        struct term *term = e->value;
        free(term->postings);
        free(term);
    }
    map_free(&ix->terms);
    arena_free(&ix->stems);
    ix->length_sum = 0;
}

static void shelf_free(struct shelf *s) {
    map_free(&s->names);
    arena_free(&s->arena);
    free(s);
}

void index_free(struct index *ix) {
    if (!ix)
        return;
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&ix->shelves, &at)))
        shelf_free(e->value);
    map_free(&ix->shelves);
    map_free(&ix->meanings);
    terms_free(ix);
    free(ix->entries);
    free(ix);
}

size_t index_count(const struct index *ix) { return ix->used; }

/* ---- filling ---- */

static struct shelf *shelf_of(struct index *ix, struct slice server) {
    struct shelf *s = map_get(&ix->shelves, server);
    if (s)
        return s;
    s = mem_zalloc(sizeof(*s));
    arena_init(&s->arena);
    map_init(&s->names);
    s->server = arena_dup(&s->arena, server);
    map_put(&ix->shelves, s->server, s);
    return s;
}

static void post(struct index *ix, struct slice word, uint32_t entry, float weight) {
    struct slice stem = terms_stem(word);
    struct term *term = map_get(&ix->terms, stem);
    if (!term) {
        term = mem_zalloc(sizeof(*term));
        map_put(&ix->terms, arena_dup(&ix->stems, stem), term);
    }
    if (term->count && term->postings[term->count - 1].entry == entry) {
        term->postings[term->count - 1].weight += weight;
        return;
    }
    if ((term->count & (term->count - 1)) == 0)
        term->postings =
            mem_realloc(term->postings, (term->count ? term->count * 2 : 1) * sizeof(*term->postings));
    term->postings[term->count++] = (struct posting){entry, weight};
}

static void post_entry(struct index *ix, uint32_t at) {
    struct entry *e = &ix->entries[at];
    e->length = 0;
    for (size_t f = 0; f < FIELD_COUNT; f++) {
        struct slice words = e->words[f], word;
        while (words.len) {
            slice_cut(&words, ' ', &word);
            post(ix, word, at, field_weights[f]);
            e->length += field_weights[f];
        }
    }
    ix->length_sum += e->length;
    map_put(&e->shelf->names, e->tool.name, (void *)(uintptr_t)(at + 1));
}

/* Drops removed entries, when they outnumber the others. */
static void pack(struct index *ix) {
    if (ix->count < 64 || ix->used * 2 > ix->count)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < ix->count; i++)
        if (ix->entries[i].shelf)
            ix->entries[kept++] = ix->entries[i];
    ix->count = kept;
    terms_free(ix);
    for (uint32_t i = 0; i < kept; i++)
        post_entry(ix, i);
}

static void forget(struct index *ix, struct entry *e) {
    e->shelf = NULL;
    ix->length_sum -= e->length;
    ix->used--;
}

static struct slice text_of(const struct tape *t, uint32_t def, const char *key, struct arena *a) {
    uint32_t node = tape_get_str(t, def, key);
    return node && tape_is(t, node, TAPE_STRING) ? arena_dup(a, tape_text(t, node, a)) : (struct slice){0};
}

/* Title and names of parameters: their descriptions repeat the tool's more often than they help. */
static struct slice words_of_rest(const struct tape *t, uint32_t def, struct slice title, struct arena *a) {
    struct buf text;
    buf_init(&text, INDEX_TEXT_MAX);
    buf_put_slice(&text, title);
    uint32_t properties = tape_path(t, def, "inputSchema", "properties", NULL);
    if (properties && tape_is(t, properties, TAPE_OBJECT)) {
        TAPE_FOR_MEMBER(t, properties, key) {
            buf_put_char(&text, ' ');
            buf_put_slice(&text, tape_text(t, key, a));
        }
    }
    struct slice words = terms_split(buf_slice(&text), a);
    buf_free(&text);
    return words;
}

static struct entry *entry_add(struct index *ix) {
    if (ix->count == ix->cap) {
        ix->cap = ix->cap ? ix->cap * 2 : 64;
        ix->entries = mem_realloc(ix->entries, ix->cap * sizeof(*ix->entries));
    }
    ix->used++;
    return &ix->entries[ix->count++];
}

int index_put(struct index *ix, struct slice server, const struct tape *t, uint32_t definition,
              const char *category, struct err *err) {
    uint32_t name = tape_get_str(t, definition, "name");
    if (!name || !tape_is(t, name, TAPE_STRING))
        return err_set(err, "tool index: a definition without a name");
    if (ix->used >= INDEX_TOOLS_MAX)
        return err_set(err, "tool index: more than %u tools", INDEX_TOOLS_MAX);
    struct shelf *shelf = shelf_of(ix, server);
    struct arena *a = &shelf->arena;
    struct index_tool tool = {
        .server = shelf->server,
        .name = arena_dup(a, tape_text(t, name, a)),
        .title = text_of(t, definition, "title", a),
        .description = text_of(t, definition, "description", a),
        .category = arena_dup(a, slice_str(category)),
        .definition = arena_dup(a, tape_raw(t, definition)),
    };
    uintptr_t known = (uintptr_t)map_remove(&shelf->names, tool.name);
    if (known)
        forget(ix, &ix->entries[known - 1]);
    pack(ix);
    *entry_add(ix) = (struct entry){
        .tool = tool,
        .shelf = shelf,
        .words = {[FIELD_NAME] = terms_split(tool.name, a),
                  [FIELD_SERVER] = terms_split(server, a),
                  [FIELD_MORE] = words_of_rest(t, definition, tool.title, a),
                  [FIELD_DESCRIPTION] = terms_split(tool.description, a)},
    };
    post_entry(ix, (uint32_t)ix->count - 1);
    return 0;
}

/* ---- asking ---- */

/* The stem that was probably meant; the word's own stem when it is known or no other is near. */
static struct slice meant_stem(const struct index *ix, struct slice word) {
    struct slice stem = terms_stem(word), meant = stem;
    if (stem.len < 4 || map_get(&ix->terms, stem) || map_get(&ix->meanings, stem))
        return stem;
    size_t best = stem.len > 6 ? 3 : 2;
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&ix->terms, &at))) {
        size_t longer = e->key.len > stem.len ? e->key.len - stem.len : stem.len - e->key.len;
        if (longer >= best)
            continue;
        size_t distance = nearest_distance(stem, e->key);
        if (distance < best) {
            best = distance;
            meant = e->key;
        }
    }
    return meant;
}

/* The score of this stem for each entry that contains it; the best of a word and its synonyms counts. */
static void weigh(const struct index *ix, struct slice stem, float share, float *bests) {
    const struct term *term = map_get(&ix->terms, stem);
    if (!term)
        return;
    float rarity = logf(1 + ((float)ix->used - (float)term->count + 0.5f) / ((float)term->count + 0.5f));
    if (rarity < 0.1f)
        rarity = 0.1f;
    float mean = (float)(ix->length_sum / (double)ix->used);
    for (size_t i = 0; i < term->count; i++) {
        const struct posting *p = &term->postings[i];
        float length = ix->entries[p->entry].length;
        float norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean);
        float worth = share * rarity * p->weight / (p->weight + norm);
        if (worth > bests[p->entry])
            bests[p->entry] = worth;
    }
}

struct question {
    struct slice stems[QUERY_WORDS_MAX];
    float shares[QUERY_WORDS_MAX];                /* confidence that this stem was meant */
    const char *const *meanings[QUERY_WORDS_MAX]; /* or NULL */
    size_t count;
};

static void read_question(const struct index *ix, struct slice text, struct arena *a, struct question *q) {
    struct slice words[TERMS_MAX];
    size_t n = terms_keep(terms_split(text, a), words);
    q->count = n < QUERY_WORDS_MAX ? n : QUERY_WORDS_MAX;
    for (size_t i = 0; i < q->count; i++) {
        q->stems[i] = meant_stem(ix, words[i]);
        q->shares[i] = slice_eq(q->stems[i], terms_stem(words[i])) ? 1 : GUESS;
        q->meanings[i] = map_get(&ix->meanings, q->stems[i]);
    }
}

/* "make a new one" repeats one meaning: it counts once. */
static bool is_repeated(const struct question *q, size_t w) {
    for (size_t v = 0; v < w; v++)
        if (q->meanings[w] && q->meanings[v] == q->meanings[w])
            return true;
    return false;
}

/* The share of the name that the query contains. */
static float name_share(const struct index *ix, const struct entry *e, const struct question *q) {
    struct slice words = e->words[FIELD_NAME], word;
    float asked = 0, all = 0;
    while (words.len) {
        slice_cut(&words, ' ', &word);
        struct slice stem = terms_stem(word);
        const void *meaning = map_get(&ix->meanings, stem);
        float part = 0;
        for (size_t i = 0; i < q->count; i++) {
            float fit = slice_eq(stem, q->stems[i]) ? 1 : meaning && meaning == q->meanings[i] ? SYNONYM : 0;
            part = fmaxf(part, fit * q->shares[i]);
        }
        asked += part;
        all += 1;
    }
    return all > 0 ? asked / all : 0;
}

static int by_score(const void *a, const void *b) {
    double x = ((const struct index_hit *)a)->score, y = ((const struct index_hit *)b)->score;
    return x < y ? 1 : x > y ? -1 : 0;
}

static bool sees(const struct index_view *view, const struct entry *e) {
    return e->shelf && (!view || view->may(view->ctx, &e->tool));
}

/* Exact hits first, so that a cut never keeps another hit instead of an exact one. */
static int by_fit(const void *a, const void *b) {
    const struct index_hit *x = a, *y = b;
    return x->exact != y->exact ? (int)y->exact - (int)x->exact : by_score(a, b);
}

/* The best visible entries, more than a caller needs. */
static size_t candidates(const struct index *ix, const struct index_view *view, const float *scores,
                         const uint8_t *met, size_t words, struct index_hit *found, size_t max,
                         size_t *ret_all) {
    size_t n = 0, all = 0;
    struct index_hit least = {0};
    for (size_t i = 0; i < ix->count; i++) {
        if (scores[i] <= 0 || !sees(view, &ix->entries[i]))
            continue;
        all++;
        const struct index_hit hit = {&ix->entries[i].tool, scores[i], met[i] == words};
        if (least.tool && by_fit(&hit, &least) >= 0)
            continue;
        if (n == max) {
            qsort(found, n, sizeof(found[0]), by_fit);
            n = max / 2;
            least = found[n - 1];
            if (by_fit(&hit, &least) >= 0)
                continue;
        }
        found[n++] = hit;
    }
    *ret_all = all;
    return n;
}

/* Which entries contain the word itself. */
static void meet(const struct index *ix, struct slice stem, uint8_t *met) {
    const struct term *term = map_get(&ix->terms, stem);
    for (size_t i = 0; term && i < term->count; i++)
        met[term->postings[i].entry]++;
}

size_t index_search(struct index *ix, struct slice query, const struct index_view *view, size_t max,
                    struct index_hit *hits, size_t *ret_all) {
    size_t all = 0;
    if (ret_all)
        *ret_all = 0;
    if (!ix->used)
        return 0;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct question q;
    read_question(ix, query, &a, &q);
    float *scores = arena_array(&a, float, ix->count), *bests = arena_array(&a, float, ix->count);
    uint8_t *met = arena_array(&a, uint8_t, ix->count);
    for (size_t w = 0; w < q.count; w++) {
        if (q.shares[w] == 1)
            meet(ix, q.stems[w], met);
        if (is_repeated(&q, w))
            continue;
        memset(bests, 0, ix->count * sizeof(*bests));
        for (size_t v = w; v < q.count; v++)
            if (v == w || (q.meanings[w] && q.meanings[v] == q.meanings[w]))
                weigh(ix, q.stems[v], q.shares[v], bests);
        for (const char *const *s = q.meanings[w]; s && *s; s++)
            weigh(ix, terms_stem(slice_str(*s)), q.shares[w] * SYNONYM, bests);
        for (size_t i = 0; i < ix->count; i++)
            scores[i] += bests[i];
    }
    struct index_hit found[INDEX_HITS_MAX * 4];
    size_t count = candidates(ix, view, scores, met, q.count, found, ARRAY_LEN(found), &all);
    for (size_t i = 0; i < count; i++)
        found[i].score += NAME_BONUS * name_share(ix, container_of(found[i].tool, struct entry, tool), &q);
    if (count > max)
        qsort(found, count, sizeof(found[0]), by_fit);
    count = count < max ? count : max;
    qsort(found, count, sizeof(found[0]), by_score);
    memcpy(hits, found, count * sizeof(hits[0]));
    if (ret_all)
        *ret_all = all;
    return count;
}

const struct index_tool *index_find(struct index *ix, struct slice server, struct slice name,
                                    const struct index_view *view) {
    const struct index_tool *found = NULL;
    if (server.len) {
        const struct shelf *shelf = map_get(&ix->shelves, server);
        uintptr_t at = shelf ? (uintptr_t)map_get(&shelf->names, name) : 0;
        return at && sees(view, &ix->entries[at - 1]) ? &ix->entries[at - 1].tool : NULL;
    }
    for (size_t i = 0; i < ix->count; i++) {
        const struct entry *e = &ix->entries[i];
        if (!sees(view, e) || !slice_eq(e->tool.name, name))
            continue;
        if (found)
            return NULL;
        found = &e->tool;
    }
    return found;
}

const struct index_tool *index_next(struct index *ix, const struct index_view *view, size_t *at) {
    while (*at < ix->count) {
        const struct entry *e = &ix->entries[(*at)++];
        if (sees(view, e))
            return &e->tool;
    }
    return NULL;
}
