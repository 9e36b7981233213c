#include "rpc.h"

#include <string.h>

struct cursor {
    const char *at;
    const char *end;
    bool bad;
};

static char peek(struct cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
    return c->at < c->end ? *c->at : '\0';
}

static bool take_char(struct cursor *c, char want) {
    if (peek(c) != want) {
        c->bad = true;
        return false;
    }
    c->at++;
    return true;
}

static bool quote_is_escaped(const char *start, const char *quote) {
    const char *at = quote;
    while (at > start && at[-1] == '\\')
        at--;
    return (quote - at) % 2 == 1;
}

/* A string's bytes between the quotes. memchr finds the quote, so long texts are cheap. */
static struct slice take_string(struct cursor *c) {
    if (!take_char(c, '"'))
        return (struct slice){0};
    const char *start = c->at;
    const char *quote = start;
    while ((quote = memchr(quote, '"', (size_t)(c->end - quote)))) {
        if (!quote_is_escaped(start, quote)) {
            c->at = quote + 1;
            return (struct slice){start, (size_t)(quote - start)};
        }
        quote++;
    }
    c->bad = true;
    return (struct slice){0};
}

static void skip_scalar(struct cursor *c) {
    while (c->at < c->end && !memchr(",]} \t\r\n", *c->at, 7))
        c->at++;
}

/* Any value; nesting is counted, not recursed into. */
static struct slice take_value(struct cursor *c) {
    peek(c);
    const char *start = c->at;
    int depth = 0;
    do {
        char ch = peek(c);
        if (ch == '\0') {
            c->bad = true;
            return (struct slice){0};
        }
        if (ch == '"') {
            take_string(c);
        } else if (ch == '{' || ch == '[') {
            depth++;
            c->at++;
        } else if (ch == '}' || ch == ']') {
            depth--;
            c->at++;
        } else if (ch == ',' || ch == ':') {
            c->at++;
        } else {
            skip_scalar(c);
        }
    } while (depth > 0 && !c->bad);
    return (struct slice){start, (size_t)(c->at - start)};
}

/* Steps to the next member of an object whose `{` was taken. False at its end. */
static bool next_key(struct cursor *c, struct slice *ret_key) {
    if (peek(c) == ',')
        c->at++;
    if (c->bad || peek(c) == '}') {
        c->at += !c->bad;
        return false;
    }
    *ret_key = take_string(c);
    return take_char(c, ':') && !c->bad;
}

static bool enter_object(struct cursor *c) {
    if (peek(c) == '{') {
        c->at++;
        return true;
    }
    take_value(c);
    return false;
}

static struct slice take_string_or_skip(struct cursor *c) {
    if (peek(c) == '"')
        return take_string(c);
    take_value(c);
    return (struct slice){0};
}

static void scan_arguments(struct cursor *c, struct rpc *rpc) {
    struct slice key;
    if (!enter_object(c))
        return;
    while (next_key(c, &key)) {
        if (slice_is(key, "text"))
            rpc->text = take_string_or_skip(c);
        else
            take_value(c);
    }
}

static void scan_meta(struct cursor *c, struct rpc *rpc) {
    struct slice key;
    if (!enter_object(c))
        return;
    while (next_key(c, &key)) {
        if (slice_is(key, "io.modelcontextprotocol/protocolVersion"))
            rpc->modern = true;
        take_value(c);
    }
}

static void scan_params(struct cursor *c, struct rpc *rpc) {
    struct slice key;
    if (!enter_object(c))
        return;
    while (next_key(c, &key)) {
        if (slice_is(key, "name"))
            rpc->name = take_string_or_skip(c);
        else if (slice_is(key, "arguments"))
            scan_arguments(c, rpc);
        else if (slice_is(key, "_meta"))
            scan_meta(c, rpc);
        else if (slice_is(key, "protocolVersion"))
            rpc->version = take_string_or_skip(c);
        else
            take_value(c);
    }
}

bool rpc_scan(struct rpc *ret_rpc, const char *base, size_t len) {
    struct cursor c = {.at = base, .end = base + len};
    struct rpc rpc = {0};
    struct slice key;
    if (!take_char(&c, '{'))
        return false;
    while (next_key(&c, &key)) {
        if (slice_is(key, "id"))
            rpc.id = take_value(&c);
        else if (slice_is(key, "method"))
            rpc.method = take_string_or_skip(&c);
        else if (slice_is(key, "params"))
            scan_params(&c, &rpc);
        else
            take_value(&c);
    }
    *ret_rpc = rpc;
    return !c.bad;
}
