/* Shared by the files of this room: sessions with many servers. */
#pragma once

#include "base/arena.h"
#include "call/core.h"

/* Which tools of many servers a list shows: see shortlist.h. */
enum many_discovery { MANY_DISCOVERY_ALL, MANY_DISCOVERY_LAZY, MANY_DISCOVERY_HYBRID };

/* How pools are opened and closed; set by session/. */
struct many_sessions {
    struct session *(*open)(struct core *core, const struct session_front *front, void *owner,
                            struct principal *principal, struct server *only, bool stateless);
    void (*close)(struct session *s);
};

struct many {
    struct core *core;
    const struct many_sessions *sessions;
    enum many_discovery discovery;
    uint64_t list_ms;           /* time-out for the slowest server of a list; 0: GATHER_LIST_MS */
    uint32_t discovery_keep;    /* tools of other servers that a hybrid list shows */
    unsigned char seal_key[32]; /* see seal.h */
    struct arena claims_arena;
    struct map claims; /* see claim.h */
    struct list pools; /* see pool.h */
    struct io_timer sweep;
};

void many_init(struct core *core, const struct many_sessions *sessions);
void many_free(struct core *core); /* after the last session */
