/* Queries of requests, checked by the table of routes: a filter whose name is misspelt would otherwise match
 * everything, and so would one that is given twice or cannot be decoded. */
#include "admin/api.h"
#include "base/nearest.h"

#define QUERY_NAMES_MAX 64 /* parameters of one route: bits of `seen` */

static bool refuse_name(struct api_call *c, struct slice name) {
    const char *names[QUERY_NAMES_MAX + 1];
    size_t count = 0;
    for (const struct api_query *q = c->route->query; q && q->name && count < QUERY_NAMES_MAX; q++)
        names[count++] = q->name;
    names[count] = NULL;
    const char *near = nearest_word(name, names);
    if (count)
        api_error(c, 400, "unknown query parameter `%.*s`%s%s%s", SLICE_FMT(name),
                  near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
    else
        api_error(c, 400, "this request has no query parameters: remove `%.*s`", SLICE_FMT(name));
    return false;
}

static bool refuse_word(struct api_call *c, const struct api_query *q) {
    struct slice all = {0};
    for (size_t i = 0; q->words[i]; i++)
        all = arena_printf(&c->arena, "%.*s%s%s", SLICE_FMT(all),
                           !i                ? ""
                           : q->words[i + 1] ? ", "
                                             : " or ",
                           q->words[i]);
    api_error(c, 400, "%s must be %.*s", q->name, SLICE_FMT(all));
    return false;
}

static bool word_fits(const struct api_query *q, struct slice value) {
    for (size_t i = 0; q->words[i]; i++)
        if (slice_is(value, q->words[i]))
            return true;
    return !q->words[0] || !value.len;
}

bool api_params_check(struct api_call *c) {
    struct slice rest = c->request->head->query, name, value;
    cleanup_buf struct buf text;
    uint64_t seen = 0;
    buf_init(&text, HTTP_LINE_MAX);
    while (http_query_next(&rest, &name, &value)) {
        if (!http_query_decode(name, &text))
            return refuse_name(c, name);
        const struct api_query *q = c->route->query;
        while (q && q->name && !slice_is(buf_slice(&text), q->name))
            q++;
        if (!q || !q->name)
            return refuse_name(c, buf_slice(&text));
        uint64_t bit = 1ull << (q - c->route->query);
        if (seen & bit)
            return api_error(c, 400, "the query parameter `%s` is given more than once", q->name), false;
        seen |= bit;
        if (!http_query_decode(value, &text))
            return api_error(c, 400, "the value of `%s` is not percent-encoded text", q->name), false;
        if (!word_fits(q, buf_slice(&text)))
            return refuse_word(c, q);
    }
    return true;
}
