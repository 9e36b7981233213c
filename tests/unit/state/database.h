/* Lets a test of a store run over PostgreSQL: SALLYPORT_TEST_DATABASE is the DSN of an empty database (see
 * tests/e2e/fleet-stores.test.mjs); without it the store is SQLite in the home. */
#pragma once

#include "state/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline bool database_is_remote(void) { return getenv("SALLYPORT_TEST_DATABASE") != NULL; }

/* For setup: the home keeps its stores there, and they are empty. */
static inline int database_setup(const char *home) {
    char path[128];
    struct db *db;
    struct err err = {0};
    if (!database_is_remote())
        return 0;
    snprintf(path, sizeof(path), "%s/database", home);
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "%s\n", getenv("SALLYPORT_TEST_DATABASE")) < 0 || fclose(f) != 0 ||
        db_open(home, "grants.sqlite", false, "", &db, &err) < 0 ||
        db_run(db_prepare(
                   db, "TRUNCATE grants, approvals, repeats, vault, stops, versions, logins, secrets, keys, "
                       "pins, pin_holds, server_logins"),
               &err) < 0)
        return fprintf(stderr, "%s\n", err.text), -1;
    db_close(db);
    return 0;
}

static inline void database_teardown(const char *home) {
    char path[128];
    snprintf(path, sizeof(path), "%s/database", home);
    unlink(path);
}
