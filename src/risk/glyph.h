/* Code points that are not what they seem: invisible ones, controls, and letters that look like others. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* The next code point of valid UTF-8, and its length; a stray byte is taken as itself. */
uint32_t risk_glyph_next(struct slice text, size_t at, size_t *ret_len);

enum risk_glyph {
    RISK_GLYPH_PLAIN,
    RISK_GLYPH_INVISIBLE, /* zero width, bidirectional controls, tags, variation selectors out of place */
    RISK_GLYPH_CONTROL,   /* C0 but tab and line ends, DEL, C1 */
};
/* What the code point at `at` is, given its surroundings: a selector behind an emoji is in place. */
enum risk_glyph risk_glyph_at(struct slice text, size_t at, size_t *ret_len);

/* Two names with one skeleton look alike: case, look-alike letters and digits, and invisible code points are
 * gone. In the arena. */
struct slice risk_skeleton(struct slice name, struct arena *a);
/* Prose as the detectors read it: invisible code points gone, look-alike letters as ASCII, lower case, white
 * space as single spaces. In the arena. */
struct slice risk_fold_prose(struct slice text, struct arena *a);
/* A copy without invisible and control code points; what `strip` puts in place of a text. */
bool risk_strip(struct slice text, struct buf *out);
/* The text for people: invisible and control code points as <U+200B>, line ends as spaces, cut at `max`
 * bytes. */
struct slice risk_printable(struct slice text, size_t max, struct arena *a);
