/* The members of sallyport.yaml as tables: read by settings_load.c, written as a JSON Schema by
 * settings_keys.c. Not for other files. */
#pragma once

#include "front/settings.h"

enum settings_kind {
    KEY_TEXT,     /* const char *; ${VAR} is replaced */
    KEY_PATH,     /* the same, relative to the file's own directory */
    KEY_CHOICE,   /* int: index into choices */
    KEY_BOOL,     /* bool */
    KEY_INT,      /* int64_t */
    KEY_DURATION, /* uint64_t, milliseconds; `never` is 0 */
    KEY_LIST,     /* struct settings_list of texts */
    KEY_ENV,      /* struct settings_list of NAME=VALUE */
    KEY_HEADERS,  /* struct settings_list of "Name: value", then the secrets and their count */
    KEY_INJECT,   /* struct settings_list of HOST, a line feed and "Name: value" */
    KEY_CLAIMS,   /* struct settings_list of NAME, a line feed and VALUE */
    KEY_SECTION,  /* the keys below, in the same struct */
    KEY_EACH,     /* a pointer to structs of `size`, then their count: a list of maps with the keys below */
    KEY_VERSION,  /* must be 1 */
    KEY_SERVERS,
};

struct settings_key {
    const char *name; /* NULL ends a table */
    enum settings_kind kind;
    size_t at;
    const char *const *choices;
    const struct settings_key *keys;
    const char *help;
    size_t size;
    bool or_list;  /* of a section: a list is taken as the value of its first key */
    bool at_start; /* read only at the start: a change needs a restart */
};

extern const struct settings_key settings_root_keys[];
extern const struct settings_key settings_secret_keys[];
/* The first SETTINGS_CLIENT_KEYS keys are also read from clients' files. */
extern const struct settings_key settings_server_keys[];
#define SETTINGS_CLIENT_KEYS 7
