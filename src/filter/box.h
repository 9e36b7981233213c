/* A vault in memory as one sealed byte string, for whoever keeps it on disk: AES-256-GCM, the entries
 * inside. Pure: no file is touched here. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "filter/vault.h"

#define FILTER_BOX_KEY 32

int filter_box_seal(const struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct buf *out,
                    struct err *err);
/* Adds the entries of a box to `m`. Fails whole: a box that was changed adds nothing. */
int filter_box_open(struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct slice box,
                    struct err *err);
