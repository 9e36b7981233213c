/* Asks servers for their tools, as a careful client would: started the same way as behind the gate, with a
 * deadline, answering pings and questions for roots, following pages to the end. Several run concurrently. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct settings_server;

struct probe {
    /* what to ask */
    const char *name;
    char *const *command;   /* NULL-terminated argv, or NULL */
    const char *const *env; /* NAME or NAME=VALUE beyond the allow-list */
    size_t env_count;
    const char *cwd;
    const char *url;
    const char *const *headers;
    size_t header_count;
    const struct settings_server *settings; /* whose credentials lie elsewhere, or NULL */
    const char *home;                       /* where logins are kept, or NULL */
    bool no_network;                        /* the command is started without one */
    uint64_t timeout_ms;
    /* the result */
    struct buf text; /* {"serverInfo":…,"protocolVersion":…,"instructions":…,"tools":[…],"skills":[…]}; the
                        caller frees it */
    struct err err; /* when failed */
    bool failed;
    uint64_t took_ms;
};

/* Runs them all and returns when each is done. `done` (may be NULL) is called as each ends. -1 only when
 * nothing could be started at all. */
int probe_run(struct probe *probes, size_t count, void (*done)(const struct probe *p), struct err *err);
