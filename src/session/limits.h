/* Ceilings of the session room; docs/limits.md lists them. */
#pragma once

#define BATCH_MAX 64                /* messages in one array of a client */
#define BATCH_BYTES_MAX (64u << 20) /* of their answers together */
#define BATCH_ERROR_MAX 2048        /* extra bytes for each error about that */
