/* Packages that code may import: what the operator has installed, and what the operator's list lets agents
 * install. A run names what it needs; packages that its principal has installed are always available. Of an
 * agent's input only a version, of letters, digits and dots, of a name on the list reaches pip or npm. */
#pragma once

#include "code/model.h"
#include "packages/choose.h"

/* Where the layers are: made when it is not there. "" when it cannot be. */
const char *package_dir(struct code_server *s);
/* Is there something to offer: a list, or a package that is installed? */
bool package_offered(const struct code_server *s);
/* The operator's list, a line each. */
const char *package_allowed(const struct code_server *s);
struct pack_choose package_question(struct code_server *s, enum sandbox_language language, struct arena *a);

/* What a run is to find, for the sandbox: empty, or JSON in the arena. */
int package_choose(const struct code_owner *o, enum sandbox_language language, const struct slice *asked,
                   size_t asked_count, struct arena *a, struct slice *ret_packages, struct err *err);
/* From now on, every run of that principal finds it, in place of another version of it. */
int package_keep(const struct code_owner *o, const struct pack_spec *spec, struct arena *a, struct err *err);
/* The text of an error with what could be asked for, when a module was not found that is known here. */
struct slice package_explain(struct code_server *s, enum sandbox_language language, struct slice error,
                             struct arena *a);
/* What is installed, as elements of an array that the caller has opened; then the entries of the list. */
void package_write_installed(struct code_server *s, struct emit *e);
void package_write_allowed(const struct code_server *s, struct emit *e);
