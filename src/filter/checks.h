/* Check digits. All functions take bare digits (unless noted) and are pure. */
#pragma once

#include "base/slice.h"

bool pii_check_luhn(const char *digits, size_t len);
bool pii_check_card(const char *digits, size_t len, bool loose, const char **ret_brand);
/* IBAN without blanks, any case; the length must be the country's. */
bool pii_check_iban(const char *text, size_t len);
size_t pii_check_iban_length(char a, char b); /* 0 for a country without IBAN */
bool pii_check_ssn(const char *digits9);
/* A common example number: it counts only if the text labels it as this kind. */
bool pii_check_ssn_sample(const char *digits9);
bool pii_check_date(int year, int month, int day);
/* The calling code at the front of an international number: its digits, or 0. */
size_t pii_check_calling_code(const char *digits, size_t len);
/* Shannon entropy in hundredths of a bit a character. */
unsigned pii_check_entropy(const char *text, size_t len);
