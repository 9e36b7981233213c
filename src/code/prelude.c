#include "code/prelude.h"

/* Generated from the files in this directory by scripts/embed. */
extern const unsigned char prelude_python[], prelude_restricted[], prelude_repl[], prelude_datagen[];
extern const size_t prelude_python_len, prelude_restricted_len, prelude_repl_len, prelude_datagen_len;

static struct sandbox_prelude made_of(enum sandbox_language language, const unsigned char *text, size_t len) {
    return (struct sandbox_prelude){language, slice_of((const char *)text, len)};
}

void code_preludes(struct sandbox_prelude to[CODE_PRELUDES]) {
    to[CODE_PRELUDE_PYTHON - 1] = made_of(SANDBOX_PYTHON, prelude_python, prelude_python_len);
    to[CODE_PRELUDE_RESTRICTED - 1] = made_of(SANDBOX_PYTHON, prelude_restricted, prelude_restricted_len);
    to[CODE_PRELUDE_REPL - 1] = made_of(SANDBOX_PYTHON, prelude_repl, prelude_repl_len);
    to[CODE_PRELUDE_DATAGEN - 1] = made_of(SANDBOX_PYTHON, prelude_datagen, prelude_datagen_len);
}
