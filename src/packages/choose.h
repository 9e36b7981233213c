/* The layers of a run: what it asks for, against what is installed and allowed. */
#pragma once

#include "base/buf.h"
#include "packages/manifest.h"

struct pack_choose {
    const char *dir;           /* that has the manifest */
    const char *allow;         /* specs of the operator's list, a line each; NULL: none */
    enum pack_kind kind;       /* of the run's language */
    const char *python;        /* "3.11": that of the sandbox; NULL: not looked at */
    const struct slice *asked; /* specs */
    size_t asked_count;
    const struct slice *kept; /* the caller's own, without being asked; those that are gone are passed over */
    size_t kept_count;
};

/* What the sandbox is told: for Python a list of layers in the order of import, for JavaScript the layer of
 * each name. Nothing is written when nothing is asked for. The error says what to do. */
int pack_choose(const struct pack_choose *q, struct buf *ret_json, struct err *err);
/* The entry of the operator's list for that spec: a copy in the arena, a spec itself; empty when there is
 * none. Ready lists stand for their entries. */
struct slice pack_choose_allowed(const char *allow, const struct pack_spec *spec, struct arena *a);
/* What to ask for, for code that could not import `module`: "pandas==2.2.0"; empty when nothing is known. */
struct slice pack_choose_for_module(const struct pack_choose *q, struct slice module, bool *ret_installed,
                                    struct arena *a);
