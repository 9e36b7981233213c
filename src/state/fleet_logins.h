/* Logins at servers that want OAuth, where all gates of a fleet share them. Each home keeps its files, and
 * the database has the newest of each, encrypted as the file is. One process of a home keeps both the same:
 *
 *   HOME/logins/NAME         the login, or nothing              row: number, sealed (empty: forgotten)
 *   HOME/logins/NAME.shared  number and hash when both were the same
 *
 *   the file has another hash  ──▶ stored as the next number, if nobody else did meanwhile
 *   the row has a higher one   ──▶ replaces the file; the gates notice that, as for any new login
 *
 * A refresh token can be used once, so one gate at a time may refresh a login. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

/* Does the home share its logins with other gates? */
bool state_fleet_logins_shared(const char *home);

struct state_fleet_logins;
/* Starts the thread that keeps files and rows the same; *ret_logins is NULL if the home shares nothing. */
int state_fleet_logins_start(const char *home, struct state_fleet_logins **ret_logins, struct err *err);
void state_fleet_logins_end(struct state_fleet_logins *l); /* NULL is fine */

/* Makes files and rows the same, then asks to refresh the login. *ret_claimed false: another gate does, or it
 * is not stored yet. Waits for the database: not for the loop. */
int state_fleet_logins_claim(const char *home, const char *name, bool *ret_claimed, struct err *err);
