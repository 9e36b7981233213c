/* Deceptive text: invisible code points, and letters that look like others. */
#pragma once

#include "base/buf.h"
#include "base/glyph.h"

enum risk_glyph {
    RISK_GLYPH_PLAIN,
    RISK_GLYPH_INVISIBLE, /* zero width, bidirectional controls, tags, variation selectors out of place */
    RISK_GLYPH_CONTROL,   /* C0 but tab and line ends, DEL, C1 */
};
/* The kind of the code point at `at` in its context: a variation selector after an emoji is normal. */
enum risk_glyph risk_glyph_at(struct slice text, size_t at, size_t *ret_len);

/* Names with the same skeleton look alike: case, look-alike letters and digits are folded, invisible code
 * points removed. In the arena. */
struct slice risk_skeleton(struct slice name, struct arena *a);
/* Prose normalized for the detectors: no invisible code points, look-alike letters as ASCII, lower case,
 * white space as single spaces. In the arena. */
struct slice risk_fold_prose(struct slice text, struct arena *a);
/* A copy without invisible and control code points; used by mode `strip`. */
bool risk_strip(struct slice text, struct buf *out);
