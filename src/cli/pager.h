/* Long texts on a terminal, through $PAGER or less. */
#pragma once

#include "base/buf.h"

/* Prints as cli_print does; through a pager if the text is longer than the terminal. NO_PAGER or PAGER=cat
 * disables that. */
int cli_page(const struct buf *text);
