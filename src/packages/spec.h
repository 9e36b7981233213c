/* The name of a package and a version, as people write them: pandas, pandas==2.2.0, zod@3, npm:lodash,
 * pip:httpx[http2]>=0.27. No address, path or option of an installer is one. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "packages/limits.h"

enum pack_kind { PACK_PIP, PACK_NPM };

struct pack_spec {
    enum pack_kind kind;
    struct slice text;    /* without `pip:` or `npm:`: the installer's argument */
    struct slice name;    /* pandas, @scope/name */
    struct slice version; /* the version after `==` or `@`; empty for none or a range */
    bool range;           /* it names several versions */
};

/* Borrows from `text`. `usual` is the kind of a name without a prefix. */
int pack_spec_parse(struct slice text, enum pack_kind usual, struct pack_spec *ret_spec, struct err *err);
const char *pack_spec_kind_name(enum pack_kind kind);
/* Do both name the same package? For pip, case does not matter and -, _ and . are equal. */
bool pack_spec_same_name(enum pack_kind kind, struct slice a, struct slice b);
/* Does the spec include this version? `zod@3` includes every one that begins with `3.`. */
bool pack_spec_fits(const struct pack_spec *spec, struct slice version);
/* Does the entry of a list allow the spec? One without a version allows every version. */
bool pack_spec_covers(const struct pack_spec *entry, const struct pack_spec *asked);

/* The specs of a ready list, separated by spaces; NULL when there is none of that name. */
const char *pack_spec_preset(struct slice name);
