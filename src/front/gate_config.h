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

/* What is served beside MCP: made when the gate has its stores, taken apart before they are closed. */
struct gate_site {
    const struct web_site *(*open)(void *ctx, struct core *core, const struct gate_config *config,
                                   uint16_t port);
    void (*follow)(void *ctx, const struct settings *fresh); /* other settings are in force */
    void (*close)(void *ctx);
    void *ctx;
};

enum gate_transport { GATE_STDIO, GATE_HTTP, GATE_SSE };

struct gate_worker;

struct gate_config {
    struct settings *settings; /* many servers, over HTTP; NULL: the one below. The gate takes it over */
    bool no_auth;              /* of many: authentication is off; on the loop-back only */
    const char
        *policy_path; /* the default policy; may be NULL when there are settings, or for the code server */
    const char *name; /* of the one server; NULL: made from its package, program or URL */
    enum gate_transport transport;
    const struct gate_worker *worker; /* one of several that share socket and home; NULL: this is all */
    const char *bind;
    uint16_t port;
    char *const *command; /* NULL-terminated argv, or NULL */
    const char *upstream_url;
    const struct code_config *code; /* the built-in server in place of both, or NULL */
    const char *const *headers;
    size_t header_count;
    const char *const *env; /* NAME or NAME=VALUE, passed to the child beyond the allow-list */
    size_t env_count;
    const char *lock_path; /* accepted definitions; NULL: nothing is pinned */
    bool pins_ask;         /* a server that the lock does not know waits until it is accepted */
    uint64_t
        pins_max_age_ms;    /* of what is known of a tool when it is called; 0: it is asked for every time */
    int poison;             /* enum guard_mode, of definitions and instructions */
    int poison_results;     /* the same of results */
    const char *token_file; /* clients must show this bearer token; required off the loop-back */
    const char *home;       /* where the audit log lives, and counters unless state_dir says otherwise */
    const char *state_dir;
    const char *state_dsn;
    const char *state_database; /* NULL: what the home says */
    const char *state_prefix;
    bool state_fail_open;
    int64_t state_lease;
    bool audit_durable;           /* a call is made only when its record is on disk */
    uint64_t audit_segment_bytes; /* 0: the default */
    uint64_t audit_keep_ms;       /* older parts of the log are retired; 0: never */
    struct {
        const char *dsn; /* NULL: nothing is shipped */
        const char *gate;
        uint64_t keep_ms, backlog_max;
    } ship;
    bool audit_pass;               /* calls pass when the log is full or fails; the gap is counted */
    uint64_t flow_window_ms;       /* how long a flow label lasts; 0: the default */
    bool approvals_persons;        /* a person sits at every client; see struct approve_settings */
    int approvals_mode;            /* enum approve_mode: how a person is reached */
    uint64_t approvals_timeout_ms; /* how long a call may wait for one, where the policy says nothing */
    enum audit_args_mode audit_args;
    bool audit_hash_needed;
    struct privacy_config pii;     /* its home is filled in */
    bool approvals_slack;          /* it is a Slack channel */
    const char *approvals_webhook; /* URL that is notified of each call that waits, or NULL; needs a secret */
    const char *approvals_secret;  /* signs webhooks and callbacks; NULL: neither */
    const char *trace_url;         /* collector of traces, or NULL */
    const char *state_key;         /* file of the keys that seal requestState; NULL: in the home */
    uint64_t park_ms;              /* how long a question waits for a stateless client; 0: the default */
    struct gate_site site;         /* over HTTP; all zero: nothing */
};
