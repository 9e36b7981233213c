#include "cli/site.h"

#include "admin/admin.h"
#include "base/mem.h"
#include "front/settings.h"

#include <stdio.h>

/* Identity providers at which people sign in to the console. */
static void set_providers(struct admin *admin, const struct settings *s) {
    size_t count = 0;
    struct admin_provider *items = mem_zalloc((s->auth.issuer_count + 1) * sizeof(*items));
    for (size_t i = 0; i < s->auth.issuer_count; i++) {
        const struct settings_issuer *x = &s->auth.issuers[i];
        if (x->console.client_id)
            items[count++] = (struct admin_provider){.issuer = x->issuer,
                                                     .client_id = x->console.client_id,
                                                     .client_secret = x->console.client_secret,
                                                     .scopes = x->console.scopes.items,
                                                     .scope_count = x->console.scopes.count,
                                                     .session_ms = x->console.session_ms,
                                                     .sign_out = x->console.sign_out};
    }
    admin_set_providers(admin, s->public_url ? s->public_url : s->auth.resource, items, count);
    free(items);
}

static const struct web_site *site_open(void *ctx, struct core *core, const struct gate_config *config,
                                        uint16_t port) {
    struct cli_site *site = ctx;
    struct admin_config admin = {
        .core = core, .home = config->home, .callback_secret = config->approvals_secret};
    site->admin = admin_new(&admin);
    if (config->settings && !config->no_auth)
        set_providers(site->admin, config->settings);
    cli_gate_page_open(&site->page, core, config->home, config->bind, port);
    if (site->opened) {
        char origin[SETTINGS_HOST_MAX + 32];
        snprintf(origin, sizeof(origin), "http://%s:%u", config->bind, port);
        site->opened(site, config->home, origin);
    }
    return admin_site(site->admin);
}

static void site_follow(void *ctx, const struct settings *fresh) {
    struct cli_site *site = ctx;
    admin_set_secret(site->admin, fresh->approvals.secret);
    set_providers(site->admin, fresh);
}

static void site_close(void *ctx) {
    struct cli_site *site = ctx;
    cli_gate_page_close(&site->page);
    admin_free(site->admin);
    site->admin = NULL;
}

void cli_site_add(struct cli_site *site, struct gate_config *config) {
    *site = (struct cli_site){0};
    config->site =
        (struct gate_site){.open = site_open, .follow = site_follow, .close = site_close, .ctx = site};
}
