/* Packages of npm: a tar archive, compressed by gzip, with everything below one directory. */
#pragma once

#include "packages/unpack.h"

/* The files go below `prefix` ("node_modules/zod"). Some must be there: package.json. */
int pack_untar_npm(struct slice archive, struct slice prefix, struct pack_unpack *to, struct err *err);
