/* All ceilings of the filter room. */
#pragma once

#define PII_TEXT_MAX (1u << 30)  /* offsets are 32 bits wide; message ceilings lie far below */
#define PII_SPANS_MAX (1u << 20) /* per scanned text; over it the text is refused, never passed unscanned */
#define PII_DEPTH_MAX 2          /* base64 or percent layers looked into */
#define PII_LAYERS_MAX 4         /* encodings of arguments inside each other */
#define PII_READING_MIN 12       /* bytes of text that an encoding in arguments is read for */
#define PII_READINGS_FACTOR 8    /* bytes of such readings, for each byte of the arguments */
#define PII_READINGS_MIN (256u << 10) /* and at least so many */
#define PII_ENCODED_MIN 20            /* characters of a base64 run worth opening */
#define PII_WRAPPED_MIN 40            /* characters of a line of base64 that is continued on the next one */
#define PII_WRAPPED_AGAIN 4096        /* the end of a long run of such lines, read again with what follows */
#define PII_BASE64_BACK 64            /* characters before a long word that may belong to its base64 */
#define PII_HEX_MIN 32                /* digits of a hexadecimal run worth opening */
#define PII_HEX_HEAD 8                /* bytes of it that are looked at first */
#define PII_ENCODED_MAX (64u << 10)   /* characters of one encoded run that are decoded */
#define PII_SECRET_MAX 8192           /* characters of one secret other than PEM */
#define PII_PEM_MAX (32u << 10)
#define PII_COLUMNS_MAX 64   /* of a CSV or Markdown table */
#define PII_KEY_MAX 64       /* characters of a key that are read */
#define PII_KEY_MEMO 128     /* keys that a scan or a scope caches */
#define PII_KEY_MEMO_TEXT 26 /* characters of the longest cached key */
#define PII_NEAR_MAX 48      /* bytes before a value that are read for context words */
#define PII_GROUPS_MAX 8     /* digit groups of one number */

#define PII_RULES_MAX 64
#define PII_RULE_NAME_MAX 32
#define PII_RULE_PATTERN_MAX 1024
#define PII_RULE_LITERAL_MIN 2
#define PII_RULE_MATCH_LIMIT 20000
#define PII_RULE_DEPTH_LIMIT 1000
#define PII_RULE_WINDOW 4096 /* bytes around a literal that a pattern may see */
#define PII_RULE_TESTS_MAX 32

#define FILTER_TOKEN_CHARS 8       /* of a token without collision, check character included */
#define FILTER_TOKEN_CHARS_WIDE 12 /* the same where tokens of many clients share a scope */
#define FILTER_TOKEN_CHARS_MAX 13
#define FILTER_TOKEN_TEXT_MAX 64  /* the whole token with brackets */
#define FILTER_TOKEN_PREFIX_MIN 5 /* characters a truncated token must still have */
#define FILTER_TRUNCATED_MAX 64   /* truncated tokens that are searched in one document */
#define FILTER_ORIGINS_MAX 8      /* servers stored for one value */
#define FILTER_ORIGIN_TEXT_MAX 128
#define FILTER_NESTING_MAX 3 /* JSON inside strings of JSON */
#define FILTER_OUT_MAX (1u << 30)
#define FILTER_VALUE_MAX (64u << 10) /* bytes of one value kept in a vault */
#define FILTER_VAULT_ENTRIES_MAX 200000
#define FILTER_VAULT_BYTES_MAX (64u << 20)
#define FILTER_JOIN_MAX 256      /* bytes on each side of a border between content parts */
#define FILTER_TWINS_MAX 256     /* values of one document that are searched again */
#define FILTER_TWIN_TEXT_MAX 256 /* bytes of a text that they are searched in */
#define FILTER_TWIN_CHECKS_MAX 65536
