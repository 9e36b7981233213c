/* Every ceiling of the pages room; docs/limits.md lists them. */
#pragma once

#define PAGES_BYTES_MAX (64u << 20) /* one page, or the site's index */
#define PAGES_NAME_MAX 200          /* bytes of a name as it is shown */
#define PAGES_QUOTE_MAX 600         /* bytes of a definition that are quoted */
#define PAGES_COLUMNS_MAX 8
#define PAGES_RELATED_MAX 8       /* tools or servers named as related */
#define PAGES_NEIGHBOURS_MAX 1200 /* names that are looked at for each kind of relative */
#define PAGES_CHANGES_MAX 100     /* lines of what changed between versions */
#define PAGES_PATTERNS_MAX 6      /* attack patterns listed on a page */
