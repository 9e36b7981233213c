/* Randomness from the kernel, for ids, tokens and hash seeds. */
#pragma once

#include <stddef.h>

void rand_bytes(void *to, size_t len);
/* Fills `text` with len characters of the URL-safe base64 alphabet (6 bits each) and a NUL: len + 1 bytes. */
void rand_token(char *text, size_t len);
