/* An estimate of the tokens that a text costs a model. Real tokenizers differ by vendor; this one is the
 * same in every build and meant for comparing definitions. */
#pragma once

#include "base/slice.h"

/* A run of letters counts one token per RISK_TOKEN_LETTERS begun, a run of digits one per three, a run of
 * punctuation one per two, a code point beyond ASCII one; single spaces belong to the word behind them. */
#define RISK_TOKEN_LETTERS 7
uint32_t risk_tokens_of(struct slice text);
