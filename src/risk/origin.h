/* Registries of servers, and how a server's tools were observed. */
#pragma once

#include "base/slice.h"

enum risk_registry {
    RISK_NPM,
    RISK_PYPI,
    RISK_GO,
    RISK_OCI,
    RISK_CRATES,
    RISK_GITHUB, /* no package */
    RISK_REMOTE, /* no package: a host */
};
#define RISK_REGISTRIES 7
const char *risk_registry_name(enum risk_registry registry); /* "npm" ... */
bool risk_registry_from(struct slice name, enum risk_registry *ret_registry);

enum risk_had { RISK_LISTED, RISK_SOURCE, RISK_DOCUMENTED }; /* where a server's tools are known from */
#define RISK_HADS 3
const char *risk_had_name(enum risk_had had);
enum risk_auth { RISK_AUTH_UNKNOWN, RISK_AUTH_NONE, RISK_AUTH_KEY, RISK_AUTH_OAUTH };
#define RISK_AUTHS 4
const char *risk_auth_name(enum risk_auth auth);
