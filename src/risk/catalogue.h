/* Published servers and their tools, found by name and by fingerprint: their classes, how they were
 * observed, how often they are used. The data is a mapped file next to the program (catalogue_place.h says
 * where); look-ups never leave the machine. It holds names, hashes, labels and words of our own vocabulary,
 * no texts of third parties. Without the file every look-up finds nothing. */
#pragma once

#include "base/arena.h"
#include "risk/class.h"
#include "risk/fingerprint.h"
#include "risk/origin.h"

/* A list of texts: risk_catalogue_item(list, i), i below the count. */
struct risk_list {
    uint32_t place, count;
};
struct slice risk_catalogue_item(struct risk_list list, uint32_t i);

/* One version of a server. Texts are borrowed from the file. */
struct risk_published {
    enum risk_registry registry;
    struct slice name, version, title, repository, licence, command, url;
    struct risk_list args, env;
    size_t first, tools; /* its tools: first, first + 1, ... in order of name */
    uint32_t downloads, rank;
    uint16_t released, seen; /* days since 1970; 0: not known */
    enum risk_had had;
    enum risk_auth auth;
    bool newest; /* no later version of it is known */
};

struct risk_known {
    struct slice tool;
    size_t server; /* index */
    enum risk_registry registry;
    struct slice package, version; /* of the server */
    enum risk_class cls;
    uint8_t confidence; /* percent */
    uint32_t tags;
    uint32_t tokens;
    uint32_t properties;
    struct slice freeform; /* the property that takes code; empty without one */
    struct risk_list evidence;
    uint32_t findings; /* bit 1 << detector; bit 0: readOnlyHint on a tool that does more than read */
    bool destructive_hint;
    uint64_t full, shape; /* the first eight bytes of each hash; 0: not known */
};

size_t risk_catalogue_count(void);   /* number of tools, all versions */
size_t risk_catalogue_servers(void); /* number of versions of servers */
size_t risk_catalogue_names(void);   /* number of distinct servers */
/* i below the count. */
void risk_catalogue_get(size_t i, struct risk_known *ret_known);
void risk_catalogue_server(size_t i, struct risk_published *ret_server);
/* Finds exactly this definition. */
bool risk_catalogue_find(const uint8_t full[RISK_HASH_BYTES], struct risk_known *ret_known);
/* Finds a definition with the same name and parameters but other texts. */
bool risk_catalogue_find_shape(const uint8_t shape[RISK_HASH_BYTES], struct risk_known *ret_known);
/* The versions of a server: index of the oldest, and how many; the newest is the last. 0: not known. */
size_t risk_catalogue_versions(enum risk_registry registry, struct slice name, size_t *ret_first);
/* That version, else the newest. */
bool risk_catalogue_find_server(enum risk_registry registry, struct slice name, struct slice version,
                                size_t *ret_server);
/* The tools of that name on all servers: how many, and the place of the first for risk_catalogue_in_order. */
size_t risk_catalogue_named(struct slice tool, size_t *ret_place);
size_t risk_catalogue_in_order(size_t place); /* the index of a tool, by its place in the order of names */
/* Does that version of the package have a tool of this name with another definition? Then this server is not
 * the published one. */
bool risk_catalogue_differs(enum risk_registry registry, struct slice package, struct slice version,
                            struct slice tool, const uint8_t full[RISK_HASH_BYTES]);
