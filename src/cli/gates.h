/* The running gates of this home and their servers. Each writes a page about itself to HOME/gates, so that
 * `status` needs neither a grant nor the network; only the home's owner can read it.
 *
 *   {"pid","version","started_at","listen","sessions","policies":[HASH],"servers":[{"name","transport","state","tools","links",
 *    "pids","restarts","fault"?}]} */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "io/loop.h"
#include "session/session.h"
#include "wire/tape.h"

struct settings;

struct cli_gate_page {
    struct core *core;
    struct io_timer timer;
    struct buf text;
    char *path; /* owned */
    char *listen;
    uint64_t started_ms;
};

/* Starts to write the page; the end removes it. Never fails: without a page, `status` does not show the
 * gate. */
void cli_gate_page_open(struct cli_gate_page *p, struct core *core, const char *home, const char *bind,
                        uint16_t port);
void cli_gate_page_close(struct cli_gate_page *p);

/* Calls `each` with the page, an object, of every gate that runs, oldest first. */
void cli_gates_each(const char *home, void (*each)(void *ctx, const struct tape *page), void *ctx);
/* Where clients reach a gate with these settings. */
const char *cli_gate_url(const struct settings *settings, struct arena *a);
