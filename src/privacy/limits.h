/* Ceilings of the privacy room; docs/limits.md lists them. */
#pragma once

#define PRIVACY_RULES_MAX 256         /* rules of each list in a PII rules file */
#define PRIVACY_FILE_MAX (1u << 20)   /* bytes of that file */
#define PRIVACY_KEEP_MS 2592000000ull /* how long a value behind a token is kept: 30 days */
#define PRIVACY_SWEEP_MS 3600000      /* between two checks for expired values */
#define PRIVACY_SUMMARY_MAX 2048      /* bytes of the sentence that counts the finds of a call */
#define RESTORE_UNKNOWN_MAX                                                                                  \
    1000                   /* unknown tokens of one identity in a minute; then calls with one are denied */
#define RESTORE_BRAKES 256 /* slots in which identities are counted */
#define RESTORE_TOKENS_SHOWN 8       /* tokens of one call that are described to approvers and in records */
#define RESTORE_TEXT_MAX 1024        /* bytes of that text */
#define VAULTS_MAX 10000             /* concurrent scopes */
#define VAULT_PENDING_MAX (4u << 20) /* bytes of token names that wait for the store */
