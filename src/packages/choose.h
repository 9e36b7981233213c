/* Chooses the layers of a run: the packages that it requests, if they are installed and allowed. */
#pragma once

#include "base/buf.h"
#include "packages/manifest.h"

struct pack_choose {
    const char *dir;           /* that has the manifest */
    const char *allow;         /* specs of the operator's list, one a line; NULL: none */
    enum pack_kind kind;       /* of the run's language */
    const char *python;        /* "3.11": the sandbox's version; NULL: not checked */
    const struct slice *asked; /* specs */
    size_t asked_count;
    const struct slice
        *kept; /* added for the caller without a request; those that were removed are skipped */
    size_t kept_count;
};

/* Writes the layers for the sandbox: for Python a list in the order of import, for JavaScript the layer of
 * each name; nothing without a request. The error says what to do. */
int pack_choose(const struct pack_choose *q, struct buf *ret_json, struct err *err);
/* The entry of the operator's list that allows the spec, copied to the arena; empty when there is none. A
 * ready list counts as its entries. */
struct slice pack_choose_allowed(const char *allow, const struct pack_spec *spec, struct arena *a);
/* The spec to request for code that could not import `module`: "pandas==2.2.0"; empty when none is known. */
struct slice pack_choose_for_module(const struct pack_choose *q, struct slice module, bool *ret_installed,
                                    struct arena *a);
