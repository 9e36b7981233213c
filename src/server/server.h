/* One configured server as sessions see it. It keeps its slot for as long as it exists, so that a session's
 * links are found by number. */
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
    const char *prefix;  /* in front of its tools' names; NULL: its name */
    bool shared;         /* one channel for all sessions of a principal */
    uint64_t idle_ms;    /* without a call, before a channel is closed; 0: never */
    uint64_t timeout_ms; /* of a call without a message from the server; 0: CALL_IDLE_MS */
    uint64_t health_ms;  /* of silence, before a health check; 0: never */
    uint64_t health_timeout_ms;
    uint64_t health_checks; /* health checks sent, and those that failed */
    uint64_t health_misses;
    uint64_t received_ms;              /* by any of its links, on the clock of health.c */
    uint64_t asked_ms;                 /* the same */
    uint64_t gone_ms;                  /* over HTTP: links that have heard nothing since are over */
    char fault[SERVER_FAULT_MAX];      /* why it is down; empty when it is not */
    char list_fault[SERVER_FAULT_MAX]; /* it is there, and the last list it was asked for could not be had */
    struct server_description description;
    struct policy *policy; /* its own, or NULL */
    const char *pin_name;  /* its name in the lock; NULL: the usual one */
    struct tool_table tools;
    char refused[SERVER_REFUSED_MAX]; /* why it was not started, when that happened last */
    uint32_t tools_changes;           /* how often its list was said to have changed */
    bool pii_set;                     /* it has a mode of its own for personal data and secrets: */
    enum filter_mode pii;
    const char *origin; /* what its values are remembered under; NULL: its name */
    struct buf log;     /* the newest lines that it wrote, each behind a time stamp */
    struct arena arena; /* for the texts of `up` that have no other owner */
};

/* In the first free slot; its settings are filled in before the first session uses it. */
struct server *server_new(struct core *core);
/* Names may meet again behind another gate of the home: what a server is run with belongs to its origin. */
void server_set_origin(struct server *server, char *const *command, const char *url);
/* No session uses it any more: the slot is free. */
void server_release(struct core *core, struct server *server);
/* NULL when there is none of that name. */
struct server *server_find(struct core *core, struct slice name);
/* A line that it wrote, or that the gate says about it. */
void server_put_log(struct server *server, struct slice line);
/* Its list of tools has changed: what is known of them is not true any more. */
void server_forget_tools(struct server *server);

/* What stands in front of its names where many servers share one space. */
struct slice server_prefix(const struct server *server);
/* The result of initialize or server/discover. */
void server_learn_description(struct server *server, const struct tape *t, uint32_t result);
/* Does the server say it has that capability? True when it has not been asked yet. */
bool server_offers(const struct server *server, const char *capability);
/* The most specific policy: the principal's own, else the server's, else the default. */
struct policy *server_policy(const struct session *s, const struct server *server);
