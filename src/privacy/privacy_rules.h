/* The rules file: how each kind is treated where, and which values are restored for which tools. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "filter/filter.h"
#include "privacy/limits.h"

struct pii_place { /* globs; NULL: anywhere */
    const char *server;
    const char *tool;
    const char *grant;
};

struct pii_mode_rule {
    struct pii_place place;
    uint64_t kinds;
    enum filter_mode mode;
};

/* The treatment of plain personal data and secrets in what a client sends. */
enum pii_arguments {
    PII_ARGUMENTS_AUTO, /* derived from the mode of results */
    PII_ARGUMENTS_OFF,
    PII_ARGUMENTS_REPORT,
    PII_ARGUMENTS_BLOCK,
};

struct pii_argument_rule {
    struct pii_place place;
    uint64_t kinds;
    enum pii_arguments mode;
};

struct pii_restore_rule {
    struct pii_place place;
    uint64_t kinds;
    const struct slice *from; /* servers whose secrets may be sent there */
    size_t from_count;
};

struct pii_rules {
    struct arena arena;
    struct pii_mode_rule modes[PRIVACY_RULES_MAX];
    size_t mode_count;
    struct pii_argument_rule arguments[PRIVACY_RULES_MAX];
    size_t argument_count;
    struct pii_restore_rule restores[PRIVACY_RULES_MAX];
    size_t restore_count;
    struct pii_rule custom[PII_RULES_MAX];
    size_t custom_count;
    bool preserve; /* tokens that keep the format of addresses */
};

/* One file, YAML or JSON. */
int privacy_rules_load(const char *path, struct pii_rules *rules, struct err *err);
