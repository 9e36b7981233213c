/* Runs the servers that the settings name. New settings change only the servers that differ. */
#pragma once

#include "front/front.h"
#include "front/settings.h"

struct fleet;

/* `home` must outlive it. */
struct fleet *fleet_new(struct front *front, const char *home);
void fleet_free(struct fleet *fleet); /* before the core is freed; NULL is fine */
/* Checks whether the settings could be applied. Changes nothing. */
int fleet_check(const struct settings *to, struct err *err);
/* Applies the settings, or changes nothing if there is an error in them. Takes ownership of the settings
 * in both cases. */
int fleet_apply(struct fleet *fleet, struct settings *take_settings, struct err *err);
const struct settings *fleet_settings(const struct fleet *fleet);
/* Lines "NAME ready|idle|down", one per server. */
void fleet_write_status(const struct fleet *fleet, struct buf *out);
