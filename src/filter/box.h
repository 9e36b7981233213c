/* A vault in memory as one encrypted byte string that can be kept on disk: AES-256-GCM, the entries
 * inside. Pure: no file is touched here. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "filter/vault.h"

#define FILTER_BOX_KEY 32

int filter_box_seal(const struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct buf *out,
                    struct err *err);
/* Adds the entries of a box to `m`. All or nothing: a modified box adds nothing. */
int filter_box_open(struct filter_memory *m, const uint8_t key[FILTER_BOX_KEY], struct slice box,
                    struct err *err);

/* One entry, for stores that keep entries separately. `bound` is authenticated data: the entry can only be
 * decrypted with the same text, so rows cannot be swapped. */
bool filter_box_seal_entry(struct slice id, const struct filter_entry *e, struct slice bound,
                           const uint8_t key[FILTER_BOX_KEY], struct buf *out);
/* The entry's texts are in the arena. */
bool filter_box_open_entry(struct slice box, struct slice bound, const uint8_t key[FILTER_BOX_KEY],
                           struct arena *a, struct slice *ret_id, struct filter_entry *ret_entry);
