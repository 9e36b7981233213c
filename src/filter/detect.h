/* Internals of the detector: one scan over one text, and the readers that are called at a position in it.
 * Each reader reports spans itself and returns the offset after what it has handled (at least its own start).
 */
#pragma once

#include "filter/byteclass.h"
#include "filter/chars.h"
#include "filter/keys.h"
#include "filter/spans.h"
#include "filter/words.h"

#define PREFIX_BLOOM_BITS 16384
#define PREFIX_SLOTS 4096

struct rules;

struct pii_engine {
    struct words *words;
    class_fn *class_of;
    struct rules *rules;                    /* NULL without custom rules */
    uint64_t bloom[PREFIX_BLOOM_BITS / 64]; /* first three bytes of the secret formats */
    uint16_t slots[PREFIX_SLOTS];           /* hash of three bytes -> index + 1 of the first format */
    uint16_t chain[1024];                   /* the next format with the same hash */
    uint64_t kind_bits[512];                /* first three letters of the names of kinds */
    struct class_heads heads;               /* the same for many bytes at a time */
    uint16_t value_marks[256];              /* of a keyed value's characters; see secret_text.c */
};

/* The columns of the table that the scan is in. */
struct columns {
    uint32_t line; /* start of the current line */
    uint32_t line_end;
    char sep; /* 0: no table */
    uint32_t count;
    uint32_t at; /* cursor inside the line: column `column` starts here */
    uint32_t column;
    bool fresh; /* the next line may be a header */
};

/* Initialised at first use: most texts are short and do not need it. */
struct detect_memory {
    struct pii_keys keys;
    uint32_t columns[PII_COLUMNS_MAX]; /* hints of their headers; only the counted ones are valid */
};

struct detect {
    const struct pii_engine *eng;
    uint64_t kinds;
    unsigned score_min;
    unsigned depth;
    bool literals; /* text that looks like a token is a find */
    bool tokens;   /* report whether there is any */
    const char *p;
    uint32_t n;
    struct slice key; /* the whole text is the value of this key */
    struct pii_keys *outer_keys;
    uint32_t key_hints; /* of that key, computed on demand */
    bool key_known;
    struct columns columns;
    struct detect_memory *memory;
    bool remembers;        /* `memory` is initialised */
    uint32_t percent_done; /* percent runs before this are handled */
    uint32_t wrapped_done; /* base64 in lines before this was decoded */
    uint32_t assign_done;  /* a keyed value before this was reported */
    uint32_t option_u;     /* the last word that may be the -u or --user of a curl */
    struct pii_spans *out;
};

struct hints {
    uint32_t label; /* of the key, the column or the label right before the value */
    uint32_t near;  /* of words close by */
};

static inline bool detect_wants(const struct detect *d, enum pii_kind kind) {
    return (d->kinds & PII_BIT(kind)) != 0;
}
static inline char detect_at(const struct detect *d, uint32_t i) { return i < d->n ? d->p[i] : '\0'; }
static inline char detect_before(const struct detect *d, uint32_t i) { return i > 0 ? d->p[i - 1] : '\0'; }
#define WORD_SURE 32
/* What the masks show about a word before a reader runs. */
struct word {
    uint32_t at;
    unsigned len;    /* letters and digits; from WORD_SURE on there may be more */
    uint64_t digits; /* which of the bytes from its start on are digits */
};
/* The number of consecutive set bits from the first on, up to 63. */
static inline unsigned word_run(uint64_t bits) {
    return (unsigned)__builtin_ctzll(~bits | UINT64_C(1) << 63);
}
/* Digits among the first seven of a number, including separators. */
static inline int word_digits_near(const struct word *w) { return __builtin_popcountll(w->digits & 0xfffff); }
/* Is the byte before `i` not part of a word? An escape letter (the n of "\n") is not. */
bool pii_detect_starts(const struct detect *d, uint32_t i);
static inline struct detect_memory *detect_memory(struct detect *d) {
    if (!d->remembers) {
        memset(d->memory->keys.len, 0, sizeof(d->memory->keys.len));
        d->remembers = true;
    }
    return d->memory;
}
void pii_detect_add(struct detect *d, uint32_t start, uint32_t end, unsigned kind, unsigned score,
                    const char *sub);

/* context.c */
struct hints pii_context_of(struct detect *d, uint32_t start, uint32_t end);
/* Hints of the word right before a number; over "no." and its like of the one before that. */
uint32_t pii_context_last(const struct detect *d, uint32_t start);
/* The key before an assignment sign at `at`; empty when there is none. *ret_start its offset. */
struct slice pii_context_key(const struct detect *d, uint32_t at, uint32_t *ret_start);

uint32_t pii_context_hints(struct detect *d, struct slice key);
uint32_t pii_context_outer(struct detect *d); /* hints of the key that the whole text is the value of */
/* The separator of the columns of the table around `at`, or 0. */
char pii_context_separator(struct detect *d, uint32_t at);

/* digits.c */
uint32_t pii_digits_read(struct detect *d, const struct word *w);
/* A number directly after another value. */
void pii_digits_glued(struct detect *d, uint32_t at);

/* network.c */
bool pii_network_mac(struct detect *d, uint32_t at, uint32_t *ret_end);
bool pii_network_ipv6(struct detect *d, uint32_t at, uint32_t *ret_end);
bool pii_network_ipv4(struct detect *d, uint32_t at, uint32_t *ret_end);
void pii_network_email(struct detect *d, uint32_t at);
void pii_network_url(struct detect *d, uint32_t colon);
bool pii_network_iban(struct detect *d, uint32_t at, uint32_t *ret_end);

/* dates.c: a day of one or two digits at `at`, with a month in letters and a year */
bool pii_dates_words(struct detect *d, uint32_t at, uint32_t *ret_end);
/* A year at `at` with the Chinese, Japanese or Korean word for year behind it, then month and day. */
bool pii_dates_units(struct detect *d, uint32_t at, uint32_t *ret_end);
/* Reports the date if something calls it a birthday. */
void pii_dates_add(struct detect *d, uint32_t start, uint32_t end, struct hints h, const char *sub);

/* national.c: `digits` are the digits of start..end without separators. */
bool pii_national_digits(struct detect *d, uint32_t start, uint32_t end, const char *digits, size_t len,
                         struct hints h);
bool pii_national_word(struct detect *d, uint32_t at, uint32_t *ret_end);
/* Can a word of this length be an identifier, or the first two groups of one with separators? */
static inline bool pii_national_fits(unsigned len) { return (len >= 8 && len <= 18) || len == 2; }

/* secret_text.c */
void pii_secret_build(struct pii_engine *e);
bool pii_secret_prefix(struct detect *d, uint32_t at, uint32_t *ret_end);
bool pii_secret_odd(struct detect *d, uint32_t at, unsigned len, uint32_t *ret_end);
void pii_secret_assign(struct detect *d, uint32_t at);
/* The value behind `Basic ` or `Bearer `; false when neither ends at `at`. */
bool pii_secret_scheme(struct detect *d, uint32_t at);
void pii_secret_tilde(struct detect *d, uint32_t at);
/* user:password@tcp(host:3306)/name: the at-sign is at `at`. */
void pii_secret_dsn(struct detect *d, uint32_t at);
void pii_secret_value(struct detect *d);
bool pii_secret_dummy(struct slice value); /* placeholders and examples */
/* Can a key with these hints have that value? */
bool pii_secret_fits(struct slice key, struct slice v, uint32_t hints, bool quoted, const char **ret_sub);
/* Does the text contain that word? Lower case; the text may have any case. */
bool pii_secret_has(struct slice v, const char *word);

/* secret_call.c: values without an assignment sign before them */
void pii_secret_quoted(struct detect *d, uint32_t at);
void pii_secret_option(struct detect *d, uint32_t at);
void pii_secret_directive(struct detect *d, uint32_t at);

static inline uint32_t secret_hash3(const char *p) {
    const uint32_t v = (uint32_t)(uint8_t)p[0] | (uint32_t)(uint8_t)p[1] << 8 | (uint32_t)(uint8_t)p[2] << 16;
    return (v * 2654435761u) >> 16;
}

/* Can a secret's format start with these three bytes? */
static inline bool secret_may_start(const struct pii_engine *e, const char *p) {
    const uint32_t h = secret_hash3(p) % PREFIX_BLOOM_BITS;
    return (e->bloom[h / 64] >> (h % 64) & 1) != 0;
}

/* crypto.c */
bool pii_crypto_read(struct detect *d, uint32_t at, uint32_t *ret_end);

/* decode.c */
/* Text in base64 at a long word, or before it: + / - and _ separate words. */
bool pii_decode_base64(struct detect *d, uint32_t at, uint32_t *ret_end);
bool pii_decode_credentials(struct slice text); /* base64 of user:password */
/* The same in hexadecimal digits. */
bool pii_decode_hex_run(struct detect *d, uint32_t at, uint32_t *ret_end);
void pii_decode_percent(struct detect *d, uint32_t at);
/* Whether folding changes what starts at byte `at`. */
bool pii_decode_folds(struct slice text, uint32_t at);
/* Folds escapes, homoglyphs and invisible characters: malloc'ed text of *ret_len bytes and, in *ret_map, the
 * source offset of each byte and of the end. */
char *pii_decode_fold(struct slice text, uint32_t *ret_len, uint32_t **ret_map);

/* token.c: text that reads as a token, its kind's name at `at` */
void pii_literal_read(struct detect *d, uint32_t at);
/* The same for an address or a day that is a token; nine bytes are there. */
void pii_literal_digits(struct detect *d, uint32_t at);
void filter_token_build(struct pii_engine *e);
/* Can a kind's name start with these three bytes? Excludes most words. */
static inline bool token_may_start(const struct pii_engine *e, const char *p) {
    const unsigned index = (unsigned)(p[0] & 31) << 10 | (unsigned)(p[1] & 31) << 5 | (unsigned)(p[2] & 31);
    return (e->kind_bits[index / 64] >> (index % 64) & 1) != 0;
}

/* engine.c: the readers over d's text, without folding; used again for decoded text. */
void pii_engine_plain(struct detect *d);
