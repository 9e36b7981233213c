#include "risk/class.h"

static const struct {
    const char *name;
    enum risk_severity severity;
} classes[RISK_CLASSES] = {
    [RISK_NONE] = {"None", RISK_LOW},
    [RISK_READ] = {"Read", RISK_LOW},
    [RISK_WRITE] = {"Write", RISK_MEDIUM},
    [RISK_EXECUTE] = {"Execute", RISK_HIGH},
    [RISK_DESTRUCTIVE] = {"Destructive", RISK_CRITICAL},
    [RISK_FINANCIAL] = {"Financial", RISK_CRITICAL},
};

const char *risk_class_name(enum risk_class cls) { return classes[cls].name; }

enum risk_class risk_class_from(struct slice name) {
    for (int i = RISK_READ; i < RISK_CLASSES; i++)
        if (slice_eq_nocase(name, slice_str(classes[i].name)))
            return (enum risk_class)i;
    return RISK_NONE;
}

enum risk_severity risk_class_severity(enum risk_class cls) { return classes[cls].severity; }

const char *risk_severity_name(enum risk_severity severity) {
    static const char *const names[] = {"low", "medium", "high", "critical"};
    return names[severity];
}
