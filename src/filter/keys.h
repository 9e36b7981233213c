/* What was found out about the keys of records, so that each is looked at once. */
#pragma once

#include "base/slice.h"
#include "filter/limits.h"

/* What is known of keys: records repeat theirs, and documents their frames. All zero is empty. */
struct pii_keys {
    uint8_t len[PII_KEY_MEMO]; /* 0: nothing below is set */
    struct pii_key {
        char text[PII_KEY_MEMO_TEXT];
        uint32_t hints;
        bool hinted; /* `hints` are known */
        bool clean;  /* it was looked through as a text of its own and held nothing */
    } at[PII_KEY_MEMO];
};
/* The place of a key, in which another one may have stood before; NULL when it is too long to be remembered.
 * Good until the next call. */
struct pii_key *pii_keys_at(struct pii_keys *k, struct slice key);
