#include "risk/search.h"

#include <stdlib.h>

/* The next word; false when there is none left. */
static bool next_word(struct slice *words, struct slice *ret_word) {
    *words = slice_trim(*words);
    if (!words->len)
        return false;
    slice_cut(words, ' ', ret_word);
    return true;
}

/* ---- order ---- */

/* Ranks are within a registry. Servers of hosts and Go modules have none: the catalogue has only well-known
 * ones of them, which stand behind the first of the registries that count downloads. */
#define RANK_OF_WELL_KNOWN 20
static uint32_t obscurity(const struct risk_published *s) {
    if (s->registry == RISK_REMOTE || s->registry == RISK_GO)
        return RANK_OF_WELL_KNOWN;
    return s->rank ? s->rank : UINT32_MAX;
}

struct placed {
    uint32_t obscurity;
    size_t index; /* servers are in order of registry and name */
};

static int by_obscurity(const void *x, const void *y) {
    const struct placed *a = x, *b = y;
    return a->obscurity != b->obscurity ? (a->obscurity > b->obscurity) - (a->obscurity < b->obscurity)
                                        : (a->index > b->index) - (a->index < b->index);
}

size_t risk_search_order(struct arena *a, size_t **ret_servers) {
    size_t count = 0, all = risk_catalogue_servers();
    struct placed *placed = arena_array(a, struct placed, all);
    size_t *servers = arena_array(a, size_t, all);
    for (size_t i = 0; i < all; i++) {
        struct risk_published server;
        risk_catalogue_server(i, &server);
        if (server.newest)
            placed[count++] = (struct placed){obscurity(&server), i};
    }
    qsort(placed, count, sizeof *placed, by_obscurity);
    for (size_t i = 0; i < count; i++)
        servers[i] = placed[i].index;
    *ret_servers = servers;
    return count;
}

/* ---- words ---- */

/* A Go module begins with the host that it is fetched from. */
static struct slice name_without_host(const struct risk_published *s) {
    ptrdiff_t slash = s->registry == RISK_GO ? slice_find(s->name, '/') : -1;
    return slash < 0 ? s->name : slice_from(s->name, (size_t)slash + 1);
}

static bool is_named(const struct risk_published *server, struct slice word) {
    return slice_has_nocase(name_without_host(server), word) || slice_has_nocase(server->title, word);
}

bool risk_search_names(const struct risk_published *server, struct slice words) {
    struct slice word;
    while (next_word(&words, &word))
        if (!is_named(server, word))
            return false;
    return true;
}

static bool has_tool(const struct risk_published *server, struct slice word) {
    for (size_t i = 0; i < server->tools; i++) {
        struct risk_known known;
        risk_catalogue_get(server->first + i, &known);
        if (slice_has_nocase(known.tool, word))
            return true;
    }
    return false;
}

bool risk_search_server(const struct risk_published *server, struct slice words) {
    struct slice word;
    while (next_word(&words, &word))
        if (!is_named(server, word) && !has_tool(server, word))
            return false;
    return true;
}

bool risk_search_tool(const struct risk_known *known, const struct risk_published *server,
                      struct slice words) {
    struct slice word;
    bool about_it = !slice_trim(words).len;
    while (next_word(&words, &word)) {
        bool own = slice_has_nocase(known->tool, word) ||
                   slice_eq_nocase(slice_str(risk_class_name(known->cls)), word);
        if (!own && !is_named(server, word))
            return false;
        about_it |= own;
    }
    return about_it;
}
