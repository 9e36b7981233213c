#include "cli/yaml.h"

#include "base/mem.h"
#include "wire/emit.h"
#include "wire/tape.h"

void cli_yaml_head(struct buf *out, const char *listen, const char *policy) {
    buf_put_str(out, "# The servers behind the gate; `sallyport serve` reads this. It may hold secrets.\n"
                     "version: \"1\"\nlisten: ");
    emit_quote(out, slice_str(listen));
    if (policy) {
        buf_put_str(out, "\npolicy: ");
        emit_quote(out, slice_str(policy));
    }
    buf_put_str(out, "\nservers:\n");
}

/* A name that YAML reads as text, or the same in quotes. */
static void put_name(struct buf *out, const char *name) {
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
    struct slice text = slice_str(name);
    bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z');
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        plain = plain && !slice_eq_nocase(text, slice_str(words[i]));
    if (plain)
        buf_put_slice(out, text);
    else
        emit_quote(out, text);
}

/* JSON with a space after commas and colons, on one line. Strings are decoded and quoted again: YAML does
 * not know all of JSON's escapes. */
static void put_value(struct buf *out, const struct tape *t, uint32_t node, struct arena *a) {
    if (tape_is(t, node, TAPE_STRING)) {
        emit_quote(out, tape_text(t, node, a));
    } else if (tape_is(t, node, TAPE_ARRAY)) {
        buf_put_char(out, '[');
        TAPE_FOR_ELEM(t, node, i) {
            buf_put_str(out, i == node + 1 ? "" : ", ");
            emit_quote(out, tape_text(t, i, a));
        }
        buf_put_char(out, ']');
    } else if (tape_is(t, node, TAPE_OBJECT)) {
        buf_put_char(out, '{');
        TAPE_FOR_MEMBER(t, node, key) {
            buf_put_str(out, key == node + 1 ? "" : ", ");
            emit_quote(out, tape_text(t, key, a));
            buf_put_str(out, ": ");
            /* Variables and headers are always texts. */
            emit_quote(out,
                       tape_is(t, key + 1, TAPE_STRING) ? tape_text(t, key + 1, a) : tape_raw(t, key + 1));
        }
        buf_put_char(out, '}');
    } else {
        buf_put_slice(out, tape_raw(t, node));
    }
}

void cli_yaml_server(struct buf *out, struct slice indent, const char *name, struct slice json,
                     const char *policy, struct arena *a) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, json, NULL) != TAPE_OK)
        return;
    buf_put_slice(out, indent);
    put_name(out, name);
    buf_put_str(out, ":\n");
    TAPE_FOR_MEMBER(&t, 0, key) {
        buf_printf(out, "%.*s  %.*s: ", SLICE_FMT(indent), SLICE_FMT(tape_text(&t, key, a)));
        put_value(out, &t, key + 1, a);
        buf_put_char(out, '\n');
    }
    if (!policy)
        return;
    buf_printf(out, "%.*s  policy: ", SLICE_FMT(indent));
    emit_quote(out, slice_str(policy));
    buf_put_char(out, '\n');
}
