/* Detects instructions to the model in definitions. Twelve detectors, each a simple rule, run over every
 * string of a definition (names of parameters, enums, defaults and titles included), over a server's
 * instructions and over results. A finding has the detector, the place and the text that matched.
 *
 * Most detectors have false positives, so alone they only flag. Denied by default is what legitimate
 * definitions do not contain: invisible or control characters, a name that is not plain, a pseudo tag or a
 * sensitive path together with an instruction to the model. */
#pragma once

#include "risk/poison_text.h"

/* Examines one definition and adds its findings. */
void risk_poison_tool(const struct risk_toolset *ctx, const struct risk_neighbours *near,
                      const struct tape *t, uint32_t tool, struct arena *a, struct risk_findings *f);
/* Examines every string of a JSON value: a result, a prompt. `where` names it. */
void risk_poison_value(const struct risk_toolset *ctx, const struct risk_neighbours *near,
                       const struct tape *t, uint32_t node, const char *where, struct arena *a,
                       struct risk_findings *f);
/* Calls `each` for every string below the node, names of members included (`key`), with its path. Members in
 * `skip` (NULL-terminated, or NULL) are skipped. */
void risk_strings_each(
    const struct tape *t, uint32_t node, const char *where, const char *const *skip, struct arena *a,
    void (*each)(void *ctx, uint32_t node, bool key, struct slice text, struct slice where), void *ctx);
/* Examines the result of a call with d1 to d5; skips `data` and `blob`, which hold encoded bytes. */
void risk_poison_result(const struct tape *t, uint32_t node, struct arena *a, struct risk_findings *f);
/* [A-Za-z0-9_.-]{1,128}, as the specification recommends? */
bool risk_name_plain(struct slice name);
/* d12: a name with invisible or control characters, or with look-alike letters. Blanks, brackets and letters
 * of any language are allowed. */
bool risk_name_bad(struct slice name, struct arena *a);
/* For struct risk_neighbours: adds the names of a tools array to a map of skeletons; the slices are in the
 * arena. A skeleton that exists keeps its first name. */
void risk_skeletons_add(struct map *skeletons, const struct tape *t, uint32_t tools, struct arena *a);
