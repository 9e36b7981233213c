/* Skills: code that an agent stores for later. One directory per principal holds the code NAME.py (or .ts,
 * .js), its metadata NAME.json, and earlier versions as versions/NAME.N.py. Only the gate writes them; code
 * in the sandbox gets their text on import. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct skill {
    struct slice name;
    struct slice description;
    struct slice created; /* RFC 3339, of this version */
    struct slice language;
    struct slice code;
    struct slice body;   /* of its SKILL.md, with the code; empty if it had none */
    struct slice hash;   /* SHA-256 of the code, hex */
    struct slice schema; /* of its arguments, if the operator offers it as a tool: see promote.h */
    int64_t version;     /* from 1 */
};

struct skill_list {
    struct skill *skills; /* sorted by name */
    size_t count;
};

enum skill_result { SKILL_OK, SKILL_BAD_NAME, SKILL_NOT_FOUND, SKILL_TOO_LARGE, SKILL_FULL, SKILL_FAILED };

/* Stores name, description, language and code of `s`; fills in the rest. */
enum skill_result skill_save(int fd, struct skill *s, struct arena *a);
/* version 0: the latest */
enum skill_result skill_load(int fd, struct slice name, int64_t version, struct arena *a,
                             struct skill *ret_skill);
/* All skills, with code. Invalid entries are skipped. */
enum skill_result skill_all(int fd, struct arena *a, struct skill_list *ret_list);
/* The name in the form of Agent Skills: lower case, hyphens. */
struct slice skill_kebab(struct slice name, struct arena *a);
/* As a SKILL.md. */
struct slice skill_to_md(const struct skill *s, struct arena *a);
bool skill_is_md(struct slice text);
/* Parses a SKILL.md: name, description, language, body and code (of its first fenced block). */
int skill_from_md(struct slice text, struct arena *a, struct skill *ret_skill, struct err *err);
/* The tools that the code calls by name, as a JSON array of SERVER.TOOL. Informational: each call is decided
 * when it is made. */
struct slice skill_tools(struct slice code, struct arena *a);
/* SHA-256 or MD5, hex. */
struct slice skill_hash(const char *algorithm, struct slice text, struct arena *a);
