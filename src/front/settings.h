/* The settings of `serve`: sallyport.yaml, and clients' own files (`mcpServers` or `servers`) beside it. Read
 * once into one immutable struct; a reload reads a new one and compares.
 *
 *   text ── wire/tree ──▶ tables of keys (settings_load.c) ──▶ struct settings
 *                              └──▶ schemas/sallyport.schema.json
 *
 * To add a member: a field below, a row in the table of its section. Unknown keys are errors in our own file;
 * in clients' files they are ignored. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum settings_type { SETTINGS_AUTO, SETTINGS_STDIO, SETTINGS_HTTP, SETTINGS_SSE };
enum settings_share { SETTINGS_PER_SESSION, SETTINGS_SHARED };
enum settings_prefix { SETTINGS_PREFIX_ALWAYS, SETTINGS_PREFIX_CONDITIONAL, SETTINGS_PREFIX_NEVER };
/* In the order of enum filter_mode and enum vault_reach. */
enum settings_pii {
    SETTINGS_PII_OFF,
    SETTINGS_PII_TOKENIZE,
    SETTINGS_PII_REDACT,
    SETTINGS_PII_BLOCK,
    SETTINGS_PII_REPORT,
};
enum settings_pii_arguments { /* in the order of enum pii_arguments */
                              SETTINGS_PII_ARGUMENTS_AUTO,
                              SETTINGS_PII_ARGUMENTS_OFF,
                              SETTINGS_PII_ARGUMENTS_REPORT,
                              SETTINGS_PII_ARGUMENTS_BLOCK,
};
enum settings_pii_scope { SETTINGS_PII_SESSION, SETTINGS_PII_GRANT, SETTINGS_PII_ORGANISATION };
enum settings_audit { SETTINGS_AUDIT_KEYS, SETTINGS_AUDIT_TOKENIZED, SETTINGS_AUDIT_FULL };
enum settings_hash { SETTINGS_HASH_ALWAYS, SETTINGS_HASH_NEEDED };
enum settings_approvals { /* in the order of enum approve_mode */
                          SETTINGS_APPROVALS_AUTO,
                          SETTINGS_APPROVALS_ELICIT,
                          SETTINGS_APPROVALS_RETRY,
                          SETTINGS_APPROVALS_HOLD,
};
enum settings_elicitation { SETTINGS_ELICITATION_OFF, SETTINGS_ELICITATION_TRUSTED };
enum settings_webhook { SETTINGS_WEBHOOK_JSON, SETTINGS_WEBHOOK_SLACK };
enum settings_full { SETTINGS_FULL_REFUSE, SETTINGS_FULL_PASS };
enum settings_first_use { SETTINGS_FIRST_TRUST, SETTINGS_FIRST_ASK };
enum settings_fail { SETTINGS_FAIL_CLOSED, SETTINGS_FAIL_OPEN };
enum settings_loss { SETTINGS_LOSS_REFUSE, SETTINGS_LOSS_DATABASE };
/* After the first one, in the order of enum log_level. */
enum settings_log { SETTINGS_LOG_DEFAULT, SETTINGS_LOG_DEBUG };

struct settings_list {
    const char *const *items; /* NULL-terminated */
    size_t count;
};

/* An identity provider whose tokens are accepted. */
struct settings_issuer {
    const char *issuer;
    struct settings_list audience;   /* a token must have one of them; none: the resource */
    const char *jwks;                /* URL of its keys; NULL: found by discovery */
    struct settings_list algorithms; /* none: all supported ones */
    struct settings_list scopes;     /* scopes that a token must have */
    uint64_t skew_ms;                /* 0: the default */
    struct {
        const char *client_id; /* NULL: no sign-in to the console with this issuer */
        const char *client_secret;
        struct settings_list scopes; /* none: openid, profile, email */
        uint64_t session_ms;         /* 0: the default */
        bool sign_out;               /* sign out at the provider, too */
    } console;
};

/* The permissions of clients with a token or a certificate instead of a grant. */
struct settings_rule {
    struct settings_list when; /* "claim\nvalue"; all must match */
    const char *grant;         /* has the permissions of this grant, or NULL */
    struct settings_list servers;
    struct settings_list tools;
    const char *policy; /* a path, or NULL */
    const char *limits;
    struct settings_list roles;
};

/* A header whose value comes from a file or a program. */
struct settings_secret {
    const char *header;
    const char *prefix; /* prefix of the value */
    const char *file;   /* a path, or NULL */
    struct settings_list command;
    uint64_t ttl_ms; /* interval at which the program is run again; 0: when the server rejects the value */
};

struct settings_server {
    const char *name;  /* as used in paths, prefixes and policies */
    const char *title; /* as spelled in its file */
    uint32_t line;
    const char *command;
    struct settings_list args;
    struct settings_list argv; /* command and args together; empty when there is a url */
    struct settings_list env;  /* NAME=VALUE */
    const char *cwd;
    int type; /* enum settings_type; not AUTO once loaded */
    const char *url;
    struct settings_list headers;    /* "Name: value" */
    struct settings_secret *secrets; /* headers whose values come from files or programs */
    size_t secret_count;
    const char *policy;  /* a path, or NULL for the default policy */
    int pii;             /* enum settings_pii */
    int share;           /* enum settings_share */
    const char *prefix;  /* prefix of its tools' names */
    uint64_t idle_ms;    /* idle time before it is stopped; 0: never */
    uint64_t timeout_ms; /* time-out of a call without a message from it; 0: the default */
    uint64_t health_ms;  /* silence before a health check; 0: never */
    uint64_t health_timeout_ms;
    bool disabled;
};

/* Ceilings for all runs of code together. */
struct settings_ceiling {
    int64_t runs, memory_mb, cpu_s, wall_s;
};

struct settings {
    /* the files */
    const char *path; /* sallyport.yaml, or NULL */
    struct settings_list client_files;
    /* the values */
    const char *listen; /* as written in the file */
    const char *bind;
    uint16_t port;
    const char *public_url;               /* scheme and host as clients know them, or NULL */
    struct settings_list trusted_proxies; /* addresses and networks */
    bool plain_http;                      /* plain HTTP off the loopback is intended */
    const char *workers;                  /* a number, `auto`, or NULL */
    struct {
        uint64_t not_ready_ms; /* at shutdown: not ready, but accepting */
        uint64_t timeout_ms;   /* after that: for calls in flight */
    } drain;
    struct { /* 0: the default */
        uint64_t idle_ms;
        int64_t unsent_mb;
        int64_t per_grant, connections_per_grant, connections_per_address;
        int64_t processes, processes_per_grant;
    } sessions;
    struct { /* 0: the default */
        uint64_t quiet_ms, longest_ms;
    } reload;
    const char *policy; /* a path; NULL: every server and every grant needs its own policy */
    int prefix;         /* enum settings_prefix */
    int share;          /* the default of every server */
    uint64_t idle_ms;   /* the default of every server */
    uint64_t health_ms; /* the default of every server */
    uint64_t health_timeout_ms;
    struct {
        bool enabled;
        const char *profile;
        const char *uids; /* FIRST-LAST, none, or NULL: the default */
        int64_t min_tier;
        bool bash;
        int64_t max_calls;  /* 0: the default */
        const char *policy; /* a path, or NULL */
        struct {
            struct settings_list allow;
        } packages;
        struct {
            struct settings_list allow;
            struct settings_list inject; /* host, a line feed, "Name: value" */
        } network;
        struct { /* 0: the default, or none */
            struct settings_ceiling all, grant;
            int64_t run_memory_mb;
            uint64_t run_timeout_ms;
        } limits;
    } code;
    struct {
        int mode; /* enum many_discovery */
        int64_t keep;
        uint64_t timeout_ms; /* for the slowest server in a list; 0: the default */
    } discovery;
    struct {
        const char *dsn;
        const char *database;
        const char *dir;
        const char *prefix;
        int fail_mode;       /* enum settings_fail */
        uint64_t timeout_ms; /* 0: the default */
        int64_t lease;
        int after_loss; /* enum settings_loss */
    } state;
    struct {
        int mode;          /* enum settings_pii: the default of every server */
        int arguments;     /* enum settings_pii_arguments */
        int scope;         /* enum settings_pii_scope */
        uint64_t keep_ms;  /* 0: the default */
        const char *rules; /* a path, or NULL */
    } pii;
    struct {
        uint64_t window_ms; /* how long a flow label lasts; 0: the default */
    } flows;
    struct {
        int mode;        /* enum settings_approvals */
        int elicitation; /* enum settings_elicitation */
        uint64_t timeout_ms;
        const char *webhook; /* a URL, or NULL */
        int format;          /* format of the notification: enum settings_webhook */
        const char *secret;  /* signs webhooks and callbacks, or NULL */
    } approvals;
    struct {
        const char *otlp; /* URL of a collector, or NULL */
    } traces;
    struct {
        const char *key; /* a path, or NULL */
        uint64_t keep_ms;
    } request_state;
    struct {
        const char *lock; /* a path, or NULL: nothing is pinned */
        int first_use;    /* enum settings_first_use */
        uint64_t max_age_ms;
    } pins;
    struct {
        int definitions; /* enum guard_mode */
        int results;
    } poison;
    struct {
        int arguments; /* enum settings_audit */
        int hash;      /* enum settings_hash */
        bool durable;
        uint64_t keep_ms;   /* 0: unlimited */
        int64_t segment_mb; /* 0: the default */
        int on_full;        /* enum settings_full */
        struct {
            const char *dsn;  /* of the fleet's database; NULL: the log is not shipped */
            const char *gate; /* the name of this gate in the database, or NULL */
            uint64_t keep_ms; /* 0: unlimited */
            int64_t backlog_mb;
        } ship;
    } audit;
    struct {
        int level;            /* enum settings_log */
        int64_t server_lines; /* lines per second; 0: the default */
    } log;
    struct {
        const char *resource; /* the gate's URL as clients know it, without a path */
        struct settings_issuer *issuers;
        size_t issuer_count;
        struct settings_rule *rules; /* the first match counts; none: no restriction */
        size_t rule_count;
    } auth;
    struct {
        const char *cert; /* paths; NULL: plain HTTP */
        const char *key;
        const char *client_ca; /* authorities of client certificates, or NULL */
    } tls;
    struct {
        const char *listen;  /* for the other gates; NULL: sessions are not forwarded */
        const char *address; /* the address of this gate in `nodes`; NULL: `listen` */
        struct settings_list nodes;
        const char *cert, *key, *ca; /* paths */
    } fleet;
    struct settings_server *servers; /* in the order of the files */
    size_t server_count;
};

/* Either may be missing (NULL, or a count of 0), but not both. *ret_settings is freed with
 * settings_free(). */
int settings_load(const char *path, const char *const *client_files, size_t client_file_count,
                  struct settings **ret_settings, struct err *err);
/* The same from a text in memory: a client's file, or ours. `path` is its name in errors; relative paths
 * in our own file start there. */
int settings_load_text(const char *path, struct slice text, bool client, struct settings **ret_settings,
                       struct err *err);
/* Why this text is not a valid server name ("may hold letters, digits ..."), or NULL. */
const char *settings_name_fault(struct slice name);
/* Makes a server name from any text: invalid characters become `-`. Allocated in the arena. */
const char *settings_fit_name(struct slice title, struct arena *a);
void settings_free(struct settings *s); /* NULL is fine */
static inline void settings_cleanup(struct settings **s) { settings_free(*s); }
#define cleanup_settings __attribute__((cleanup(settings_cleanup)))

/* "ADDRESS:PORT", "[v6]:PORT", ":PORT" or "PORT". Without an address it is the loopback. `host` must be
 * large enough. */
#define SETTINGS_HOST_MAX 256
int settings_parse_listen(const char *text, char host[SETTINGS_HOST_MAX], uint16_t *ret_port,
                          struct err *err);
/* Does a running server need a restart to apply the other settings? */
bool settings_same_program(const struct settings_server *a, const struct settings_server *b);
/* Do both accept the same tokens and certificates? */
bool settings_same_auth(const struct settings *a, const struct settings *b);
/* The names of settings that differ and need a restart, separated by commas: "listen, state.dsn". */
void settings_for_start(const struct settings *running, const struct settings *fresh, struct buf *out);
/* The JSON Schema of sallyport.yaml. */
void settings_schema(struct buf *out);
