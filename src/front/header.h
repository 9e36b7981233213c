/* The headers that mirror a message in the modern era: they must match the body. */
#pragma once

#include "base/arena.h"
#include "upstream/msg.h"
#include "wire/http.h"

struct header_fault {
    int code;
    const char *why;
    struct slice data; /* JSON for error.data, or empty */
};

/* Does this request declare the modern era? */
bool header_is_modern(const struct http_head *head, const struct msg *m);
/* Checks `_meta` and the mirrored headers; false with the fault to answer (HTTP 400). */
bool header_check_modern(const struct http_head *head, const struct msg *m, struct arena *a,
                         struct header_fault *ret_fault);
/* The Mcp-Param-* headers, as complete lines to pass on. */
struct slice header_params(const struct http_head *head, struct arena *a);
