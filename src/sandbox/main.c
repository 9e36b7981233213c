/* sallyport-sandbox: the helper that creates sandboxes for the gate.
 *
 *   sallyport-sandbox probe                    prints what the machine supports, as lines for `sallyport
 * doctor` sallyport-sandbox serve OPTION=VALUE…      handles orders on descriptor 3; started by the gate only
 */
#include "base/mem.h"
#include "sandbox/supervise.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int usage(void) {
    fputs("sallyport-sandbox creates sandboxes for sallyport, which starts it. Commands for users:\n"
          "  sallyport-sandbox probe    report what this machine supports\n",
          stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct supervise_options options = {.runtimes =
                                            1u << FRAME_PYTHON | 1u << FRAME_PYTHON_DATA | 1u << FRAME_NODE};
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        {"python=", &options.given[LAUNCH_PYTHON]},
        {"node=", &options.given[LAUNCH_NODE]},
        {"bun=", &options.given[LAUNCH_BUN]},
        {"helpers=", &options.helper_dir},
        {"packages=", &options.packages},
        {"uids=", &options.uids},
        {"fail=", &options.fail_step},
        {"tier=", &options.best_tier},
        {"forks=", &options.forks},
        {"runtimes=", &options.runtime_bits},
    };
    if (argc < 2 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "probe") != 0))
        return usage();
    for (int i = 2; i < argc; i++) {
        bool known = false;
        for (size_t j = 0; j < ARRAY_LEN(texts); j++) {
            const size_t len = strlen(texts[j].name);
            if (strncmp(argv[i], texts[j].name, len) == 0) {
                *texts[j].to = argv[i] + len;
                known = true;
            }
        }
        if (!known)
            return usage();
    }
    if (options.runtime_bits)
        options.runtimes = (uint32_t)strtoul(options.runtime_bits, NULL, 10);
    return strcmp(argv[1], "probe") == 0 ? supervise_probe(&options) : supervise_serve(&options);
}
