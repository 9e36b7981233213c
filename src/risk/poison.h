/* Instructions where only a description belongs. Twelve detectors, each a plain rule, over every string of a
 * definition (names of parameters, enums, defaults and titles included), over a server's instructions and
 * over results. A finding names the detector, the place and the text that set it off.
 *
 * Most of them also fire on honest servers now and then, so alone they only flag. What no honest definition
 * needs is denied by default: invisible or control characters, a name that is not plain, a pseudo tag or a
 * sensitive path together with an instruction to the model. */
#pragma once

#include "risk/poison_text.h"

/* One definition. Findings are added to those that are there. */
void risk_poison_tool(const struct risk_toolset *ctx, const struct risk_neighbours *near,
                      const struct tape *t, uint32_t tool, struct arena *a, struct risk_findings *f);
/* Any JSON value, every string in it: a result, a prompt. `where` names it. */
void risk_poison_value(const struct risk_toolset *ctx, const struct risk_neighbours *near,
                       const struct tape *t, uint32_t node, const char *where, struct arena *a,
                       struct risk_findings *f);
/* Calls `each` for every string below the node, names of members included (`key`), with the place where it
 * stands. Members in `skip` (NULL-terminated, or NULL) are left out. */
void risk_strings_each(
    const struct tape *t, uint32_t node, const char *where, const char *const *skip, struct arena *a,
    void (*each)(void *ctx, uint32_t node, bool key, struct slice text, struct slice where), void *ctx);
/* A result of a call: only what no honest result needs (d1 to d5), and nothing inside `data` and `blob`,
 * which hold encoded bytes. */
void risk_poison_result(const struct tape *t, uint32_t node, struct arena *a, struct risk_findings *f);
/* [A-Za-z0-9_.-]{1,128}, as the specification advises? */
bool risk_name_plain(struct slice name);
/* d12: an unreadable name, or whose letters beyond ASCII only pretend to be others. Blanks, brackets
 * and letters of any language are names like others. */
bool risk_name_bad(struct slice name, struct arena *a);
/* For struct risk_neighbours: adds the names of a tools array to a map of skeletons; the slices live in the
 * arena. A name that is there already stays with its first owner. */
void risk_skeletons_add(struct map *skeletons, const struct tape *t, uint32_t tools, struct arena *a);
