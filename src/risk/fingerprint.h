/* Two hashes of a definition. `full` changes with every character that a model could see. `shape` changes
 * only with the name, the parameters and which of them are required, so a reworded description keeps it. */
#pragma once

#include "base/buf.h"
#include "risk/limits.h"
#include "wire/tape.h"

#define RISK_HASH_BYTES 32

struct risk_fingerprint {
    uint8_t full[RISK_HASH_BYTES];  /* SHA-256 of the canonical JSON of the definition without `_meta` */
    uint8_t shape[RISK_HASH_BYTES]; /* SHA-256 of the canonical JSON of [name, [parameters], [required]] */
};

/* False when the definition is not an object or too large. */
bool risk_fingerprint_of(const struct tape *t, uint32_t tool, struct arena *a,
                         struct risk_fingerprint *ret_print);
/* The canonical text that `full` is the hash of. */
bool risk_definition_text(const struct tape *t, uint32_t tool, struct arena *a, struct buf *out);
/* "sha256:" and 64 hex digits. */
void risk_fingerprint_text(const uint8_t hash[RISK_HASH_BYTES], struct buf *out);
/* The reverse; false for anything else. */
bool risk_fingerprint_parse(struct slice text, uint8_t ret_hash[RISK_HASH_BYTES]);
