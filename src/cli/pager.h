/* Long texts on a terminal, through $PAGER or less. */
#pragma once

#include "base/buf.h"

/* Prints as cli_print does; on a terminal that is too low for it, through a pager. NO_PAGER or PAGER=cat
 * turns that off. */
int cli_page(const struct buf *text);
