/* Properties that the tools of one server share. */
#pragma once

#include "base/arena.h"
#include "risk/limits.h"
#include "wire/tape.h"

struct risk_toolset {
    struct slice prefix[RISK_PREFIX_TOKENS_MAX]; /* words that (nearly) all names begin with */
    size_t prefix_count;
    struct slice server_words[RISK_SERVER_WORDS_MAX]; /* words of the server's own name */
    size_t server_word_count;
    uint32_t tool_count;
    uint32_t description_median; /* bytes */
    bool browser;
    bool till; /* at least two tools have names about moving money */
};

/* `tools` is the array of a tools/list result; `server` the server's or package's name, or empty. */
void risk_toolset_read(const struct tape *t, uint32_t tools, struct slice server, struct arena *a,
                       struct risk_toolset *ret_ctx);
