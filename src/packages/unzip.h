/* Unpacks wheels, which are zip archives with a layout. Files for other places than beside the modules
 * (programs, headers, data) are left out, and no code of a wheel is run. */
#pragma once

#include "packages/unpack.h"

/* `modules` gets the names that can be imported, each followed by a space. */
struct buf;
int pack_unzip_wheel(struct slice archive, struct pack_unpack *to, struct buf *modules, struct err *err);
