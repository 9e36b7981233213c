/* The page of a server. */
#pragma once

#include "pages/sheet.h"
#include "pages/subject.h"

void server_page(const struct subject *subject, struct sheet *s);
/* "10 tools. 5 can modify or destroy data without limits." */
struct slice server_page_count_line(const struct subject *subject, struct arena *a);
