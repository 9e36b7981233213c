/* Packages that code may import: installed by the operator, or by agents if the operator's list allows it. A
 * run names what it needs; packages that its principal has installed are always available. Of an agent's
 * input only a version (letters, digits and dots) of a listed name reaches pip or npm. */
#pragma once

#include "code/model.h"
#include "packages/choose.h"

/* The directory of the layers; created if absent. "" if that fails. */
const char *package_dir(struct code_server *s);
/* Is there something to offer: a list, or an installed package? */
bool package_offered(const struct code_server *s);
/* The operator's list, one entry per line. */
const char *package_allowed(const struct code_server *s);
struct pack_choose package_question(struct code_server *s, enum sandbox_language language, struct arena *a);

/* The packages of a run, for the sandbox: empty, or JSON in the arena. */
int package_choose(const struct code_owner *o, enum sandbox_language language, const struct slice *asked,
                   size_t asked_count, struct arena *a, struct slice *ret_packages, struct err *err);
/* From now on, every run of that principal has it, instead of another version of it. */
int package_keep(const struct code_owner *o, const struct pack_spec *spec, struct arena *a, struct err *err);
/* Extends an error text with the package to request, if a missing module is known here. */
struct slice package_explain(struct code_server *s, enum sandbox_language language, struct slice error,
                             struct arena *a);
/* Writes the installed packages, as elements of an array that the caller has opened; then the entries of the
 * list. */
void package_write_installed(struct code_server *s, struct emit *e);
void package_write_allowed(const struct code_server *s, struct emit *e);
