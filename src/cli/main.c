#include "cli/command.h"

int main(int argc, char **argv) { return cli_run(&cli_commands, argc, argv); }
