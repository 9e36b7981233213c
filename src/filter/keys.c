#include "filter/keys.h"

struct pii_key *pii_keys_at(struct pii_keys *k, struct slice key) {
    if (key.len == 0 || key.len > PII_KEY_MEMO_TEXT)
        return NULL;
    const unsigned first = (uint8_t)key.ptr[0], middle = (uint8_t)key.ptr[key.len / 2],
                   last = (uint8_t)key.ptr[key.len - 1];
    const unsigned slot = (unsigned)(key.len * 11 + first * 5 + middle * 3 + last) % PII_KEY_MEMO;
    struct pii_key *at = &k->at[slot];
    if (k->len[slot] != key.len || memcmp(at->text, key.ptr, key.len) != 0) {
        k->len[slot] = (uint8_t)key.len;
        memcpy(at->text, key.ptr, key.len);
        at->hinted = at->clean = false;
    }
    return at;
}
