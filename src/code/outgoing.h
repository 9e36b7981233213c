/* Connections that code makes: each is a call of the tool OUTGOING_TOOL, decided and recorded like any other,
 * before the gate connects. */
#pragma once

#include "code/model.h"

#define OUTGOING_TOOL "network_connect"

struct egress_port;
struct toolcalls;

/* The connections of one run. */
struct outgoing {
    struct toolcalls *calls;
    struct egress_port *port; /* NULL: no connections possible */
};

/* Reads the settings; opens nothing if they allow nothing. */
int outgoing_open(struct code_server *s, struct err *err);
/* For the sandbox. */
void outgoing_configure(const struct code_server *s, struct sandbox_config *config);
void outgoing_start(struct outgoing *o, struct toolcalls *calls, int take_listener);
void outgoing_stop(struct outgoing *o);
/* The conn is about to close: connections that wait for a verdict are refused. */
void outgoing_fail_all(struct outgoing *o);
/* Answers the call of the tool, after the verdict. Only outgoing connections make it. */
void outgoing_reply(struct code_req *r);
