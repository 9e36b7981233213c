/* The accepted definitions of servers, where all gates of a fleet share them: one entry of the lock file for
 * each server, and what gates hold because it differs from its entry. This room does not read entries: they
 * are JSON values.
 *
 *   first use ──▶ state_pins_add, once ──▶ pins, pin_holds ──▶ state_pins_take, at every gate
 *   accepted  ──▶ state_pins_replace, if nobody else did meanwhile
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "state/limits.h"

struct state_pin {
    struct slice server;
    int64_t number; /* incremented by each change */
};

struct state_pin_hold {
    struct slice server, name, reason; /* name: of the tool or skill */
    int64_t number;                    /* of the entry that it differs from; 0: there is none */
};

struct state_pins_copy {
    struct arena arena;   /* of everything here */
    int64_t version;      /* of the store in PostgreSQL: the copy is as new as that, or newer */
    struct slice entries; /* {"server": entry, ...} */
    struct state_pin *pins;
    size_t count;
    struct state_pin_hold *holds;
    size_t hold_count;
};
void state_pins_copy_free(struct state_pins_copy *copy); /* NULL is fine */
/* The number of its entry; 0: it has none. */
int64_t state_pins_number(const struct state_pins_copy *copy, struct slice server);

/* Does the home share its pins with other gates? -1 with err. */
int state_pins_are_shared(const char *home, bool *ret_shared, struct err *err);

struct state_pins; /* a connection, for one thread at a time */
int state_pins_open(const char *home, struct state_pins **ret_pins, struct err *err);
void state_pins_close(struct state_pins *p); /* NULL is fine */
/* Everything, or NULL with err. */
struct state_pins_copy *state_pins_load(struct state_pins *p, struct err *err);
/* 1: added. 0: the server has an entry, which stays. */
int state_pins_add(struct state_pins *p, struct slice server, struct slice entry, struct err *err);
/* For the entry with that number (0: none), and ends the hold of `name`; empty: all holds of the server. 0:
 * the entry has another number meanwhile, and nothing is changed. */
int state_pins_replace(struct state_pins *p, const struct state_pin *pin, struct slice entry,
                       struct slice name, struct err *err);
/* Every gate holds that tool or skill until it is accepted. Not stored if the entry was replaced meanwhile,
 * or beyond STATE_PIN_HOLDS_MAX of a server. */
int state_pins_hold(struct state_pins *p, const struct state_pin_hold *hold, struct err *err);

/* For a gate: a thread follows the store in PostgreSQL. */
int state_pins_follow(struct state_pins *p, struct err *err);
/* The newest copy; NULL: none that was not taken yet. Never waits. */
struct state_pins_copy *state_pins_take(struct state_pins *p);
