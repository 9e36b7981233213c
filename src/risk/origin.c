#include "risk/origin.h"

static const char *const registry_names[RISK_REGISTRIES] = {"npm",    "pypi",   "go",    "oci",
                                                            "crates", "github", "remote"};

const char *risk_registry_name(enum risk_registry registry) { return registry_names[registry]; }

bool risk_registry_from(struct slice name, enum risk_registry *ret_registry) {
    for (int i = 0; i < RISK_REGISTRIES; i++)
        if (slice_eq_nocase(name, slice_str(registry_names[i]))) {
            *ret_registry = (enum risk_registry)i;
            return true;
        }
    return false;
}

const char *risk_had_name(enum risk_had had) {
    static const char *const names[RISK_HADS] = {"listed", "source", "documented"};
    return names[had];
}

const char *risk_auth_name(enum risk_auth auth) {
    static const char *const names[RISK_AUTHS] = {"unknown", "none", "key", "oauth"};
    return names[auth];
}
