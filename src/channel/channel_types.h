/* struct channel and the types around it, for the files of this room and the rooms above. */
#pragma once

#include "base/text.h"
#include "call/core.h"
#include "server/paging.h"
#include "server/server.h"

struct health_check;
struct listen_stream;
struct park;
struct tool_table;

/* A request that the gate itself makes. Its pointer is stored in place of a call's. */
struct own_request {
    uint32_t magic;
    void (*answer)(struct own_request *own, struct msg *m);
    void (*failed)(struct own_request *own, const char *why);
    /* A message of the server about this request; NULL when none is expected. */
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
    struct health_check *check; /* the current check, or NULL */
    uint64_t since_ms;          /* when its state last changed, or its last message came */
    uint64_t notify_ms;         /* clients are not notified again before this time */
    uint32_t received;          /* number of messages at that time */
    int state;                  /* state at that time; enum channel_state */
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
    struct text description;  /* the result of initialize or server/discover, if known */
    struct slice server_info; /* in description, raw */
    uint32_t server_bits;     /* translate_server_bits */
    struct list waiting;      /* calls that wait until it is ready */
    struct up_era_wait era_wait;
    struct io_timer probe_timer;
    bool was_probed; /* only the probe was sent on this link */
    bool is_claimed; /* reserved for a client that began in the legacy era */
    /* Several channels to one server, see channel.c. Only in the first one: */
    struct list others; /* the others */
    uint32_t other_count;
    struct list waiting_exclusive; /* calls that wait for a channel of their own */
    /* In every one: */
    struct channel *first;
    struct list other_node;
    struct text own_init;    /* the params of the gate's own initialize for modern clients */
    struct text client_caps; /* the client's capabilities in it, as the client wrote them */
    uint32_t users;          /* number of calls that use it */
    struct call *holder;     /* the only call that a question can belong to, or NULL */
    struct park *parked;     /* the same for a parked request */
    int log_rank;            /* the log level last sent to the server; -1: none */
    struct io_timer idle;
    struct list notes;     /* requests of the gate for levels and subscriptions */
    bool level_pending;    /* calls wait for one of them */
    struct map subscribed; /* URIs that a legacy client has subscribed to, owned */
    /* For a legacy client of a modern server; see listen.c: */
    struct listen_stream *listen;
    struct io_timer listen_timer;
    struct own_request init_own; /* the gate's own initialize or server/discover */
    struct link_req init;
    struct own_request tools_own; /* the gate's own tools/list, then skills/list */
    bool tools_skills;            /* it is skills/list */
    struct link_req tools_req;
    struct arena tools_page;
    struct server_pages tools_pages;
    struct tool_table *tools_fresh; /* the new table; used once the last page has arrived */
    uint32_t tools_changes;         /* the server's counter of list changes at the time of the request */
    uint32_t tools_again;
    uint32_t tools_loads; /* number of complete answers */
    struct io_timer tools_timer;
    uint32_t failures;
    uint64_t opened_ms;
    struct io_timer backoff;
    bool no_process;  /* it was not opened because there are too many processes */
    uint64_t used_ms; /* when a call last ended here */
    bool missing;     /* the client has a list without this server's part, or from a process that ended */
    struct channel_health health;
};
#define CHANNEL_MAGIC 0x5e5511c4

static inline bool channel_is_modern(const struct channel *ch) { return ch->era == ERA_MODERN; }

/* Events of channels for the rooms above; set by session/. */
struct channel_events {
    /* A request or notification of the server. `call`: it came on that call's stream, or NULL. */
    void (*message)(struct channel *ch, struct call *call, struct msg *m);
    void (*ready)(struct channel *ch); /* waiting calls were resumed */
    void (*down)(struct channel *ch);  /* it ended, or could not be opened */
    void (*back)(struct channel *ch);  /* a missing server answers again */
    /* Its link is about to close: dependent requests end. */
    void (*dropped)(struct channel *ch);
    void (*freed)(struct channel *ch);
    /* Opens or updates the standing stream of a modern server. */
    void (*listen)(struct channel *ch);
    /* The channel that the call must use because of its task, or NULL. */
    struct channel *(*bound)(const struct channel *first, const struct call *c);
    /* A call waits because every channel to the server is held. It must not be resumed synchronously. */
    void (*crowded)(struct channel *first);
    /* The session that has the channels to a shared server. */
    struct session *(*pool)(struct session *s);
};

/* The room's own part of the core. */
struct channels {
    const struct link_events *link_events; /* report.h */
    const struct channel_events *events;
    uint32_t processes_max;       /* of servers, of all clients; 0: CHANNEL_PROCESSES_MAX */
    uint32_t grant_processes_max; /* of one grant; 0: no more than are left for the others */
    uint64_t health_clock_ms;     /* see health.c: does not advance while the gate is suspended */
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
