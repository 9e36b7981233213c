/* Private to the admin room: the files of the console, part of the program. */
#pragma once

#include "session/web.h"

struct page_file {
    const char *name; /* behind /ui/ */
    const char *type;
    const char *tag; /* of its content */
    const unsigned char *gzip;
    size_t len;
};
extern const struct page_file page_files[]; /* made by scripts/bundle-console; ends with a row of zeros */

bool page_has(struct slice path);
void page_serve(const struct web_request *r);
