/* Finds tools by what they are for: an inverted index with BM25 scores over names, titles, parameters and
 * descriptions. Knows stems and synonyms and forgives typing errors. Who may see what is the asker's
 * business: every search brings a filter. */
#pragma once

#include "base/err.h"
#include "wire/tape.h"

#define CODE_HITS_MAX 50

struct code_index;

struct code_indexed { /* borrowed from the index, until the next change to it */
    struct slice server;
    struct slice name;
    struct slice title;       /* may be empty */
    struct slice description; /* may be empty */
    struct slice category;    /* risk class, as given */
    struct slice definition;  /* JSON, as the server wrote it */
};

struct code_hit {
    const struct code_indexed *tool;
    double score; /* higher is better; comparable within one search only */
};

/* What the asker may see. */
struct code_view {
    bool (*may)(void *ctx, const struct code_indexed *tool);
    void *ctx;
};

struct code_index *code_index_new(void);
void code_index_free(struct code_index *ix); /* NULL is fine */
/* Adds one definition (an object in the tape) of a server. A second one of that name replaces the first. */
int code_index_put(struct code_index *ix, struct slice server, const struct tape *t, uint32_t definition,
                   const char *category, struct err *err);
void code_index_drop(struct code_index *ix, struct slice server);
size_t code_index_count(const struct code_index *ix);
/* Best first; at most `max` (CODE_HITS_MAX) of what the view lets see. */
size_t code_index_search(struct code_index *ix, struct slice query, const struct code_view *view, size_t max,
                         struct code_hit *hits);
/* NULL when there is none, or none that may be seen. An empty server: the only tool of that name. */
const struct code_indexed *code_index_find(struct code_index *ix, struct slice server, struct slice name,
                                           const struct code_view *view);
/* Walk in order of server and insertion: start with *at = 0; NULL at the end. */
const struct code_indexed *code_index_next(struct code_index *ix, const struct code_view *view, size_t *at);
