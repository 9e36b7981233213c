/* The catalogue as a folder of static pages: a page for each server, tool and attack pattern, and a first
 * page with a search. It loads nothing from other hosts and works from a local disk. */
#pragma once

#include "base/err.h"
#include "pages/sheet.h"

struct website_count {
    size_t servers, tools, attacks;
};

int website_write(const char *dir, struct website_count *ret_count, struct err *err);
