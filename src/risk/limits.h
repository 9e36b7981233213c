/* Every ceiling of the risk room; docs/limits.md lists them. */
#pragma once

#define RISK_TOOLS_MAX 20000      /* tools of one list */
#define RISK_NAME_BYTES_MAX 512   /* bytes of a tool's name that are classified */
#define RISK_NAME_TOKENS_MAX 24   /* words of a name */
#define RISK_PROSE_BYTES_MAX 4096 /* bytes of a description that are classified */
#define RISK_PROSE_WORDS_MAX 160  /* words of it */
#define RISK_PROPS_MAX 256        /* properties of an input schema that are classified */
#define RISK_ENUM_MAX 256         /* values of one enum */
#define RISK_EVIDENCE_MAX 8       /* reasons given for one class */
#define RISK_PREFIX_TOKENS_MAX 3  /* words shared by a server's tool names */
#define RISK_SERVER_WORDS_MAX 16  /* words of a server's own name */

#define RISK_DEFINITION_BYTES_MAX (4u << 20) /* canonical text of one definition */
#define RISK_FINDINGS_MAX 32                 /* findings of one tool */
#define RISK_WHERE_BYTES_MAX 256             /* the place of a finding, as text */
#define RISK_EXCERPT_BYTES_MAX 80            /* bytes of a finding's text */
#define RISK_TEXT_BYTES_MAX                                                                                  \
    (1u << 20)                     /* one string that the detectors look at; the rest is not looked at       \
                                    */
#define RISK_LONG_DESCRIPTION 4000 /* bytes from which a description counts as long */
#define RISK_BLOB_BYTES 120        /* bytes of a run of base64 or hex */
#define RISK_TOOL_NAME_MAX 128

#define RISK_CATALOGUE_BYTES_MAX (64u << 20) /* catalogue.bin */
#define RISK_CATALOGUE_SERVERS_MAX 200000
#define RISK_CATALOGUE_TOOLS_MAX 1000000
#define RISK_CATALOGUE_TEXT_MAX 255     /* bytes of one of its texts */
#define RISK_CATALOGUE_LIST_MAX 32      /* texts of one of its lists */
#define RISK_TRUST_BYTES_MAX (1u << 20) /* trusted-names.jsonl */

#define RISK_LOCK_BYTES_MAX (64u << 20)
#define RISK_LOCK_SERVERS_MAX 1000
#define RISK_DIFF_LINES_MAX 200
#define RISK_POLICY_BYTES_MAX (64u << 20) /* a starter policy */
