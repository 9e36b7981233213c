#include "front/pii.h"

#include "session/server.h"

_Static_assert((int)SETTINGS_PII_REPORT == (int)FILTER_REPORT &&
                   (int)SETTINGS_PII_BLOCK == (int)FILTER_BLOCK &&
                   (int)SETTINGS_PII_ORGANISATION == (int)SESSION_PII_ORGANISATION &&
                   (int)SETTINGS_AUDIT_FULL == (int)AUDIT_ARGS_FULL,
               "one order everywhere");

static bool is_wanted(const struct settings *s) {
    bool any = s->pii.rules || s->audit.arguments == SETTINGS_AUDIT_TOKENIZED;
    for (size_t i = 0; i < s->server_count; i++)
        any = any || s->servers[i].pii != SETTINGS_PII_OFF;
    return any || s->pii.mode != SETTINGS_PII_OFF;
}

int front_pii_open(struct session_core *core, const struct settings *s, const char *home, struct err *err) {
    const struct session_pii_config config = {
        .home = home,
        .mode = (enum filter_mode)s->pii.mode,
        .scope = (enum session_pii_scope)s->pii.scope,
        .keep_ms = s->pii.keep_ms,
        .rules = s->pii.rules,
    };
    core->audit_args = (enum audit_args_mode)s->audit.arguments;
    return is_wanted(s) ? session_pii_new(&config, &core->pii, err) : 0;
}

void front_pii_server(struct session_server *server, const struct settings_server *s) {
    server->pii_set = true;
    server->pii = (enum filter_mode)s->pii;
}
