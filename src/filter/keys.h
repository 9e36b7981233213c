/* A cache of what was found about the keys of records. */
#pragma once

#include "base/slice.h"
#include "filter/limits.h"

/* Records repeat their keys, and documents their structure. All zero is empty. */
struct pii_keys {
    uint8_t len[PII_KEY_MEMO]; /* 0: nothing below is set */
    struct pii_key {
        char text[PII_KEY_MEMO_TEXT];
        uint32_t hints;
        bool hinted; /* `hints` are known */
        bool clean;  /* it was scanned as a text and contained nothing */
    } at[PII_KEY_MEMO];
};
/* The slot of a key, which another key may have used before; NULL if the key is too long. Valid until the
 * next call. */
struct pii_key *pii_keys_at(struct pii_keys *k, struct slice key);
