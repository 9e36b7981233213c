/* Ceilings of the server room; docs/limits.md lists them. */
#pragma once

#define SERVER_ORIGIN_MAX (256u << 10) /* bytes of a command line that stand for its server */
#define TASK_OWNERS_MAX 10000          /* tasks whose owner is remembered, the oldest go first */
