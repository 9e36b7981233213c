/* The console: prints a link that signs the user in, and serves a console over the home when no gate
 * listens on HTTP. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/gates.h"
#include "cli/site.h"
#include "front/gate.h"
#include "front/settings.h"
#include "io/file.h"
#include "state/grants.h"
#include "state/logins.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTINGS_FILE "console.yaml"

struct ui_options {
    const char *url;
    bool print;
};

static const struct cli_option ui_rows[] = {
    {CLI_TEXT(struct ui_options, url), .name = "url", .argument = "URL",
     .help = "of the gate, where it is not the one that runs on this home"},
    {CLI_SWITCH(struct ui_options, print), .name = "print", .help = "print the link and open no browser"},
    {0},
};

static void find_listen(void *ctx, const struct tape *page) {
    struct buf *url = ctx;
    uint32_t listen = tape_get_str(page, 0, "listen");
    if (!listen || !tape_is(page, listen, TAPE_STRING))
        return;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice text = tape_text(page, listen, &a);
    buf_reset(url);
    buf_printf(url, "%s%.*s", slice_starts(text, SLICE("http")) ? "" : "http://", SLICE_FMT(text));
}

static int make_link(const char *home, struct slice origin, struct buf *link, struct err *err) {
    struct state_logins *logins = NULL;
    char code[STATE_LOGIN_TEXT];
    cleanup_arena struct arena a;
    arena_init(&a);
    /* An agent may be able to run this program as this user; it has no terminal. */
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    uint32_t roles = person ? STATE_ROLE_ADMIN : STATE_ROLE_VIEWER;
    if (mkdir(home, 0700) < 0 && access(home, W_OK) < 0)
        return err_set(err, "the home `%s` cannot be written", home);
    int rc = state_logins_open(home, &logins, err);
    if (rc == 0)
        rc = state_logins_link(logins, cli_home_user(&a), roles, clock_wall_ms(), code, err);
    state_logins_close(logins);
    if (rc < 0)
        return -1;
    while (slice_ends(origin, SLICE("/")))
        origin = slice_upto(origin, origin.len - 1);
    buf_printf(link, "%.*s/ui/sign-in#%s", SLICE_FMT(origin), code);
    return 0;
}

/* Opens a browser if there is a display; the link is printed in any case. */
static int show_link(const struct buf *link, bool print_only) {
    cleanup_buf struct buf text;
    buf_init(&text, CLI_PATH_MAX);
    buf_printf(&text, "%.*s\n", SLICE_FMT(buf_slice(link)));
    int status = cli_print(&text);
    bool screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
    if (print_only || !screen || !isatty(STDOUT_FILENO))
        return status;
    cleanup_free char *url = mem_dup(link->ptr, link->len);
    char *const argv[] = {(char *)(uintptr_t) "xdg-open", url, NULL};
    pid_t pid;
    posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ); /* if that fails, the printed link is enough */
    return status;
}

/* ---- a console over the home ---- */

static void on_open(struct cli_site *site, const char *home, const char *origin) {
    cleanup_buf struct buf link;
    struct err err = {0};
    buf_init(&link, CLI_PATH_MAX);
    if (make_link(home, slice_str(origin), &link, &err) < 0)
        cli_fail(CLI_FAILED, &err);
    else
        show_link(&link, site->print_only);
}

static int serve_home(const char *home, bool print_only) {
    char path[CLI_PATH_MAX + 32];
    struct err err = {0};
    struct settings *settings = NULL;
    snprintf(path, sizeof(path), "%s/" SETTINGS_FILE, home);
    if ((mkdir(home, 0700) < 0 && access(home, W_OK) < 0) ||
        io_file_replace(path, SLICE("version: \"1\"\ncode: {enabled: false}\n"), 0600, &err) < 0 ||
        settings_load(path, NULL, 0, &settings, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    struct gate_config config = {.home = home, .state_dir = home, .bind = "127.0.0.1", .port = 0};
    gate_config_from(&config, settings);
    config.port = 0;
    struct cli_site site;
    cli_site_add(&site, &config);
    site.opened = on_open;
    site.print_only = print_only;
    int status = CLI_CONFIG;
    if (gate_run(&config, &status, &err) < 0)
        return cli_fail((enum cli_exit)status, &err);
    return status;
}

static int ui_run(const void *options, const struct cli_rest *rest) {
    const struct ui_options *opt = options;
    (void)rest;
    char home[CLI_PATH_MAX];
    struct err err = {0};
    cleanup_buf struct buf url, link;
    buf_init(&url, CLI_PATH_MAX);
    buf_init(&link, CLI_PATH_MAX);
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    if (opt->url)
        buf_put_str(&url, opt->url);
    else
        cli_gates_each(home, find_listen, &url);
    if (!url.len)
        return serve_home(home, opt->print);
    if (make_link(home, buf_slice(&url), &link, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    return show_link(&link, opt->print);
}

static const struct cli_example ui_examples[] = {
    {"sallyport ui", "open the console of the gate that runs here, signed in"},
    {"sallyport ui --print --url http://127.0.0.1:8640", "a link for a gate that is about to start"},
    {0},
};

const struct cli_command cli_ui = {
    .name = "ui",
    .summary = "open the console in a browser",
    .detail = "Prints a link that signs its opener in once, within 15 minutes, as the user who runs this "
              "command, and "
              "opens it where there is a screen. At a terminal the link has every role; without one, where "
              "an agent may "
              "have run this command, it can only read. Where no gate of this home listens on HTTP, serves a "
              "console "
              "over the home itself: the log, approvals, grants and the kill switch.",
    .options = ui_rows,
    .options_size = sizeof(struct ui_options),
    .examples = ui_examples,
    .run = ui_run,
};
