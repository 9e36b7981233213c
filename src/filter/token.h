/* Tokens: [EMAIL_7K3QX9M2]. Created from a keyed hash of the value. Variants that models write are accepted,
 * but only if kind, characters and check character match. */
#pragma once

#include "filter/keys.h"
#include "filter/token_text.h"
#include "filter/vault.h"

struct filter_scope;
struct pii_engine;
struct pii_options;

/* A scope: one key, one vault. Tokens of one scope mean nothing in another. */
struct filter_scope *filter_scope_new(const struct pii_engine *e, const uint8_t key[32],
                                      struct filter_vault vault);
void filter_scope_free(struct filter_scope *s);
void filter_scope_set_now(struct filter_scope *s, uint64_t now_ms); /* the age that new entries get */
void filter_scope_set_wide(struct filter_scope *s); /* many clients share it: tokens are harder to guess */
void filter_scope_set_engine(struct filter_scope *s,
                             const struct pii_engine *e); /* tokens stay what they are */
const struct pii_engine *filter_scope_engine(const struct filter_scope *s);
const struct filter_vault *filter_scope_vault(const struct filter_scope *s);
/* What the scope has cached about keys; valid while they are read in the same way. */
struct pii_keys *filter_scope_keys(struct filter_scope *s, const struct pii_options *scan);

/* The token of a value, put into the vault. False when the vault is full. `preserve` keeps the format
 * (tok-7k3qx9m2@pii.invalid) where there is one for the kind; see preserve.c. */
bool filter_token_mint(struct filter_scope *s, const struct filter_entry *e, bool preserve,
                       struct token_text *ret_token);

/* Does the vault hold this value? Nothing is added to it. */
bool filter_token_known(struct filter_scope *s, struct slice kind, struct slice value, struct arena *a,
                        struct filter_entry *ret_entry);

/* The next token at or behind `from`. */
bool filter_token_find(const struct pii_engine *e, struct slice text, uint32_t from,
                       struct token_match *ret_match);
