/* Texts that a lenient reader takes for one another: equal under Unicode case folding or compatibility
 * normalisation (NFKC). Go's encoding/json reads `Amount` and `ſql` as `amount` and `sql`; Python folds
 * identifiers by NFKC. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

bool fold_is_ascii(struct slice text);
/* Only ASCII, and no upper case: such a text is its own folded form. */
bool fold_is_plain(struct slice text);
/* The folded form: borrowed when the text is plain, else built in the arena. Two texts are alike exactly when
 * their folded forms are equal. The text must be valid UTF-8. */
struct slice fold_text(struct slice text, struct arena *a);
bool fold_alike(struct slice x, struct slice y, struct arena *a);
