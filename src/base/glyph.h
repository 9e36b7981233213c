/* Code points, and text from outside made safe to display. */
#pragma once

#include "base/arena.h"

/* The next code point of valid UTF-8, and its length; a stray byte is taken as itself. */
uint32_t glyph_next(struct slice text, size_t at, size_t *ret_len);
bool glyph_is_invisible(uint32_t cp); /* zero width, bidirectional controls, tags, variation selectors */
bool glyph_is_control(uint32_t cp);   /* C0 but tab and line ends, DEL, C1 */
/* For a terminal: invisible and control code points as <U+200B>, line ends as spaces, cut at `max` bytes. In
 * the arena. */
struct slice glyph_printable(struct slice text, size_t max, struct arena *a);
