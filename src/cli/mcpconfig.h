/* The servers of a client's configuration (`mcpServers` or `servers`), and where their programs come from. */
#pragma once

#include <stdbool.h>

/* Prints each server with its package, whether the version is pinned, and the known package that it may
 * imitate. An exit status: CLI_NO when a name imitates another. */
int cli_mcpconfig_report(const char *path, bool json);
