/* Check digits. All take bare digits (or what they say) and are pure. */
#pragma once

#include "base/slice.h"

bool pii_check_luhn(const char *digits, size_t len);
bool pii_check_card(const char *digits, size_t len, bool loose, const char **ret_brand);
/* IBAN without blanks, any case; the length must be the country's. */
bool pii_check_iban(const char *text, size_t len);
size_t pii_check_iban_length(char a, char b); /* 0 for a country that has none */
bool pii_check_ssn(const char *digits9);
/* A number that is commonly printed as an example: it counts only where the text calls it a number of that
 * kind. */
bool pii_check_ssn_sample(const char *digits9);
bool pii_check_date(int year, int month, int day);
/* The calling code at the front of an international number: its digits, or 0. */
size_t pii_check_calling_code(const char *digits, size_t len);
/* Shannon entropy in hundredths of a bit a character. */
unsigned pii_check_entropy(const char *text, size_t len);
