/* The configuration of a gate: the command line and the settings together. */
#pragma once

#include "audit/audit.h"
#include "code/code.h"
#include "privacy/privacy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct web_site;
struct gate_config;
struct settings;

/* Pages and API besides MCP: created when the stores are open, freed before they are closed. */
struct gate_site {
    const struct web_site *(*open)(void *ctx, struct core *core, const struct gate_config *config,
                                   uint16_t port);
    void (*follow)(void *ctx, const struct settings *fresh); /* new settings are in force */
    void (*close)(void *ctx);
    void *ctx;
};

enum gate_transport { GATE_STDIO, GATE_HTTP, GATE_SSE };

struct gate_worker;

struct gate_config {
    struct settings *settings; /* many servers over HTTP, owned by the gate; NULL: the one server below */
    bool no_auth;              /* with many servers: authentication is off; loopback only */
    const char *policy_path;   /* the default policy; may be NULL with settings or for the code server */
    const char *name;          /* of the one server; NULL: derived from its package, program or URL */
    enum gate_transport transport;
    const struct gate_worker
        *worker; /* one of several processes that share socket and home; NULL: the only one */
    const char *bind;
    uint16_t port;
    char *const *command; /* NULL-terminated argv, or NULL */
    const char *upstream_url;
    const struct code_config *code; /* the built-in server instead of both, or NULL */
    const char *const *headers;
    size_t header_count;
    const char *const *env; /* NAME or NAME=VALUE, passed to the child beyond the allow-list */
    size_t env_count;
    const char *lock_path;    /* accepted definitions; NULL: nothing is pinned */
    bool pins_ask;            /* a server that is not in the lock is held until it is accepted */
    uint64_t pins_max_age_ms; /* maximum age of a known definition when its tool is called; 0: the list is
                                 fetched for every call */
    int poison;               /* enum guard_mode, for definitions and instructions */
    int poison_results;       /* enum guard_mode, for results */
    const char *token_file;   /* clients must send this bearer token; required off the loopback */
    const char *home;         /* the directory of the audit log, and of counters unless state_dir is set */
    const char *state_dir;
    const char *state_dsn;
    const char *state_database; /* NULL: as configured in the home */
    const char *state_prefix;
    bool state_fail_open;
    uint64_t state_timeout_ms; /* 0: the default */
    int64_t state_lease;
    bool state_marks;             /* counters in Redis have marks in state_database */
    bool audit_durable;           /* a call is forwarded only when its record is on disk */
    uint64_t audit_segment_bytes; /* 0: the default */
    uint64_t audit_keep_ms;       /* age after which parts of the log are retired; 0: never */
    struct {
        const char *dsn; /* NULL: nothing is shipped */
        const char *gate;
        uint64_t keep_ms, backlog_max;
    } ship;
    bool audit_pass;               /* calls are allowed when the log is full or fails; the gap is counted */
    uint64_t flow_window_ms;       /* how long a flow label lasts; 0: the default */
    bool approvals_persons;        /* a user is present at every client; see struct approve_settings */
    int approvals_mode;            /* enum approve_mode: how users are asked */
    uint64_t approvals_timeout_ms; /* how long a call waits for approval, where the policy sets no time */
    enum audit_args_mode audit_args;
    bool audit_hash_needed;
    struct privacy_config pii; /* its home is filled in later */
    bool approvals_slack;      /* the URL is a Slack webhook */
    const char
        *approvals_webhook;       /* URL that is notified of each pending approval, or NULL; needs a secret */
    const char *approvals_secret; /* signs webhooks and callbacks; NULL: neither */
    const char *trace_url;        /* collector of traces, or NULL */
    const char *state_key;        /* file of the keys that encrypt requestState; NULL: in the home */
    uint64_t park_ms;             /* how long a question waits for a stateless client; 0: the default */
    struct gate_site site;        /* over HTTP; all zero: no pages */
};

/* Copies the gate's own settings. Values already in the config stay. */
void gate_config_from(struct gate_config *config, struct settings *take_settings);
