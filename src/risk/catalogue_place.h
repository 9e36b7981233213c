/* Where catalogue.bin is, and whose signature it must bear.
 *
 *   $SALLYPORT_CATALOGUE or --catalogue FILE    a file that the user names, alone
 *   beside the program, ../share/sallyport      the shipped one: as trustworthy as the program
 *   HOME/catalogue.bin                          what `catalogue update` put there: its signature is checked
 * at every start, by the shipped file's key or the one accepted with it
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
    bool genuine; /* its signature was checked just now, and holds */
};

/* Asks for the home when it is needed first; false: there is none. Set once, at the start. */
void risk_catalogue_set_home(bool (*find)(char ret_path[PATH_MAX]));
/* The one home that the hook found; false: none. */
bool risk_catalogue_home(char ret_path[PATH_MAX]);
/* Opens it now instead of at the first look-up; `given` (may be NULL) is a file that the user named. When
 * there is no catalogue, the error lists the paths that were tried. */
int risk_catalogue_open(const char *given, struct err *err);
/* For long-running programs, before a look-up: was the file replaced? Then the new one is used. One that does
 * not verify changes nothing. Texts borrowed from the old file become invalid. */
void risk_catalogue_refresh(void);
/* Of the open catalogue. */
void risk_catalogue_tell(struct risk_catalogue_about *ret_about);
/* Verifies the file at `path` and installs it in the home. `key` (64 digits; may be NULL) is a key that the
 * user accepts in place of the shipped one. An older file than the one in use is refused. */
int risk_catalogue_update(const char *path, const char *key, struct risk_catalogue_about *ret_about,
                          struct err *err);
/* Signs a file that scripts/build-catalogue made. The key is created when there is none. */
int risk_catalogue_sign(const char *path, const char *output, const char *key_path, struct err *err);

/* Inside the room: opened at the first call; NULL when there is none. */
const struct catalogue_file *catalogue_place_current(void);
