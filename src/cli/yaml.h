/* sallyport.yaml, written. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Up to `servers:`; `policy` is the default's path, or NULL. */
void cli_yaml_head(struct buf *out, const char *listen, const char *policy);
/* One server, indented; `json` as struct cli_client_server has it, `policy` a path or NULL. */
void cli_yaml_server(struct buf *out, struct slice indent, const char *name, struct slice json,
                     const char *policy, struct arena *a);
