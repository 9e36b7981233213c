/* Changes one place of a configuration document and leaves every other byte as it was: comments, order, blank
 * lines and quotes stay. In YAML whole entries are replaced, added or taken out by their lines; an entry
 * inside { } or [ ] is written anew together with the entry around it. JSON has no comments to lose and is
 * written anew as a whole.
 *
 *   tools:                       set tools.read.rules[-] = {rate_limit: 5/minute}
 *     read:        # free          tools:
 *       rules: []           ──▶      read:        # free
 *                                      rules:
 *                                        - rate_limit: 5/minute
 *
 * The result is read again and must be the document that was asked for; else nothing is returned. */
#pragma once

#include "base/buf.h"
#include "wire/tree.h"

struct emit;

struct tree_step {
    struct slice key; /* a member's name, or "-" for a new last element */
    uint32_t index;   /* of an element, where there is no key */
};

struct tree_edit {
    const struct tree_step *path;
    size_t depth;
    const struct tree *value; /* NULL: the entry is taken out */
};

/* Creates missing members and lists on the path. Removing an absent entry changes nothing. */
int tree_edit(struct slice text, const struct tree_edit *edit, struct buf *out, struct err *err);
/* The tree as JSON. */
void tree_json(const struct tree *t, struct emit *e);
