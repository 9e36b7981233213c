/* How the names of many servers share one space.
 *
 *   tool, prompt     files  read_file          →  files__read_file      (at most 64 bytes: see names_show)
 *   task             files  7f3a               →  files__7f3a
 *   resource         files  file:///a/b        →  sallyport:files/file:///a/b
 *   app, skill       clock  ui://face.html     →  ui://clock/face.html  (clients look at these schemes)
 *
 * The prefix is the server's: it holds no `__` and no `/`, so the first of them ends it.
 * Pure functions; results lie in the arena or in the text that was given. */
#pragma once

#include "base/arena.h"

#define NAMES_TOOL_MAX 64 /* what common clients and models accept */

/* A tool's name as the client sees it. Over 64 bytes it is PREFIX__HASH_END: tools mostly differ at the
 * end of their names, and the hash of the complete name keeps equal ends apart. The same in every run. */
struct slice names_show(struct arena *a, struct slice prefix, struct slice tool);
/* Could that be a shortened name? Then it must be looked up in the list of tools. */
bool names_is_short(struct slice shown);
/* Prompts and tasks: names of any length. */
struct slice names_join(struct arena *a, struct slice prefix, struct slice name);
/* False when there is no prefix. */
bool names_split(struct slice shown, struct slice *ret_prefix, struct slice *ret_name);

struct slice names_show_uri(struct arena *a, struct slice prefix, struct slice uri);
/* False when it is not one of our URIs. */
bool names_split_uri(struct arena *a, struct slice shown, struct slice *ret_prefix, struct slice *ret_uri);

/* Does the URI match the template (RFC 6570)? Every expression matches any text. That is enough to find
 * the server; the server checks the rest. */
bool names_fit_template(struct slice template, struct slice uri);
