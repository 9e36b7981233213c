/* The servers of the settings, running: each becomes a server. New settings change only what differs.
 */
#pragma once

#include "front/front.h"
#include "front/settings.h"

struct fleet;

/* `home` outlives it. */
struct fleet *fleet_new(struct front *front, const char *home);
void fleet_free(struct fleet *fleet); /* before the core is; NULL is fine */
/* Could they be applied? Changes nothing. */
int fleet_check(const struct settings *to, struct err *err);
/* Makes it so; changes nothing where something is wrong with them. Takes the settings over either way. */
int fleet_apply(struct fleet *fleet, struct settings *take_settings, struct err *err);
const struct settings *fleet_settings(const struct fleet *fleet);
/* "NAME ready|idle|down" lines, one a server. */
void fleet_write_status(const struct fleet *fleet, struct buf *out);
