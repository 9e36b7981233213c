#include "front/start_pages.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* One mapping of /proc/self/smaps: file-backed, and without private pages (relocated data has some).
 * Shared pages can be read from the file again. */
struct mapping {
    unsigned long from;
    unsigned long to;
    bool clean;
};

static void mapping_release(const struct mapping *m) {
    if (m->clean && m->to > m->from)
        madvise((void *)m->from, m->to - m->from, MADV_DONTNEED); /* failure is harmless */
}

void front_start_pages_release(void) {
    cleanup_file FILE *maps = fopen("/proc/self/smaps", "re");
    struct mapping m = {0};
    char line[512];
    while (maps && fgets(line, sizeof(line), maps)) {
        char *at = line;
        unsigned long from = strtoul(line, &at, 16);
        if (at > line && *at == '-') {
            mapping_release(&m);
            m = (struct mapping){.from = from, .to = strtoul(at + 1, &at, 16)};
            m.clean = (strncmp(at, " r-xp ", 6) == 0 || strncmp(at, " r--p ", 6) == 0 ||
                       strncmp(at, " rw-s ", 6) == 0) &&
                      strchr(at, '/');
        } else if (strncmp(line, "Anonymous:", 10) == 0 && strtoul(line + 10, NULL, 10) > 0) {
            m.clean = false;
        }
    }
    mapping_release(&m);
}
