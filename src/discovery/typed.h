/* Tool definitions as files that code and editors understand: one TypeScript declaration or one Python
 * stub per tool, made from its JSON Schemas. Definitions come from servers: every text is escaped, and no
 * text is trusted as a name. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "wire/tape.h"

enum typed_dialect { TYPED_TYPESCRIPT, TYPED_PYTHON };

/* A valid identifier made from any name: "list-files" and "2fa" become list_files and _2fa. Two names may
 * give one identifier; see typed_names(). */
struct slice typed_identifier(struct slice name, enum typed_dialect dialect, struct arena *a);
/* Identifiers for several names, without duplicates: a later duplicate gets _2, _3 … */
void typed_names(const struct slice *names, size_t count, enum typed_dialect dialect, struct arena *a,
                 struct slice *ret_identifiers);
/* The file of one definition (an object in the tape). `output` is a schema to use when the definition has
 * none (learned from results), or empty. False when the buffer is too small. */
bool typed_file(const struct tape *t, uint32_t definition, struct slice identifier, struct slice output,
                enum typed_dialect dialect, struct buf *out);
/* A JSON Schema that matches this value, for a server without an output schema. */
bool typed_learn(const struct tape *t, uint32_t value, struct buf *out);
