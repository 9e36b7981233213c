/* Where the program keeps its state. */
#include "cli/command.h"

#include "audit/audit.h"
#include "base/arena.h"
#include "base/mem.h"
#include "state/home_format.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTINGS_NAME "sallyport.yaml"

static const struct {
    const char *variable;
    const char *below;
} home_places[] = {
    {"SALLYPORT_HOME", ""},
    {"XDG_STATE_HOME", "/sallyport"},
    {"HOME", "/.local/state/sallyport"},
};

struct slice cli_home_user(struct arena *a) {
    const struct passwd *user = getpwuid(geteuid());
    if (user)
        return arena_printf(a, "cli:%s", user->pw_name);
    return arena_printf(a, "cli:%u", (unsigned)geteuid());
}

/* The home of a service is closed to everybody else: say whose it is. */
static int check_home(const char *path, struct err *err) {
    struct stat st;
    if (state_home_format_check(path, err) == 0)
        return 0;
    if (access(path, R_OK | X_OK) == 0 || errno != EACCES)
        return -1;
    const struct passwd *owner = stat(path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
    return err_set(err,
                   "the home `%s` belongs to %s%s: run the command as that user, or name another home with "
                   "SALLYPORT_HOME",
                   path, owner ? "the user " : "another user", owner ? owner->pw_name : "");
}

int cli_home(char ret_path[CLI_PATH_MAX], struct err *err) {
    for (size_t i = 0; i < sizeof(home_places) / sizeof(home_places[0]); i++) {
        const char *value = getenv(home_places[i].variable);
        if (!value || !*value)
            continue;
        /* A relative path would be another place in every directory: counters could be bypassed by cd. */
        if (*value != '/')
            return err_set(err, "%s is `%s`: it must be an absolute path", home_places[i].variable, value);
        if (snprintf(ret_path, CLI_PATH_MAX, "%s%s", value, home_places[i].below) >= CLI_PATH_MAX)
            return err_set(err, "%s is too long", home_places[i].variable);
        return check_home(ret_path, err);
    }
    return err_set(err, "no directory for the state: neither SALLYPORT_HOME nor HOME is set");
}

int cli_home_record(const struct audit_action *action, struct err *err) {
    char home[CLI_PATH_MAX];
    struct audit *audit = NULL;
    int rc = 0;
    if (cli_home(home, err) < 0 || audit_open(&(struct audit_config){.home = home}, &audit, err) < 0 ||
        audit_put_action(audit, action) != AUDIT_OK || audit_flush(audit, err) < 0)
        rc = err_wrap(err, "not in the audit log");
    audit_close(audit);
    return rc;
}

int cli_home_config_dir(char ret_path[CLI_PATH_MAX], struct err *err) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool own = config && *config == '/';
    if (!own && (!home || *home != '/'))
        return err_set(err, "neither XDG_CONFIG_HOME nor HOME is an absolute path");
    if (snprintf(ret_path, CLI_PATH_MAX, "%s%s/sallyport", own ? config : home, own ? "" : "/.config") >=
        CLI_PATH_MAX)
        return err_set(err, "%s is too long", own ? "XDG_CONFIG_HOME" : "HOME");
    return 0;
}

bool cli_home_settings(const char *given, char ret_path[CLI_PATH_MAX]) {
    char dir[CLI_PATH_MAX];
    struct err ignored;
    snprintf(ret_path, CLI_PATH_MAX, "%s", given ? given : SETTINGS_NAME);
    if (given || access(SETTINGS_NAME, F_OK) == 0)
        return true;
    if (cli_home_config_dir(dir, &ignored) < 0 ||
        snprintf(ret_path, CLI_PATH_MAX, "%s/" SETTINGS_NAME, dir) >= CLI_PATH_MAX ||
        access(ret_path, F_OK) != 0) {
        snprintf(ret_path, CLI_PATH_MAX, SETTINGS_NAME);
        return false;
    }
    return true;
}

bool cli_home_unused(const char *home) {
    static const char *const names[] = {"audit", "audit.pub", "audit.key", "format"};
    char path[CLI_PATH_MAX + 16];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", home, names[i]);
        if (access(path, F_OK) == 0)
            return false;
    }
    return true;
}
