/* Finds tools by what they are for: an inverted index with BM25 scores over names, titles, parameters and
 * descriptions. Knows stems and synonyms and forgives typing errors. Who may see what is the asker's
 * business: every search brings a filter. */
#pragma once

#include "base/err.h"
#include "discovery/limits.h"
#include "wire/tape.h"

struct index;

struct index_tool { /* borrowed from the index, until the next change to it */
    struct slice server;
    struct slice name;
    struct slice title;       /* may be empty */
    struct slice description; /* may be empty */
    struct slice category;    /* risk class, as given */
    struct slice definition;  /* JSON, as the server wrote it */
};

struct index_hit {
    const struct index_tool *tool;
    double score; /* higher is better; comparable within one search only */
    bool exact;   /* it holds every word of the question itself, wherever it stands */
};

/* What the asker may see. */
struct index_view {
    bool (*may)(void *ctx, const struct index_tool *tool);
    void *ctx;
};

struct index *index_new(void);
void index_free(struct index *ix); /* NULL is fine */
/* Adds one definition (an object in the tape) of a server. A second one of that name replaces the first. */
int index_put(struct index *ix, struct slice server, const struct tape *t, uint32_t definition,
              const char *category, struct err *err);
size_t index_count(const struct index *ix);
/* Best first; at most `max` (INDEX_HITS_MAX) of what the view lets see. No exact hit is left out for one that
 * is not. *ret_all (may be NULL): how many fit, those that were left out included. */
size_t index_search(struct index *ix, struct slice query, const struct index_view *view, size_t max,
                    struct index_hit *hits, size_t *ret_all);
/* NULL when there is none, or none that may be seen. An empty server: the only tool of that name. */
const struct index_tool *index_find(struct index *ix, struct slice server, struct slice name,
                                    const struct index_view *view);
/* Walk in order of server and insertion: start with *at = 0; NULL at the end. */
const struct index_tool *index_next(struct index *ix, const struct index_view *view, size_t *at);
