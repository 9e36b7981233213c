/* Removes personal data from a text on request: what the detector of the gate finds, and everything with the
 * format of such data. The detector weighs evidence; this tool also replaces doubtful cases, because the
 * caller requested it. */
#pragma once

#include "base/buf.h"
#include "filter/token.h"

/* The text with tokens; false on failure. `origin` is the server that its secrets may be restored for. */
bool sanitize_text(struct filter_scope *scope, struct slice origin, struct slice text, struct buf *out);
