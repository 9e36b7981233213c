/* Where the program keeps its state. */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *variable;
    const char *below;
} home_places[] = {
    {"SALLYPORT_HOME", ""},
    {"XDG_STATE_HOME", "/sallyport"},
    {"HOME", "/.local/state/sallyport"},
};

int cli_home(char ret_path[CLI_PATH_MAX], struct err *err) {
    for (size_t i = 0; i < sizeof(home_places) / sizeof(home_places[0]); i++) {
        const char *value = getenv(home_places[i].variable);
        if (!value || !*value)
            continue;
        /* A relative path would mean another place in every directory: counters could be dodged by cd. */
        if (*value != '/')
            return err_set(err, "%s is `%s`: it must be an absolute path", home_places[i].variable, value);
        if (snprintf(ret_path, CLI_PATH_MAX, "%s%s", value, home_places[i].below) >= CLI_PATH_MAX)
            return err_set(err, "%s is too long", home_places[i].variable);
        return 0;
    }
    return err_set(err, "no place for state: set SALLYPORT_HOME");
}
