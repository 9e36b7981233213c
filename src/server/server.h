/* One configured server as sessions see it. It keeps its slot for its lifetime, so that a session's
 * channels are found by index. */
#pragma once

#include "call/core.h"
#include "filter/filter.h"
#include "server/tool.h"

#define SERVER_REFUSED_MAX 512
#define SERVER_FAULT_MAX 256

struct policy;

struct server_description { /* from the last initialize or server/discover; raw JSON, owned */
    char *capabilities;
    char *instructions;
};

struct server {
    struct up_server up;
    size_t slot;
    const char *prefix;  /* prefix of its tools' names; NULL: its name */
    bool shared;         /* one channel for all sessions of a principal */
    uint64_t idle_ms;    /* time without calls after which a channel is closed; 0: never */
    uint64_t timeout_ms; /* time-out of a call without messages from the server; 0: CALL_IDLE_MS */
    uint64_t health_ms;  /* time of silence before a health check; 0: never */
    uint64_t health_timeout_ms;
    uint64_t health_checks; /* health checks sent and failed */
    uint64_t health_misses;
    uint64_t received_ms;              /* by any of its links, on the clock of health.c */
    uint64_t asked_ms;                 /* the same */
    uint64_t gone_ms;                  /* over HTTP: links without a message since then are down */
    char fault[SERVER_FAULT_MAX];      /* why it is down; empty when it is up */
    char list_fault[SERVER_FAULT_MAX]; /* it is up, but its last list request failed */
    struct server_description description;
    struct policy *policy; /* its own, or NULL */
    const char *pin_name;  /* its name in the lock; NULL: the default */
    struct tool_table tools;
    char refused[SERVER_REFUSED_MAX]; /* why it was not started the last time */
    uint32_t tools_changes;           /* how often it reported a changed list */
    bool pii_set;                     /* it has its own mode for personal data and secrets: */
    enum filter_mode pii;
    const char *origin; /* the name under which its values are stored; NULL: its name */
    struct buf log;     /* its latest output lines, each after a time stamp */
    struct arena arena; /* owns texts of `up` that have no other owner */
};

/* Takes the first free slot; its settings are filled in before the first session uses it. */
struct server *server_new(struct core *core);
/* Two gates of the home may use the same name: stored data belongs to the server's origin. */
void server_set_origin(struct server *server, char *const *command, const char *url);
/* No session uses it any more: frees the slot. */
void server_release(struct core *core, struct server *server);
/* NULL when no server has that name. */
struct server *server_find(struct core *core, struct slice name);
/* Stores a line that it wrote, or that the gate logged about it. */
void server_put_log(struct server *server, struct slice line);
/* Its list of tools has changed: drops the known one. */
void server_forget_tools(struct server *server);

/* The prefix of its names in a session with many servers. */
struct slice server_prefix(const struct server *server);
/* Stores the result of initialize or server/discover. */
void server_learn_description(struct server *server, const struct tape *t, uint32_t result);
/* Has the server declared that capability? True when it has not been asked yet. */
bool server_offers(const struct server *server, const char *capability);
/* The most specific policy: the principal's own, else the server's, else the default. */
struct policy *server_policy(const struct session *s, const struct server *server);
