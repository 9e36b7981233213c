/* Lists the tools of servers. A server is started the same way as behind the gate, with a deadline. The
 * probe answers pings and requests for roots, and follows pages to the end. Several probes run
 * concurrently. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct settings_server;

struct probe {
    /* the server */
    const char *name;
    char *const *command;   /* NULL-terminated argv, or NULL */
    const char *const *env; /* NAME or NAME=VALUE beyond the allow-list */
    size_t env_count;
    const char *cwd;
    const char *url;
    const char *const *headers;
    size_t header_count;
    const struct settings_server *settings; /* settings with its credentials, or NULL */
    const char *home;                       /* directory of stored logins, or NULL */
    bool no_network;                        /* the command is started without network access */
    uint64_t timeout_ms;
    /* the result */
    struct buf text; /* {"serverInfo":…,"protocolVersion":…,"instructions":…,"tools":[…],"skills":[…]}; the
                        caller frees it */
    struct err err; /* when failed */
    bool failed;
    uint64_t took_ms;
};

/* Runs all probes and returns when each has ended. `done` (may be NULL) is called as each ends. Returns -1
 * only if nothing could be started at all. */
int probe_run(struct probe *probes, size_t count, void (*done)(const struct probe *p), struct err *err);
