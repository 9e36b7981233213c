#include "cli/site.h"

#include "admin/admin.h"
#include "front/settings.h"

#include <stdio.h>

static const struct web_site *site_open(void *ctx, struct core *core, const struct gate_config *config,
                                        uint16_t port) {
    struct cli_site *site = ctx;
    struct admin_config admin = {
        .core = core, .home = config->home, .callback_secret = config->approvals_secret};
    site->admin = admin_new(&admin);
    cli_gate_page_open(&site->page, core, config->home, config->bind, port);
    if (site->opened) {
        char origin[SETTINGS_HOST_MAX + 32];
        snprintf(origin, sizeof(origin), "http://%s:%u", config->bind, port);
        site->opened(site, config->home, origin);
    }
    return admin_site(site->admin);
}

static void site_set_secret(void *ctx, const char *callback_secret) {
    struct cli_site *site = ctx;
    admin_set_secret(site->admin, callback_secret);
}

static void site_close(void *ctx) {
    struct cli_site *site = ctx;
    cli_gate_page_close(&site->page);
    admin_free(site->admin);
    site->admin = NULL;
}

void cli_site_add(struct cli_site *site, struct gate_config *config) {
    *site = (struct cli_site){0};
    config->site = (struct gate_site){
        .open = site_open, .set_secret = site_set_secret, .close = site_close, .ctx = site};
}
