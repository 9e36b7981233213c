/* Ceilings of the server room; docs/limits.md lists them. */
#pragma once

#define SERVER_ORIGIN_MAX (256u << 10) /* bytes of a command line that identify its server */
#define SERVER_LOG_MAX (64u << 10)     /* bytes of the newest lines of a server that are kept */
#define SERVER_LOG_LINE_MAX 4096       /* bytes of one of them */
#define TASK_OWNERS_MAX 10000          /* tasks whose owner is stored; the oldest are dropped first */
