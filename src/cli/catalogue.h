/* Shared by the `catalogue` commands. */
#pragma once

#include "cli/command.h"
#include "risk/catalogue.h"
#include "risk/catalogue_place.h"
#include "wire/emit.h"

struct cli_catalogue_options {
    const char *file;
    bool json;
};
extern const struct cli_option cli_catalogue_rows[];

/* Members of an object: path, made, bytes, key, signature. */
void cli_catalogue_put_about(const struct risk_catalogue_about *about, struct emit *e);
/* The newest versions of the servers whose name or title contains all words, the best known first. */
size_t cli_catalogue_servers(struct slice words, struct arena *a, struct risk_published **ret_servers);
