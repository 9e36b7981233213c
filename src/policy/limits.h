/* Ceilings of the policy room; docs/limits.md lists them. */
#pragma once

#define POLICY_BYTES_MAX (8u << 20) /* one policy document */
#define POLICY_TOOLS_MAX 20000      /* entries under tools */
#define POLICY_PATTERNS_MAX 256     /* tool names with a glob or a class selector: tried one by one */
#define POLICY_RULES_MAX 1000       /* rules or blocks of one tool */
#define POLICY_FRAGMENTS_MAX 64     /* objects one after another in a pasted text */
#define POLICY_CONDITIONS_MAX 200   /* members of one condition list or group */
#define POLICY_GROUP_DEPTH_MAX 8    /* any / all / not inside each other */
#define POLICY_LIST_MAX 10000       /* elements of a constant list */
#define POLICY_PROBLEMS_MAX 1000    /* errors reported in one load */
#define POLICY_PATH_STEPS_MAX 32
#define POLICY_PATH_EACH_MAX 4        /* [*] steps in one path */
#define POLICY_PATHS_REMEMBERED 64    /* distinct paths that one decision looks up only once */
#define POLICY_FANOUT_MAX 100000      /* values of one path in one call; more is a fault */
#define POLICY_NAME_MAX 512           /* tool, counter and rule names */
#define POLICY_TEXT_MAX 4096          /* bytes of on_deny and similar texts */
#define POLICY_REGEX_MAX 8192         /* bytes of a pattern */
#define POLICY_STEPS_MAX 20000000     /* work of one decision; beyond it the call is denied */
#define POLICY_VALUE_STEPS 16         /* cost of reading one of many values */
#define POLICY_REGEX_QUICK_BYTES 256  /* texts up to this length are first searched without counting steps */
#define POLICY_REGEX_QUICK_MAX 64     /* such searches in one decision */
#define POLICY_REGEX_QUICK_LIMIT 1000 /* backtracking of one such search; beyond it the steps are counted */
#define POLICY_REGEX_ITEM_STEPS 4     /* cost of one item of a pattern where steps are counted */
#define POLICY_REGEX_MATCH_LIMIT 100000 /* backtracking from one place; beyond it the call is denied */
#define POLICY_REGEX_DEPTH_LIMIT 1000
#define POLICY_REGEX_HEAP_KIB 1024
#define POLICY_APPLIED_MAX                                                                                   \
    (POLICY_PATTERNS_MAX + 2)       /* entries that apply to one tool: exact, patterns, "*" */
#define POLICY_SCOPE_ID_MAX 256     /* bytes of a grant, identity, session or server name in a key */
#define POLICY_SQL_MAX (256u << 10) /* longer statements are not read-only */
#define POLICY_SQL_DEPTH_MAX 128    /* parentheses inside each other */
#define POLICY_SQL_TOKENS_MAX 16384 /* of a statement for PostgreSQL, whose grammar recurses */
#define POLICY_FILE_PATH_MAX 4096
#define POLICY_PRESET_NAMES_MAX 2048   /* names of files that a preset protects */
#define POLICY_GLOB_NAME_STEPS 100000  /* work of comparing a tool's name with a pattern */
#define POLICY_CALLS_MAX 1000000000000 /* largest max of a limit, in whole units */
#define POLICY_UNLISTED_MAX 16         /* arguments of a call that the schema does not list */
#define POLICY_SCHEMA_DEPTH_MAX 200    /* nested applications of schemas, $ref included */
#define POLICY_SCHEMA_NODES_MAX 50000  /* subschemas of one inputSchema */
