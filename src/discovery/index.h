/* Finds tools by their purpose: an inverted index with BM25 scores over names, titles, parameters and
 * descriptions. Handles stems, synonyms and typing errors. The caller decides what is visible: every
 * search has a filter. */
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
    bool exact;   /* it contains every word of the query itself */
};

/* The tools that the caller may see. */
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
/* Best first; at most `max` (INDEX_HITS_MAX) of the visible ones. Exact hits come before all others.
 * *ret_all (may be NULL): the number of all hits, including omitted ones. */
size_t index_search(struct index *ix, struct slice query, const struct index_view *view, size_t max,
                    struct index_hit *hits, size_t *ret_all);
/* NULL when there is none, or none that is visible. An empty server: the only tool of that name. */
const struct index_tool *index_find(struct index *ix, struct slice server, struct slice name,
                                    const struct index_view *view);
/* Walk in order of server and insertion: start with *at = 0; NULL at the end. */
const struct index_tool *index_next(struct index *ix, const struct index_view *view, size_t *at);
