/* The format of a home directory: HOME/format, one line `sallyport home N`. It is raised when an older
 * version of the program could not read what a newer one writes. A home without the file is of version 0.1.0,
 * which had format 1. */
#pragma once

#include "base/err.h"

#define STATE_HOME_FORMAT 1

/* Returns -1 with advice if a newer version of the program has used the home. */
int state_home_format_check(const char *home, struct err *err);
/* The same; then creates the home and writes its format. */
int state_home_format_open(const char *home, struct err *err);
