/* Texts that are not what they seem: with code points that cannot be seen, or letters that look like others.
 */
#pragma once

#include "base/buf.h"
#include "base/glyph.h"

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
