/* Pins that all gates of a fleet share: the lock file's entries in the store of state/fleet_pins.h. These
 * functions wait for the store: never on the loop. */
#pragma once

#include "risk/lockfile.h"
#include "state/fleet_pins.h"

/* The lock that the copy is. */
int pins_shared_lock(const struct state_pins_copy *copy, struct risk_lock **ret_lock, struct err *err);
/* Stores what the lists show as accepted, of all or of one tool or skill (`only`, or NULL). `first`: only if
 * the server has no pins yet. *ret_copy: everything, as it is then. */
int pins_shared_put(const char *home, const struct risk_server_facts *who, const struct risk_lists *lists,
                    const struct slice *only, bool first, struct arena *a, struct state_pins_copy **ret_copy,
                    struct err *err);
/* For the start of a gate: opens the store and adds the servers of the lock file that it does not know. */
int pins_shared_open(const char *home, const char *path, struct state_pins **ret_store,
                     struct state_pins_copy **ret_copy, struct err *err);
