/* Hints about a value from the words near it. Keys (`user_cardNumber`) are cut into words; every word adds
 * its hints. */
#pragma once

#include "base/slice.h"

enum words_hint {
    HINT_PHONE = 1 << 0,
    HINT_SSN = 1 << 1,
    HINT_CARD = 1 << 2,
    HINT_IBAN = 1 << 3,
    HINT_IP = 1 << 4,
    HINT_MAC = 1 << 5,
    HINT_DOB = 1 << 6,
    HINT_EMAIL = 1 << 7,
    HINT_SECRET = 1 << 8, /* token, password, api key */
    HINT_VENDOR = 1 << 9, /* a name that hands out keys */
    HINT_KEY = 1 << 10,   /* "key" or "auth" alone: half a secret */
    HINT_ID = 1 << 11,    /* order, ref, id, sku, hash: a number that is none of ours */
    HINT_VERSION = 1 << 12,
    HINT_NATIONAL = 1 << 13,
    HINT_WALLET = 1 << 14,
    HINT_PUBLIC = 1 << 15, /* next page token, public key: looks like a secret and is none */
    HINT_BIRTH = 1 << 16,  /* half of "date of birth" */
    HINT_DATE = 1 << 17,
    HINT_SOCIAL = 1 << 18, /* "social": with "security" or a number it says SSN */
    HINT_NUMBER = 1 << 19,
    HINT_USER = 1 << 20,
    HINT_TALK = 1 << 21, /* call, text, reach: says phone in a sentence, not as a key */
    HINT_LINE = 1 << 22, /* office, desk: says phone as a label or behind the number */
    HINT_SECURITY = 1 << 23,
    HINT_SESSION = 1 << 24, /* in a cookie a secret, elsewhere an id */
};

struct words;
struct words *pii_words_new(void);
void pii_words_free(struct words *w);
/* Hints of one word, any case. */
uint32_t pii_words_lookup(const struct words *w, struct slice word);
/* Hints of the words of a text of less than 64 bytes; the bits say which of them are letters and digits. */
uint32_t pii_words_all(const struct words *w, const char *text, uint64_t alnum);
/* Hints of a key or a column head: snake_case, camelCase, kebab-case, several words. */
uint32_t pii_words_key(const struct words *w, struct slice key);
/* Hints of words with letters beyond ASCII anywhere in the text: other scripts, and words with accents. */
uint32_t pii_words_foreign(const struct words *w, struct slice text);
/* Does the key whose last bytes these are surely call nothing a secret, without hiding a neighbour's name or
 * an authorization? It must start among them; false is no answer. */
#define WORDS_TAIL 16
bool pii_words_harmless(const struct words *w, const char tail[WORDS_TAIL]);
