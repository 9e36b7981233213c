/* Ceilings of the command line; docs/limits.md lists them. */
#pragma once

#define CLI_LIST_MAX 64            /* values of one repeatable option */
#define CLI_OPTIONS_MAX 48         /* options of one command, the common ones included */
#define CLI_COMMANDS_MAX 64        /* rows of the command table */
#define CLI_PATH_MAX 1024          /* bytes of the state directory's path */
#define CLI_TEXT_MAX (1u << 20)    /* a help text, manual page or completion script */
#define CLI_COMPLETED_MAX 100      /* approvals that completion offers */
#define CLI_DIFF_CONTEXT 3         /* unchanged lines around a difference */
#define CLI_DIFF_CELLS_MAX 4000000 /* product of the line counts; above it, all lines count as changed */
#define CLI_DURATION_MS_MAX (366ull * 24 * 60 * 60 * 1000) /* a time given as an option */
