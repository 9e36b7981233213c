/* Where catalogue.bin is, and which key must have signed it.
 *
 *   $SALLYPORT_CATALOGUE or --catalogue FILE    a file that the user names; no other file is used
 *   beside the program, ../share/sallyport      the shipped one: as trustworthy as the program
 *   HOME/catalogue.bin                          installed by `catalogue update`: its signature is checked at
 *                                               every start, with the shipped or the accepted key
 *
 * Of the last two the newer one is used. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "crypto/signature.h"

#include <limits.h>

struct catalogue_file;

struct risk_catalogue_about {
    char path[PATH_MAX];
    uint64_t made; /* seconds since 1970 */
    size_t bytes;
    unsigned char key[CRYPTO_SIGNATURE_KEY];
    bool genuine; /* its signature was verified during this call */
};

/* `find` returns the home; it is called when the home is first needed. false: there is none. Set once, at
 * start. */
void risk_catalogue_set_home(bool (*find)(char ret_path[PATH_MAX]));
/* The home returned by that hook; false: none. */
bool risk_catalogue_home(char ret_path[PATH_MAX]);
/* Opens the catalogue now and not at the first look-up; `given` (may be NULL) is a file that the user named.
 * When there is no catalogue, the error lists the paths that were tried. */
int risk_catalogue_open(const char *given, struct err *err);
/* For long-running programs, before a look-up: opens a file that was replaced. A file that does not verify
 * is ignored. Texts borrowed from the old file become invalid. */
void risk_catalogue_refresh(void);
/* Describes the open catalogue. */
void risk_catalogue_describe(struct risk_catalogue_about *ret_about);
/* Verifies the file at `path` and installs it in the home. `key` (64 digits; may be NULL) is a key that the
 * user accepts in place of the shipped one. An older file than the one in use is refused. */
int risk_catalogue_update(const char *path, const char *key, struct risk_catalogue_about *ret_about,
                          struct err *err);
/* Signs a file that scripts/build-catalogue made. Creates the key when there is none. */
int risk_catalogue_sign(const char *path, const char *output, const char *key_path, struct err *err);

/* Inside the room: opens the catalogue at the first call; NULL when there is none. */
const struct catalogue_file *catalogue_place_current(void);
