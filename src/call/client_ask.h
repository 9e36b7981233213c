/* Requests to the client: those of servers, sent under ids of the session, and the gate's own questions on
 * behalf of a call. */
#pragma once

#include "call/call.h"

struct client_ask {
    uint64_t id;           /* the id that the client gets */
    struct channel *from;  /* the channel of the server that asked; NULL for the gate's own questions */
    struct text server_id; /* raw: the server's id of it */
    struct call *call;     /* the call that waits for the answer to the gate's own question */
    void (*answered)(struct call *c, uint64_t id, struct msg *m);
};

/* Asks the client on behalf of the call, on the call's own stream; `answered` gets the answer. *ret_id is
 * set before anything is sent. False when the client cannot be asked. */
bool client_ask(struct call *c, struct slice method, struct slice params,
                void (*answered)(struct call *c, uint64_t id, struct msg *m), uint64_t *ret_id);
/* The answer is no longer needed: cancels the request at the client. */
void client_ask_forget(struct session *s, uint64_t id);

/* A request of a server; NULL when there are too many. */
struct client_ask *client_ask_add(struct session *s, struct channel *from, struct slice server_id);
/* The request of a client's answer, or NULL. */
struct client_ask *client_ask_find(struct session *s, const struct msg *answer);
/* The request with that server id, or NULL. */
struct client_ask *client_ask_of_server(struct session *s, const struct channel *from,
                                        struct slice server_id);
void client_ask_free(struct session *s, struct client_ask *ask);
void client_ask_drop(struct session *s, const struct channel *from); /* from NULL: all of them */
