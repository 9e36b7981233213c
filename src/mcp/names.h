/* How the names of many servers share one space.
 *
 *   tool, prompt     files  read_file          →  files__read_file      (at most 64 bytes: see names_show)
 *   task             files  7f3a               →  files__7f3a
 *   resource         files  file:///a/b        →  sallyport:files/file:///a/b
 *   app, skill       clock  ui://face.html     →  ui://clock/face.html  (clients look at these schemes)
 *
 * What stands in front is the server's prefix: it holds no `__` and no `/`, so the first of them ends it.
 * Pure functions; results lie in the arena or in the text that was given. */
#pragma once

#include "base/arena.h"

#define NAMES_TOOL_MAX 64 /* what common clients and models accept */

/* A tool as the client sees it. Over 64 bytes it is PREFIX__HASH_END: the end is what tells tools apart, and
 * the hash of the whole keeps two ends that are equal apart. The same in every run. */
struct slice names_show(struct arena *a, struct slice prefix, struct slice tool);
/* Could that be a shortened name? Then only the list of tools can tell. */
bool names_is_short(struct slice shown);
/* Prompts and tasks: of any length. */
struct slice names_join(struct arena *a, struct slice prefix, struct slice name);
/* False when there is no prefix. */
bool names_split(struct slice shown, struct slice *ret_prefix, struct slice *ret_name);

struct slice names_show_uri(struct arena *a, struct slice prefix, struct slice uri);
/* False when it is none of ours. */
bool names_split_uri(struct arena *a, struct slice shown, struct slice *ret_prefix, struct slice *ret_uri);

/* Does the URI fit the template (RFC 6570)? Every expression may stand for any text: enough to find the
 * server it belongs to, which then looks closer. */
bool names_fit_template(struct slice template, struct slice uri);
