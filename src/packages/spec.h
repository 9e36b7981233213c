/* The name of a package and a version, as people write them: pandas, pandas==2.2.0, zod@3, npm:lodash,
 * pip:httpx[http2]>=0.27. No address, path or option of an installer is one. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "packages/limits.h"

enum pack_kind { PACK_PIP, PACK_NPM };

struct pack_spec {
    enum pack_kind kind;
    struct slice text;    /* all of it but `pip:` or `npm:`: what the installer is given */
    struct slice name;    /* pandas, @scope/name */
    struct slice version; /* one version: behind `==` or `@`; empty when it names none, or a range */
    bool range;           /* it names several versions */
};

/* Borrows from `text`. `usual` is the kind of a name that says nothing of it. */
int pack_spec_parse(struct slice text, enum pack_kind usual, struct pack_spec *ret_spec, struct err *err);
const char *pack_spec_kind_name(enum pack_kind kind);
/* The same package? pip takes letters of either case, and -, _ and . for each other. */
bool pack_spec_same_name(enum pack_kind kind, struct slice a, struct slice b);
/* Is this version one that the spec means? `zod@3` means each that begins with `3.`. */
bool pack_spec_fits(const struct pack_spec *spec, struct slice version);
/* The spec that lists may call for: an entry without a version stands for each. */
bool pack_spec_covers(const struct pack_spec *entry, const struct pack_spec *asked);

/* Ready lists. The specs of one, separated by spaces; NULL when there is none of that name. */
const char *pack_spec_preset(struct slice name);
