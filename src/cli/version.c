#include "base/openssl.h"
#include "cli/command.h"

#include <sqlite3.h>
#include <uv.h>

struct version_options {
    bool json;
};

static const struct cli_option version_rows[] = {
    {CLI_SWITCH(struct version_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static int version_run(const void *options, const struct cli_rest *rest) {
    const struct version_options *opt = options;
    (void)rest;
    cleanup_buf struct buf text;
    buf_init(&text, CLI_TEXT_MAX);
    if (opt->json)
        buf_printf(&text, "{\"version\":\"%s\",\"libuv\":\"%s\",\"openssl\":\"%s\",\"sqlite\":\"%s\"}\n",
                   SALLYPORT_VERSION, uv_version_string(), OpenSSL_version(OPENSSL_VERSION_STRING),
                   sqlite3_libversion());
    else
        buf_printf(&text, "sallyport %s\n", SALLYPORT_VERSION);
    return cli_print(&text);
}

static const struct cli_example version_examples[] = {
    {"sallyport version --json", "for a program"},
    {0},
};

const struct cli_command cli_version = {
    .name = "version",
    .summary = "print the version",
    .options = version_rows,
    .options_size = sizeof(struct version_options),
    .examples = version_examples,
    .run = version_run,
};
