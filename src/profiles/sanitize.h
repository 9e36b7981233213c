/* Personal data in a text that its owner wants to be rid of: what the detector of the gate finds, and
 * everything that merely looks like it. There the detector weighs evidence; who asks for it by name wants no
 * doubtful case left. */
#pragma once

#include "base/buf.h"
#include "filter/token.h"

/* The text with tokens; false when it cannot be done. `origin` is where its secrets may go back to. */
bool sanitize_text(struct filter_scope *scope, struct slice origin, struct slice text, struct buf *out);
