/* One configured server as sessions see it. It keeps its slot for as long as it exists, so that a session's
 * links are found by number. */
#pragma once

#include "base/sha.h"
#include "filter/filter.h"
#include "session/session.h"

#define SERVER_REFUSED_MAX 512
#define SERVER_FAULT_MAX 256

struct policy;

/* What is known of one server's tools; see tools.h. */
struct tool_table {
    struct arena arena;
    struct map by_name;
    bool loaded;
    bool partial; /* the last of it could not be had */
    bool printed; /* all of it came on one page, and this is its fingerprint: */
    char print[SHA_HEX];
    bool has_apps; /* some come with a page (MCP Apps) that calls the others by their own names */
    uint64_t loaded_ms;
    uint64_t serial;        /* of the list that was learned last */
    struct buf definitions; /* of a first use, as they come */
};

struct server_description { /* what a server said of itself when it was greeted last; raw JSON, owned */
    char *capabilities;
    char *instructions;
};

struct server {
    struct up_server up;
    size_t slot;
    const char *prefix;  /* in front of its tools' names; NULL: its name */
    bool shared;         /* one link for all sessions of a principal */
    uint64_t idle_ms;    /* without a call, before a link is ended; 0: never */
    uint64_t timeout_ms; /* of a call without a word from the server; 0: CALL_IDLE_MS */
    uint64_t health_ms;  /* of silence, before it is asked for a sign of life; 0: never */
    uint64_t health_timeout_ms;
    uint64_t health_checks; /* how often it was asked, and how often in vain */
    uint64_t health_misses;
    uint64_t heard_ms;            /* by any of its links, on the clock of health.c */
    uint64_t asked_ms;            /* the same */
    uint64_t gone_ms;             /* over HTTP: links that have heard nothing since are over */
    char fault[SERVER_FAULT_MAX]; /* why it was given up, until it is back */
    struct server_description description;
    struct policy *policy; /* its own, or NULL */
    const char *pin_name;  /* what the lock calls it; NULL: as everybody does */
    struct tool_table tools;
    char refused[SERVER_REFUSED_MAX]; /* why it was not started, when that happened last */
    uint32_t tools_changes;           /* how often its list was said to have changed */
    bool pii_set;                     /* it has a mode of its own for personal data and secrets: */
    enum filter_mode pii;
    const char *origin; /* what its values are remembered under; NULL: its name */
    struct arena arena; /* for the texts of `up` that nobody else keeps */
};

/* In the first free slot; its settings are filled in before the first session uses it. */
struct server *server_new(struct core *core);
/* Names may meet again behind another gate of the home: what a server is run with belongs to its origin. */
void server_set_origin(struct server *server, char *const *command, const char *url);
/* Its links are closed, calls under way fail, the slot is free. */
void server_free(struct core *core, struct server *server);
/* Links of all sessions to it that are ready, and those of sessions that miss it. */
void server_links(const struct core *core, const struct server *server, size_t *ret_ready,
                  size_t *ret_missing);
/* "down", "ready" or "idle". */
const char *server_state(size_t ready, size_t missing);
/* NULL when there is none of that name. */
struct server *server_find(struct core *core, struct slice name);
