/* struct channel and the types around it, for the files of this room and the rooms above. */
#pragma once

#include "base/text.h"
#include "call/core.h"
#include "server/server.h"

struct health_check;
struct listen_stream;
struct park;
struct tool_table;

/* An own request. It is stored where otherwise a call is. */
struct own_request {
    uint32_t magic;
    void (*answer)(struct own_request *own, struct msg *m);
    void (*failed)(struct own_request *own, const char *why);
    /* A message of the server about it, or NULL when none is expected. */
    void (*message)(struct own_request *own, struct msg *m);
};
#define OWN_REQUEST_MAGIC 0x0e4e0e4e

enum channel_state {
    CHANNEL_DOWN,
    CHANNEL_OPENING,
    CHANNEL_PROBE, /* the probe for its era is under way */
    CHANNEL_INIT,
    CHANNEL_READY,
};

/* The era used on a link; the client may use the other one. */
enum era { ERA_UNKNOWN, ERA_LEGACY, ERA_MODERN };

/* The health checks of a channel; see health.h. */
struct channel_health {
    struct health_check *check; /* under way, or NULL */
    uint64_t since_ms;          /* when its state last changed, or its last message came */
    uint64_t notify_ms;         /* clients are not notified again before this time */
    uint32_t heard;             /* messages then */
    int state;                  /* and the state; enum channel_state */
    uint8_t notify_count;
    bool doubt; /* check at the next sweep */
    bool again; /* retry: the previous check was interrupted */
};

struct channel {
    uint32_t magic;
    struct session *session;
    struct server *server;
    struct link *link;
    enum channel_state state;
    enum era era;
    struct text description;  /* the result of initialize or server/discover, where the gate knows it */
    struct slice server_info; /* in description, raw */
    uint32_t server_bits;     /* translate_server_bits */
    struct list waiting;      /* calls, until it is ready */
    struct up_era_wait era_wait;
    struct io_timer probe_timer;
    bool was_probed; /* the probe was sent on this link, and nothing else */
    bool is_claimed; /* the session's own, for a client that has begun in the legacy era */
    /* Several channels to one server, see channel.c. The first one: */
    struct list others; /* the others */
    uint32_t other_count;
    struct list waiting_exclusive; /* calls that wait for a channel of their own */
    /* every one: */
    struct channel *first;
    struct list other_node;
    struct text own_init;    /* the params of our own initialize for modern clients */
    struct text client_caps; /* the capabilities that it was made from, as the client wrote them */
    uint32_t users;          /* calls that have chosen it */
    struct call *holder;     /* the only one that a question can belong to, or NULL */
    struct park *parked;     /* the same for one whose client is being asked */
    int log_rank;            /* the log level last sent to the server; -1: none */
    struct io_timer idle;
    struct list notes;     /* small requests of our own: levels and subscriptions */
    bool level_pending;    /* one of them that calls wait for */
    struct map subscribed; /* URIs that a legacy client has subscribed to, owned */
    /* For such a client and a modern server; see listen.c: */
    struct listen_stream *listen;
    struct io_timer listen_timer;
    struct own_request init_own; /* our own initialize or server/discover */
    struct link_req init;
    struct own_request tools_own; /* our own tools/list, and skills/list behind it */
    bool tools_skills;            /* the second of them */
    struct link_req tools_req;
    struct arena tools_page;
    uint32_t tools_pages;
    struct tool_table *tools_fresh; /* what the answers add up to; not used before the last one */
    uint32_t tools_changes;         /* of the server, when it was asked */
    uint32_t tools_again;
    uint32_t tools_loads; /* answers that were had here */
    struct io_timer tools_timer;
    uint32_t failures;
    uint64_t opened_ms;
    struct io_timer backoff;
    uint64_t used_ms; /* when a call last ended here */
    bool missing;     /* the client has had a list without this server's part, or from a process
                         that is no more */
    struct channel_health health;
};
#define CHANNEL_MAGIC 0x5e5511c4

static inline bool channel_is_modern(const struct channel *ch) { return ch->era == ERA_MODERN; }

/* Events of channels for the rooms above; set by session/. */
struct channel_events {
    /* A request or notification of the server. `call`: it came on that call's stream, or NULL. */
    void (*message)(struct channel *ch, struct call *call, struct msg *m);
    void (*ready)(struct channel *ch); /* calls that waited have gone on */
    void (*down)(struct channel *ch);  /* it ended by itself, or could not be opened */
    void (*back)(struct channel *ch);  /* a server that was missing answers again */
    /* Its link is about to close: what depends on it ends. */
    void (*dropped)(struct channel *ch);
    void (*freed)(struct channel *ch);
    /* The standing stream of a modern server, as the client wants it now. */
    void (*listen)(struct channel *ch);
    /* The channel that the call must use because of what it is about (a task), or NULL. */
    struct channel *(*bound)(const struct channel *first, const struct call *c);
    /* The session that has the channels to a shared server. */
    struct session *(*pool)(struct session *s);
};

/* The room's own part of the core. */
struct channels {
    const struct link_events *link_events; /* report.h */
    const struct channel_events *events;
    uint64_t health_clock_ms; /* see health.c: does not advance while the gate is suspended */
    uint64_t health_seen_ms;
};

static inline const struct channel_events *channel_events_of(const struct channel *ch) {
    return ch->session->core->channels->events;
}
static inline struct io_loop *channel_loop(const struct channel *ch) { return ch->session->core->up.loop; }
/* Over HTTP, but not HTTP+SSE: every message comes on the stream of its request. */
static inline bool channel_is_streamable(const struct channel *ch) {
    return ch->server->up.url && !ch->server->up.use_sse;
}
