#include "cli/command.h"

#include "risk/catalogue_place.h"

#include <limits.h>

static bool find_home(char ret_path[PATH_MAX]) {
    _Static_assert(CLI_PATH_MAX <= PATH_MAX, "the path fits");
    return cli_home(ret_path, NULL) == 0;
}

int main(int argc, char **argv) {
    risk_catalogue_set_home(find_home);
    return cli_run(&cli_commands, argc, argv);
}
