/* Schemas of results, as the client gets them. Tokens are text, and clients reject a result that its schema
 * does not describe; so where results may contain tokens, the schema accepts text in place of numbers, and
 * no pattern or length excludes a token. Formats stay: tokens keep them.
 *
 *   {"type":"integer"}                    {"type":["integer","string"]}
 *   {"type":"string","pattern":"^[0-9]"}  {"type":"string","pattern":""} */
#include "base/mem.h"
#include "privacy/privacy.h"
#include "privacy/redact.h"

#include <stdlib.h>

#define LIST_ANY_LENGTH SLICE("2147483647")

struct loosening {
    const struct tape *t;
    struct splice_edit *edits; /* as many as the schema has nodes */
    uint32_t count;
};

static void loosen(struct loosening *w, uint32_t start, uint32_t end, struct slice text) {
    w->edits[w->count++] = (struct splice_edit){.start = start, .end = end, .text = text};
}

static void loosen_value(struct loosening *w, uint32_t node, struct slice text) {
    const struct slice raw = tape_raw(w->t, node);
    const uint32_t start = (uint32_t)(raw.ptr - w->t->src.ptr);
    loosen(w, start, start + (uint32_t)raw.len, text);
}

static bool is_number(const struct tape *t, uint32_t type) {
    return tape_eq(t, type, SLICE("integer")) || tape_eq(t, type, SLICE("number"));
}

static void loosen_type(struct loosening *w, uint32_t type) {
    const struct tape *t = w->t;
    bool number = false, text = false;
    if (is_number(t, type)) {
        loosen_value(w, type,
                     tape_eq(t, type, SLICE("integer")) ? SLICE("[\"integer\",\"string\"]")
                                                        : SLICE("[\"number\",\"string\"]"));
        return;
    }
    if (!tape_is(t, type, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(t, type, i) {
        number |= is_number(t, i);
        text |= tape_eq(t, i, SLICE("string"));
    }
    const struct tape_node *n = tape_node(t, type);
    if (number && !text)
        loosen(w, n->start + n->len - 1, n->start + n->len, SLICE(",\"string\"]"));
}

/* A property may have the name of a keyword; its value is a schema then, no text and no number. */
static void loosen_member(struct loosening *w, uint32_t key) {
    const uint32_t value = key + 1;
    if (tape_eq(w->t, key, SLICE("type")))
        loosen_type(w, value);
    else if (tape_eq(w->t, key, SLICE("pattern")) && tape_is(w->t, value, TAPE_STRING))
        loosen_value(w, value, SLICE("\"\""));
    else if (tape_eq(w->t, key, SLICE("maxLength")) && tape_is(w->t, value, TAPE_NUMBER))
        loosen_value(w, value, LIST_ANY_LENGTH);
    else if (tape_eq(w->t, key, SLICE("minLength")) && tape_is(w->t, value, TAPE_NUMBER))
        loosen_value(w, value, SLICE("0"));
}

static int by_start(const void *a, const void *b) {
    const struct splice_edit *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool has_tokens(const struct call *c, struct slice tool) {
    struct filter_options opt;
    privacy_modes(c->session, c->server, tool, &opt);
    for (size_t k = 0; k <= FILTER_MODE_CUSTOM; k++)
        if (opt.modes[k] == FILTER_TOKENIZE || opt.modes[k] == FILTER_REDACT)
            return true;
    return false;
}

void redact_list(struct call *c, uint32_t tools, struct splice *text) {
    const struct tape *t = &c->response->tape;
    if (!c->session->core->privacy || privacy_off(c->session, c->server))
        return;
    TAPE_FOR_ELEM(t, tools, elem) {
        const uint32_t schema = tape_is(t, elem, TAPE_OBJECT) ? tape_get_str(t, elem, "outputSchema") : 0;
        if (!schema || !tape_is(t, schema, TAPE_OBJECT) ||
            !has_tokens(c, tape_text_of(t, elem, "name", &c->arena)))
            continue;
        const uint32_t stop = tape_node(t, schema)->next;
        struct loosening w = {.t = t,
                              .edits = arena_alloc(&c->arena, (stop - schema) * sizeof(struct splice_edit))};
        for (uint32_t i = schema; i < stop; i++)
            if (tape_is(t, i, TAPE_OBJECT))
                TAPE_FOR_MEMBER(t, i, key)
        loosen_member(&w, key);
        if (w.count)
            qsort(w.edits, w.count, sizeof(*w.edits), by_start);
        splice_merge(text, w.edits, w.count); /* not where the tool or its schema is removed */
    }
}
