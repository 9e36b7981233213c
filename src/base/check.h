/* Assertions that stay on in release builds: a broken invariant in a gate must stop it, not change what it
 * does. */
#pragma once

/* Called before an assertion ends the process; NULL: nothing is called. */
extern void (*check_last_words)(void);

_Noreturn void check_fail(const char *expr, const char *file, int line);

#define CHECK(expr) (__builtin_expect(!!(expr), 1) ? (void)0 : check_fail(#expr, __FILE__, __LINE__))

/* Long-lived structs start with a magic number that callbacks check before they trust a pointer. */
#define CHECK_MAGIC(obj, want) CHECK((obj) != NULL && (obj)->magic == (want))
