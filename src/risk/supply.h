/* The origin of a server's program, derived from its command line: `npx -y pkg`, `uvx pkg==1.2`, `docker run
 * img`. A package without a pinned version is whatever was published last under its name, by its author or
 * by an attacker with the author's account. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"
#include "risk/origin.h"

struct risk_supply {
    struct slice package;        /* empty: not started through a package runner */
    struct slice version;        /* empty: not pinned; a range or a tag such as `latest` is not a version */
    const char *runner;          /* "npx", "uvx", "docker"; NULL */
    enum risk_registry registry; /* where the runner fetches from */
    bool unpinned;
};

/* `argv` is program and arguments. */
void risk_supply_read(const struct slice *argv, size_t count, struct risk_supply *ret_supply);
/* Index of the word that identifies the program: the script of an interpreter, the package of a runner, or
 * the command itself. */
size_t risk_supply_subject(const struct slice *argv, size_t count);
/* The name of a server that has no configured one, in the lock: the package, or the file name of its program.
 * The server itself cannot influence it. In the arena. */
struct slice risk_supply_name(const struct slice *argv, size_t count, struct arena *a);
/* Its name everywhere else. Of a file such as dist/index.js it is the folder of the project, so that two
 * servers are told apart. */
struct slice risk_supply_project(const struct slice *argv, size_t count, struct arena *a);
/* Both for a server that is reached over HTTP: host and path. */
struct slice risk_supply_url_name(struct slice url, struct arena *a);
/* The command line as the lock stores it: values of --api-key, TOKEN= and the like, and passwords in URLs,
 * are replaced by a hash. The lock can then be committed, and a change is still detected. In the arena. */
const struct slice *risk_supply_mask(const struct slice *argv, size_t count, struct arena *a);
