/* The kill switch: what is stopped, by whom and why. Rows lie in stops.sqlite of the home, or in its
 * PostgreSQL, so they outlive every process and hold at every gate of it; each gate keeps a copy and sees
 * with one load that it is old.
 *
 *   sallyport stop-all, POST /stops ──▶ stops.sqlite, stops.live ──▶ every call: one load, and a look where
 * something is stopped */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

enum state_stop_scope { STATE_STOP_ALL, STATE_STOP_SERVER, STATE_STOP_GRANT, STATE_STOP_SCOPES };
const char *state_stop_scope_name(enum state_stop_scope scope);
/* -1 for any other name. */
int state_stop_scope_from(struct slice name, enum state_stop_scope *ret_scope);

struct state_stop {
    uint64_t id;
    enum state_stop_scope scope;
    struct slice name; /* of the server or grant; empty for everything */
    struct slice reason;
    struct slice by;
    uint64_t at_ms;
    bool cancel;    /* calls in flight, too */
    bool untrusted; /* a new server: agents do not see its tools */
};

struct state_stops;

int state_stops_open(const char *home, struct state_stops **ret_stops, struct err *err);
void state_stops_close(struct state_stops *s); /* NULL is fine */

/* For a gate: where the stops are in PostgreSQL a thread follows them, and refresh does not wait. */
int state_stops_follow(struct state_stops *s, struct err *err);

/* True if the known stops are current as of STATE_FOLLOW_FRESH_MS ago. If not, no client can authenticate
 * with a grant, because something may have been stopped elsewhere, and err says why. */
bool state_stops_reachable(const struct state_stops *s, struct err *err);

/* Re-reads changes. True if there were any; pointers returned before are then invalid. If the store cannot
 * be read, the last known state stays. */
bool state_stops_refresh(struct state_stops *s);
size_t state_stops_count(const struct state_stops *s);
const struct state_stop *state_stops_at(const struct state_stops *s, size_t i); /* the oldest first */
/* The stop that applies to this server and grant, or NULL; called for every call. */
const struct state_stop *state_stops_match(struct state_stops *s, struct slice server, struct slice grant);

/* Is this server new, and not trusted by an operator yet? Called for every list. */
bool state_stops_distrusts(struct state_stops *s, struct slice server);

/* The same scope and name again replaces the stop. *ret_id may be NULL. */
int state_stops_put(struct state_stops *s, const struct state_stop *stop, uint64_t *ret_id, struct err *err);
/* The number of removed stops, or -1. id 0: all of them. */
int state_stops_remove(struct state_stops *s, uint64_t id, struct err *err);

/* For a gate that changes its stops over another connection, on another thread: the change holds at `s` at
 * once, also where PostgreSQL would announce it later. */
struct stops_copy;
struct stops_copy *state_stops_snapshot(const struct state_stops *s);
void state_stops_take(struct state_stops *s, struct stops_copy *take_copy);

struct emit;
void state_stop_json(struct emit *e, const struct state_stop *stop);
