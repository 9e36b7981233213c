/* Finds the page for a name. */
#pragma once

#include "pages/sheet.h"

/* `name`: a server ("npm/NAME", a name, a title, a repository), a tool, or "attack:ID"; with `tool` that
 * tool of the server. If several servers have the tool, the page lists them. False: nothing has that name. */
bool lookup_page(struct slice name, struct slice tool, struct sheet *s);
