#include "code/unwrap.h"

#include "base/buf.h"
#include "base/mem.h"
#include "code/limits.h"
#include "wire/emit.h"
#include "wire/tape.h"

static struct slice joined_text(const struct tape *t, uint32_t content, struct arena *a, bool *ret_all_text) {
    struct slice all = {0};
    *ret_all_text = content && tape_is(t, content, TAPE_ARRAY) && tape_node(t, content)->count > 0;
    if (!*ret_all_text)
        return all;
    TAPE_FOR_ELEM(t, content, i) {
        uint32_t type = tape_get_str(t, i, "type"), text = tape_get_str(t, i, "text");
        if (!type || !tape_eq(t, type, SLICE("text")) || !text || !tape_is(t, text, TAPE_STRING)) {
            *ret_all_text = false;
            continue;
        }
        struct slice part = tape_text(t, text, a);
        all = all.len ? arena_printf(a, "%.*s\n%.*s", SLICE_FMT(all), SLICE_FMT(part)) : part;
    }
    return all;
}

/* Objects and lists are values. Any other text stays text, even if it looks like a number: "007" is not 7. */
static struct slice text_value(struct slice text, struct arena *a) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (text.len && tape_parse(&t, text, NULL) == TAPE_OK &&
        (tape_is(&t, 0, TAPE_OBJECT) || tape_is(&t, 0, TAPE_ARRAY)))
        return arena_dup(a, text);
    cleanup_buf struct buf quoted;
    buf_init(&quoted, CODE_INNER_RESULT_MAX * 6);
    emit_quote(&quoted, text);
    return arena_dup(a, buf_slice(&quoted));
}

bool unwrap_result(struct slice result, struct arena *a, struct slice *ret_value) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (result.len > CODE_INNER_RESULT_MAX) {
        *ret_value = SLICE("the tool's answer is too large");
        return false;
    }
    if (tape_parse(&t, result, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT)) {
        *ret_value = SLICE("the tool's answer cannot be read");
        return false;
    }
    bool all_text;
    uint32_t failed = tape_get_str(&t, 0, "isError"), value = tape_get_str(&t, 0, "structuredContent");
    struct slice text = joined_text(&t, tape_get_str(&t, 0, "content"), a, &all_text);
    if (failed && tape_is(&t, failed, TAPE_TRUE)) {
        *ret_value = text.len ? arena_dup(a, text) : SLICE("the tool failed without a word");
        return false;
    }
    if (value && !tape_is(&t, value, TAPE_NULL))
        *ret_value = arena_dup(a, tape_raw(&t, value));
    else if (all_text)
        *ret_value = text_value(text, a);
    else
        *ret_value = arena_dup(a, result);
    return true;
}
