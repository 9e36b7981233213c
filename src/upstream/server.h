/* The data of one MCP server that all its transports share: its address, its headers, its connections, and
 * what is known of it. link.h opens and closes it. */
#pragma once

#include "base/list.h"
#include "base/portion.h"
#include "io/loop.h"
#include "io/spawn.h"
#include "upstream/limits.h"
#include "upstream/msg.h"
#include "upstream/noise.h"
#include "wire/http.h"

struct io_tls_ctx;
struct link;
struct up_builtin;

struct up_era_probe;

/* What every link of a process shares. */
struct up_core {
    struct io_loop *loop;
    struct spawn *spawn;
    struct msg_pool msgs;
    struct io_tls_ctx *tls; /* made at the first https server */
    uint32_t noise_lines;   /* of one server, written in a second; 0: UP_NOISE_LINES */
    struct map processes;   /* child processes by whose they are: portions. Empty when all have exited */
    uint32_t process_count;
};

enum up_answer { UP_UNKNOWN, UP_NO, UP_YES };

/* Which eras a server supports, as far as known; era.h probes. */
struct up_era {
    enum up_answer modern;
    enum up_answer legacy;
    bool pinned;         /* by a setting: never probed */
    bool recalled;       /* from an earlier process: may be outdated */
    uint64_t until_ms;   /* when the answers must be probed again */
    char *discover;      /* owned: the JSON result of server/discover, or NULL */
    struct list waiters; /* up_era_wait */
    struct up_era_probe *probe;
};

/* The server's request when it rejected our credentials; bearer.h reads it. */
struct up_challenge {           /* of one server; all-zero: nothing was asked */
    bool login;                 /* the gate's credentials come from `sallyport login` */
    bool insufficient;          /* the last refusal was about the scope of the token, not about the token */
    char wanted[UP_SCOPE_MAX];  /* scopes of the last refusal, with blanks between */
    char granted[UP_SCOPE_MAX]; /* those of the token that is shown */
};

/* One configured server. Its creator owns the texts, which outlive every link. */
struct up_server {
    struct up_core *core;
    const char *name;
    const char *const *argv; /* a child, or NULL */
    const char *const *envp;
    const char *cwd;
    const char *home;                 /* where the era of a child is stored, or NULL */
    bool no_network;                  /* the child is started without a network */
    const char *url;                  /* http, or NULL */
    const struct up_builtin *builtin; /* inside the gate, or NULL; see builtin.h */
    struct link *(*transport)(void);  /* makes its links in place of those above; only in tests */
    struct http_url at;
    char *slashed; /* owned: target of `at` after a redirect that changed only its last slash, or NULL */
    const char *const *headers; /* "Name: value" lines sent with every request */
    size_t header_count;
    void (*unused)(struct up_server *s); /* set by up_server_close(): the last link is closed */
    /* owned by the room */
    uint32_t link_count;
    uint32_t ended_count; /* children that ended by themselves */
    struct list secrets;  /* header lines whose values change: secret.h */
    struct list secret_waiters;
    struct io_timer secret_timer;
    uint64_t renewed_ms;
    uint64_t secret_epoch; /* how often a value was fetched */
    struct up_challenge challenge;
    struct list idle_conns; /* the most recently used at the end */
    struct list busy_conns;
    uint32_t conn_count;
    struct list conn_waiters;
    uint32_t conn_waiting;
    struct buf post_head; /* the part of a POST's head that never changes */
    struct buf scratch;
    bool use_sse;     /* the endpoint turned out to use HTTP+SSE */
    bool late_stream; /* it does not answer a request for a standing stream before the first event */
    struct up_era era;
    struct up_noise noise; /* stderr, and answers without a request */
    struct up_noise junk;  /* lines and events that are not messages */
};
