/* Ceilings of the many room; docs/limits.md lists them. */
#pragma once

#define GATHER_LIST_MS 15000          /* how long a list waits for the slowest server */
#define GATHER_PAGE_ITEMS 1000        /* elements of one page of a list; the rest follows by cursor */
#define GATHER_PAGE_BYTES (8u << 20)  /* the same in bytes */
#define GATHER_PART_BYTES (32u << 20) /* bytes of the list of one server */
#define GATHER_PART_PAGES 200         /* pages of one server that are read */
#define GATHER_INSTRUCTIONS_MAX 4096  /* bytes of one server's instructions that are passed on */
#define CLAIMS_MAX 100000             /* names without a prefix that are remembered */
#define PRESENCE_TRIES_MAX 8          /* restarts of a server that no call waits for */
