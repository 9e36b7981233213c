/* Wheels: zip archives with a layout of their own. What a wheel would put elsewhere than beside the modules
 * (programs, headers, data) is left out, and nothing of it is ever run. */
#pragma once

#include "packages/unpack.h"

/* `modules` gets the names that can be imported, each followed by a space. */
struct buf;
int pack_unzip_wheel(struct slice archive, struct pack_unpack *to, struct buf *modules, struct err *err);
