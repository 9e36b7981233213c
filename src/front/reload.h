/* Reads the settings of a running gate again when their files change, and when the admin API has written
 * them. Errors change nothing. */
#pragma once

#include "front/follow.h"
#include "front/front.h"
#include "io/watch.h"

struct front_reload {
    struct front *front; /* its fleet has the settings in force */
    struct follow follow;
    struct io_watch *watches; /* of the files of the settings */
    char **watched;           /* copies of their paths: the settings may be replaced */
    size_t watch_count;
};

/* The admin API reads and writes the files of policies and settings through the core. */
void front_reload_serve(struct front_reload *r);
void front_reload_watch(struct front_reload *r);
void front_reload_now(struct front_reload *r);
/* At the start of a worker that takes the place of one that ended. -1: the settings cannot be read, and those
 * that it was started with are not what the other workers have. */
int front_reload_again(struct front_reload *r, struct err *err);
void front_reload_stop(struct front_reload *r);
