/* What the `catalogue` commands share. */
#pragma once

#include "risk/catalogue_place.h"
#include "wire/emit.h"

/* Members of an object: path, made, bytes, key, signature. */
void cli_catalogue_put_about(const struct risk_catalogue_about *about, struct emit *e);
